//! What edges hold, and the form of their matrices.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use fimbria_image::read_image;
use fimbria_streamlines::MapAlong;
use fimbria_streamlines::connectome::{AssignedNodes, EdgeScale, EdgeStatistic, npy};
use fimbria_workflow::with_sidecar;
use serde::Serialize;

use super::{Connections, GivenMaps};
use crate::options::{Choice, Described as _, Named, NamedFile, Takes, choice};
use crate::stages::doubts::warn_of_place_of;
use crate::{Input, Logbook, OutputFolder, StageError};

impl Choice for EdgeStatistic {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mean, "mean", "by the weights of the streamlines"),
        (Self::Sum, "sum", "each times its weight"),
        (Self::Least, "min", "the least, whatever they weigh"),
        (Self::Largest, "max", "the largest, whatever they weigh"),
    ];
}

/// What is counted on edges, and how matrices are written.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct Edges {
    /// Also the mean of this map along the streamlines of each edge, as mean_NAME; once for each map: any
    /// grid of the same scanner space
    #[arg(long, value_name = "NAME=FILE")]
    #[arg(takes = Takes::IMAGE)]
    pub map: Vec<NamedFile>,

    /// What edges have of the lengths of their streamlines, and of the means of maps along them
    #[arg(long, value_name = "STATISTIC", value_parser = choice::<EdgeStatistic>())]
    #[arg(default_value = "mean")]
    pub of_edge: Named<EdgeStatistic>,

    /// Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS
    #[arg(
        long,
        value_name = "FILE",
        usually = "the .tsv, .txt or FreeSurferColorLUT.txt beside the labels"
    )]
    #[arg(takes = Takes::TABLE)]
    pub lut: Option<PathBuf>,

    /// Count between labels that are white matter, fluid or skull by their names too
    #[arg(long)]
    pub all_labels: bool,

    /// Divide what each streamline counts by its length, mm
    #[arg(long)]
    pub per_length: bool,

    /// Divide what an edge counts by the mean number of voxels of its two labels
    #[arg(long)]
    pub per_volume: bool,

    /// Leave out what connects a label with itself: the diagonal is 0
    #[arg(long)]
    pub hollow: bool,

    /// Leave out what is below the diagonal: each pair stands once, the rest is 0
    #[arg(long)]
    pub upper: bool,

    /// Write each matrix for numpy too
    #[arg(long)]
    pub npy: bool,

    /// Write the labels of each streamline
    #[arg(long)]
    pub assignments: bool,
}

/// The matrices beside those of maps.
const MATRICES: [&str; 3] = ["weights", "counts", "lengths"];

impl Edges {
    /// Whether the weights of edges are not just numbers of streamlines.
    fn are_no_counts(&self, is_weighted: bool) -> bool {
        is_weighted || self.per_length || self.per_volume
    }

    /// The matrices, by the names of their files.
    fn names(&self, maps: &[String], is_weighted: bool) -> Vec<String> {
        let has_counts = self.are_no_counts(is_weighted);
        let plain = MATRICES.iter().filter(|name| has_counts || **name != "counts");
        let plain = plain.map(|name| (*name).to_owned());
        plain.chain(maps.iter().map(|map| format!("{}_{map}", self.of_edge.0.name()))).collect()
    }

    /// The names of the maps.
    pub(super) fn maps(&self) -> Vec<String> {
        self.map.iter().map(|map| map.name.clone()).collect()
    }

    pub(super) fn inputs(&self) -> Vec<Input> {
        let maps = self.map.iter().flat_map(|map| {
            with_sidecar(&format!("map {}", map.name), &map.file).collect::<Vec<_>>()
        });
        maps.chain(self.lut.iter().map(|path| ("lut".to_owned(), path.clone()))).collect()
    }

    pub(super) fn outputs(&self, is_weighted: bool) -> Vec<String> {
        let mut files = Vec::new();
        for name in self.names(&self.maps(), is_weighted) {
            files.push(format!("{name}.csv"));
            files.extend(self.npy.then(|| format!("{name}.npy")));
        }
        files.push("labels.txt".to_owned());
        files.extend(self.lut.is_some().then(|| "labels.tsv".to_owned()));
        files.extend(self.assignments.then(|| "assignments.txt".to_owned()));
        files
    }

