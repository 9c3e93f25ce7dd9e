//! Which labels streamlines are counted between: those of grey matter where names tell, and what is said where
//! they end in others.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::{Image, counted};
use fimbria_streamlines::connectome::{Assignment, Connectome, Nodes};

use super::Reach;
use crate::stages::label_names::{is_no_grey, names_of};
use crate::{Logbook, Page, StageError};

/// As many names stand in a message.
const NAMED: usize = 4;

/// The labels between which streamlines are counted.
pub(super) struct Labelled {
    pub(super) regions: Image,
    pub(super) nodes: Nodes,
    /// What they are called, where a table says so.
    pub(super) names: Option<Vec<String>>,
    /// Which of them are no grey matter, by their place among the nodes.
    no_grey: Vec<usize>,
}

impl Labelled {
    /// Of an image and the table of its names: with `all` of its labels, or without those that are no grey matter by
    /// their names.
    pub(super) fn new(
        mut regions: Image,
        (table, all): (Option<&Path>, bool),
        reach: &Reach,
        log: &Logbook<'_>,
    ) -> Result<Self, StageError> {
        let labels = Nodes::new(&regions, Assignment::ExactLabel)?.labels().to_vec();
        let mut names = names_of(table, &labels, log)?;
        let is_no_node = |at: usize| match &names {
            Some(names) => is_no_grey(&names[at]),
            None => is_freesurfers(&labels) && NO_GREY_OF_FREESURFER.contains(&labels[at]),
        };
        let mut no_grey: Vec<usize> = (0..labels.len()).filter(|at| is_no_node(*at)).collect();
        if let Some(names) = names.as_mut().filter(|_| !all && !no_grey.is_empty()) {
            if no_grey.len() == labels.len() {
                return Err(ALL_LEFT_OUT.to_owned().into());
            }
            log.note(&format!(
                "left out as no grey matter: {} ({}); --all-labels counts between them too",
                counted(no_grey.len(), "label"),
                listed(no_grey.iter().map(|&at| &*names[at]))
            ));
            let is_out = |label: f32| no_grey.iter().any(|&at| labels[at] as f32 == label);
            regions.data.iter_mut().filter(|label| is_out(**label)).for_each(|label| *label = 0.0);
            let mut places = 0..labels.len();
            names.retain(|_| places.next().is_some_and(|at| !no_grey.contains(&at)));
            no_grey.clear();
        }
        let nodes = Nodes::new(&regions, reach.assignment())?;
        Ok(Self { regions, nodes, names, no_grey })
    }

    /// Warns where many streamlines join labels that are no grey matter, and says what became of all.
    pub(super) fn tell(&self, connectome: &Connectome, reach: &Reach, log: &Logbook<'_>) {
        let (assigned, total) = connectome.assigned_of_total();
        let counts = connectome.counts();
        let n = self.nodes.len();
        let pairs = (0..n).flat_map(|a| (a..n).map(move |b| (a, b)));
        let joined: Vec<_> = pairs.filter(|(a, b)| counts[a * n + b] > 0.0).collect();
        if assigned > 0 && !reach.all_voxels {
            let is_there =
                |(a, b): &&(usize, usize)| self.no_grey.contains(a) || self.no_grey.contains(b);
            let ending: f64 = joined.iter().filter(is_there).map(|(a, b)| counts[a * n + b]).sum();
            self.warn_of_ends(ending / assigned as f64, log);
        }
        log.note(&format!(
            "{assigned} of {} join two of {n} labels, in {} of {} pairs; {} have no label at an end",
            counted(total as usize, "streamline"),
            joined.len(),
            n * (n + 1) / 2,
            total - assigned
        ));
    }

    fn warn_of_ends(&self, part: f64, log: &Logbook<'_>) {
        /// Less is what partial volume makes at any surface.
        const MANY: f64 = 0.02;
        if part < MANY {
            return;
        }
        let percent = 100.0 * part;
        let message = match &self.names {
            Some(names) => format!(
                "{percent:.0} % of the streamlines counted end in {}, which is no grey matter: without --all-labels \
                 such labels are left out",
                listed(self.no_grey.iter().map(|&at| &*names[at]))
            ),
            None => format!(
                "{percent:.0} % of the streamlines counted end in white matter or fluid, if these are FreeSurfer's \
                 numbers: --lut FreeSurferColorLUT.txt names the labels and leaves such ones out"
            ),
        };
        log.warn(Page::Connectomes, &message);
    }
}