    /// The maps with their names, of those in memory or of their files.
    pub(super) fn read(
        &self,
        given: Option<&GivenMaps>,
        log: &Logbook<'_>,
    ) -> Result<(Vec<String>, Vec<MapAlong>), StageError> {
        let (mut names, mut maps) = (Vec::new(), Vec::new());
        let mut add = |name: &str, image: fimbria_image::Image| -> Result<(), StageError> {
            let map = MapAlong::new(image);
            maps.push(map.map_err(|error| format!("the map {name}: {error}"))?);
            names.push(name.to_owned());
            Ok(())
        };
        if let Some(GivenMaps(given)) = given {
            for (name, image) in given {
                add(name, image.clone())?;
            }
        } else {
            for NamedFile { name, file } in &self.map {
                let image = log.session().on.workers.install(|| read_image(file))?;
                warn_of_place_of(file, log);
                add(name, image)?;
            }
        }
        let different: BTreeSet<_> = names.iter().map(|name| name.to_lowercase()).collect();
        match different.len() == names.len() {
            true => Ok((names, maps)),
            false => Err(format!("two maps have one name among {}", names.join(", ")).into()),
        }
    }

    /// The matrices in the form that is asked for, row-major, with the names of their files.
    pub fn matrices(&self, found: &Connections) -> Vec<(String, Vec<f64>)> {
        let Connections { connectome, labels, maps, is_weighted, .. } = found;
        let scale = EdgeScale { by_length: self.per_length, by_volume: self.per_volume };
        let mut values = vec![connectome.scaled_weights(scale)];
        if self.are_no_counts(*is_weighted) {
            values.push(connectome.counts());
        }
        values.push(connectome.lengths_mm());
        values.extend(connectome.means_along());
        let n = labels.len();
        let formed = values.into_iter().map(|mut values| {
            for (at, value) in values.iter_mut().enumerate() {
                let (row, column) = (at / n, at % n);
                if self.hollow && row == column || self.upper && row > column {
                    *value = 0.0;
                }
            }
            values
        });
        self.names(maps, *is_weighted).into_iter().zip(formed).collect()
    }

    pub(super) fn write(
        &self,
        found: &Connections,
        out: &mut OutputFolder,
    ) -> Result<(), StageError> {
        let labels = &found.labels;
        for (name, values) in self.matrices(found) {
            out.write(&format!("{name}.csv"), table(&values, labels.len()).as_bytes())?;
            if self.npy {
                out.write(&format!("{name}.npy"), &npy(&values, labels.len()))?;
            }
        }
        let numbers: String = labels.iter().map(|label| format!("{label}\n")).collect();
        out.write("labels.txt", numbers.as_bytes())?;
        if let Some(names) = &found.names {
            let row = |(label, name): (&u32, &String)| format!("{label}\t{name}\n");
            let rows: String = labels.iter().zip(names).map(row).collect();
            out.write("labels.tsv", format!("index\tname\n{rows}").as_bytes())?;
        }
        if self.assignments {
            out.write_in_parts("assignments.txt", |file| {
                found.assignments.iter().try_for_each(|of| writeln!(file, "{}", line(of, labels)))
            })?;
        }
        Ok(())
    }
}

/// The labels of a streamline, 0 in place of none.
fn line(of: &AssignedNodes, labels: &[u32]) -> String {
    let label = |node: &Option<u32>| node.map_or(0, |node| labels[node as usize]).to_string();
    match of {
        AssignedNodes::Ends(ends) => ends.each_ref().map(label).join(" "),
        AssignedNodes::All(nodes) if nodes.is_empty() => "0".to_owned(),
        AssignedNodes::All(nodes) => {
            nodes.iter().map(|node| label(&Some(*node))).collect::<Vec<_>>().join(" ")
        }
    }
}

fn table(values: &[f64], n: usize) -> String {
    let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    values.chunks_exact(n).map(row).collect()
}