const ALL_LEFT_OUT: &str =
    "no label is grey matter by its name: --all-labels counts between white matter and fluid too";

/// White matter and fluid in FreeSurfer's table.
const NO_GREY_OF_FREESURFER: [u32; 25] = [
    2, 4, 5, 7, 14, 15, 24, 30, 31, 41, 43, 44, 46, 62, 63, 72, 77, 80, 85, 251, 252, 253, 254,
    255, 192,
];

/// Whether labels have the numbers of FreeSurfer's `aparc+aseg`: white matter of both sides and parcels of
/// cortex.
fn is_freesurfers(labels: &[u32]) -> bool {
    let is_parcel = |label: &u32| matches!(label, 1001..=1035 | 11101..=11175);
    [2, 41].iter().all(|white| labels.contains(white)) && labels.iter().any(is_parcel)
}

/// The first few names.
fn listed<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let first: Vec<_> = names.by_ref().take(NAMED).collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use fimbria_compute::{Backend, Workers};
    use fimbria_image::{Affine, Grid};
    use fimbria_streamlines::Streamlines;

    use super::*;
    use crate::options::usual;
    use crate::{Session, Unfinished};

    /// Keeps what is said.
    #[derive(Default)]
    struct Heard(Mutex<String>);

    impl fimbria_compute::Progress for Heard {
        fn start(&self, _: &str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn is_cancelled(&self) -> bool {
            false
        }
        fn warn(&self, message: &str) {
            *self.0.lock().unwrap() += &format!("warning: {message}\n");
        }
        fn note(&self, message: &str) {
            *self.0.lock().unwrap() += &format!("{message}\n");
        }
    }

    /// White matter of both sides and two gyri in a row of voxels of 5 mm, a streamline from each to the next; what
    /// is said, the labels counted between, and how many of the three were assigned.
    fn counted_between(table: Option<&str>, all: bool) -> (String, Vec<u32>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.txt");
        table.iter().for_each(|table| std::fs::write(&path, table).unwrap());
        let mut grid = Grid { dims: [4, 1, 1], ras_from_vox: Affine::IDENTITY };
        grid.ras_from_vox.0[0][0] = 5.0;
        let regions = Image { grid, n_volumes: 1, data: vec![1024.0, 2.0, 41.0, 2024.0] };
        let (workers, heard) = (Workers::new(1).unwrap(), Heard::default());
        let session = Session {
            on: Backend::cpu(&workers),
            progress: &heard,
            unfinished: &Unfinished::default(),
            command_line: &[],
        };
        let log = Logbook::new(session);
        let reach = Reach { radius: 4.0, ..usual() };
        let table = table.map(|_| path.as_path());
        let labelled = Labelled::new(regions, (table, all), &reach, &log).unwrap();
        let mut lines = Streamlines::default();
        for x in [0.0, 5.0, 10.0] {
            lines.push(&[[x, 0.0, 0.0], [x + 5.0, 0.0, 0.0]]);
        }
        let mut connectome = Connectome::new(&labelled.nodes);
        connectome.add(&labelled.nodes, &lines, None, &workers);
        labelled.tell(&connectome, &reach, &log);
        let (assigned, _) = connectome.assigned_of_total();
        (heard.0.into_inner().unwrap(), labelled.nodes.labels().to_vec(), assigned)
    }

    const TABLE: &str = "2 Left-Cerebral-White-Matter\n41 Right-Cerebral-White-Matter\n\
                         1024 ctx-lh-precentral\n2024 ctx-rh-precentral\n";

    #[test]
    fn white_matter_is_no_node_where_names_tell() {
        let (said, labels, assigned) = counted_between(Some(TABLE), false);
        assert_eq!((labels, assigned), (vec![1024, 2024], 0));
        assert!(said.contains("left out as no grey matter: 2 labels (Left-Cerebral"), "{said}");
        assert!(said.contains("0 of 3 streamlines join two of 2 labels") && !said.contains("warn"));
    }

    #[test]
    fn ends_in_white_matter_are_warned_of_where_it_is_a_node() {
        let (said, labels, assigned) = counted_between(Some(TABLE), true);
        assert_eq!((labels, assigned), (vec![2, 41, 1024, 2024], 3));
        assert!(said.contains("warning: 100 % of the streamlines counted end in Left-"), "{said}");
        let (said, _, assigned) = counted_between(None, false);
        assert_eq!(assigned, 3);
        assert!(said.contains("--lut FreeSurferColorLUT.txt names"), "{said}");
    }
}
