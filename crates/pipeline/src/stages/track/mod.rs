//! Tracking with plain rules: streamlines judged as a whole, equal weight for every sample, ends
//! inside the mask; visits, streamlines and matrices.
//!
//! * [`LoadDirections`]: reads or draws samples of directions;
//! * [`Track`]: tracks through them from regions; [`TrackInMemory`]: without a file;
//!   [`WholeBrain`]: in a run, from the voxels with a direction.

mod anatomy;
mod counted;
mod derivatives;
mod directions;
mod edges;
mod files;
mod follow;
mod in_memory;
mod in_run;
mod method;
mod parameters;
mod regions;
mod reseed;
mod resolved;
mod section;
mod seed_set;
pub(crate) mod source;
mod whole_brain;

use std::path::{Path, PathBuf};

pub use anatomy::AnatomyOptions;
pub(in crate::stages) use anatomy::white_shares;
pub(crate) use counted::{count, note_who_judges};
pub use directions::{Directions, LoadDirections};
pub use files::{DirectionFiles, RegionFiles};
use fimbria_compute::Progress as _;
use fimbria_image::{
    Grid, GridMismatch, ImageError, NumbersError, Window, WriteOptions, write_image,
};
use fimbria_streamlines::{
    Format, Header, TractogramError, WriteOptions as LineOptions, WriteStreamlines, create,
};
use fimbria_tracking::{Lines, SingularTransform, Tally, TissueError};
use fimbria_workflow::{
    HashError, Hashing, Input, Logbook, OutputError, OutputFolder, Products, Stage, StageError,
    Taken, ensure_same_work,
};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use follow::follow;
pub(crate) use follow::tell_outside;
pub use in_memory::{TrackInMemory, TracksFound};
pub use in_run::TrackInRun;
pub(in crate::stages) use method::{METHOD, tractogram_of};
pub use parameters::{Algorithm, SeedsBy, Through, TrackParameters, Tracks};
pub use regions::{RegionFrom, Regions};
use resolved::Setting;
use seed_set::SeedSet;
pub use source::{Source, SourceError};
pub use whole_brain::{Tracked, WholeBrain};

use crate::options::{Place, Resolve as _, Resolved};
use crate::stages::doubts::warn_of_place_of;
use crate::surfaces::SurfaceError;
use crate::{FileKind, Written};

/// What the record of a run's tracking calls the length of its steps, mm.
pub const STEP_MM: &str = "step_mm";

/// What `fimbria track` writes.
pub const TRACK_WRITES: &[Written] = &[
    Written::file(
        "tracks.*",
        FileKind::Tractogram,
        "streamlines (.trx, or .tck, .trk), with seed (index of the seed voxel, x \
         fastest, x counted as FSL does; number of a vertex or point), region, \
         sample, seed_point (which point is the seed), end_first and end_last (why it \
         ends there); not in .tck",
    ),
    Written::scalar("visits", "", "streamlines through each voxel, each counted once")
        .within(Window::FromZero),
    Written::file("waytotal", FileKind::Table, "streamlines kept, a line for each seed region"),
    Written::scalar("seeds_*to_*", "", "streamlines of each seed voxel that reach the target")
        .only("with --target"),
    Written::file("seeds_*to_*.gii", FileKind::Surface, "the same of the vertices of a surface")
        .only("with --target"),
    Written::file("seeds_*to_*.txt", FileKind::Table, "the same of points").only("with --target"),
    Written::file(
        "matrix_network.tsv",
        FileKind::Table,
        "streamlines from region (row) to region (column)",
    )
    .only("with --network"),
    Written::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters, machine, times, how many halves ended and \
         why",
    ),
];

/// Tracks through the directions of [`LoadDirections`]. Of several processes each takes a part of the
/// samples; the first one alone writes.
#[derive(Clone, Debug)]
pub struct Track {
    /// From where, and by which ways.
    pub regions: RegionFiles,
    /// Where streamlines may end.
    pub anatomy: AnatomyOptions,
    /// How.
    pub parameters: TrackParameters,
    /// What the directions are.
    pub through: Through,
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// The directions.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A region on another grid than the seeds.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A surface.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// The streamlines.
    #[error(transparent)]
    Lines(#[from] TractogramError),
    /// Outputs.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// No seeds.
    #[error("{} has no voxel, vertex or point to start from: all is zero", .0.display())]
    NoSeeds(PathBuf),
    /// No seeds on the boundary.
    #[error("the boundary of grey and white matter passes no voxel of the seeds")]
    NoBoundary,
    /// Seeds without density.
    #[error("no seed has a density above zero to be drawn by: leave out --seeds-by")]
    NoDensity,
    /// A list that does not hold numbers.
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    /// Points where voxels or surfaces are asked for.
    #[error("{}: points are no region", .0.display())]
    PointsAsRegion(PathBuf),
    /// A row of a list of points that is none.
    #[error("{}, line {line}: no point, three numbers", path.display())]
    NoPoint {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// Tissues that are none.
    #[error("{}: {source}", path.display())]
    Tissues {
        /// The image.
        path: PathBuf,
        /// Why.
        source: TissueError,
    },
    /// A grid without inverse.
    #[error(transparent)]
    Transform(#[from] SingularTransform),
    /// A network of one.
    #[error("a network takes two seed regions or more, of voxels or surfaces")]
    NoNetwork,
    /// Stopped.
    #[error(transparent)]
    Interrupted(#[from] fimbria_compute::Interrupted),
}

impl Stage for Track {
    fn name(&self) -> &'static str {
        "track"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Directions>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let RegionFiles { seeds, include, exclude, stop, target, .. } = &self.regions;
        let kinds = [
            ("seeds", seeds),
            ("include", include),
            ("exclude", exclude),
            ("stop", stop),
            ("target", target),
        ];
        let of_kind = |(what, paths): (&str, &Vec<PathBuf>)| -> Vec<Input> {
            paths.iter().map(|path| (what.to_owned(), path.clone())).collect()
        };
        kinds.into_iter().flat_map(of_kind).chain(self.anatomy.inputs()).collect()
    }

    fn parameters(&self) -> Value {
        let RegionFiles { seeds, in_order, include_any, target, network, .. } = &self.regions;
        let stems = |paths: &[PathBuf]| paths.iter().map(|path| stem(path)).collect::<Vec<_>>();
        json!({
            // Of which rows, columns and files have their names.
            "seeds": stems(seeds), "targets": stems(target),
            "in_order": in_order, "include_any": include_any, "network": network,
            "through": self.through.name(),
            "anatomy": self.anatomy.act.as_ref().map(|_| self.anatomy.resolve(&self.parameters)),
            "track": self.resolved(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let mut names = vec!["visits.nii.gz".to_owned(), "waytotal".to_owned()];
        names.extend(self.parameters.tracks.0.0.map(tracks_name));
        let RegionFiles { seeds, target, network, .. } = &self.regions;
        for target in target {
            names.extend(SeedSet::target_names(seeds, &stem(target)));
        }
        if *network {
            names.push("matrix_network.tsv".to_owned());
        }
        names
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.compute_into(products, None, log)
    }

    /// Streamlines may be larger than memory: they are written as they come.
    fn compute_into(
        &self,
        products: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let directions = products.get::<Directions>()?;
        if let Some(hash) = directions.hash {
            ensure_same_work(log.session().on.comm, self.fingerprint(hash)?, 0)?;
        }
        Ok(self.track(directions, log, out)?)
    }
}

impl Track {
    /// The options that streamlines are made with.
    fn resolved(&self) -> Resolved<TrackParameters> {
        let (through, ended_by) = (self.through, self.anatomy.ended_by());
        self.parameters.resolve(&Setting { through, place: Place::Command, ended_by })
    }

    /// Of everything that streamlines and counts depend on; `directions` is that of the samples.
    fn fingerprint(&self, directions: u128) -> Result<u128, HashError> {
        let mut text = format!("{directions} {}", self.parameters());
        for input in Hashing::start(self.inputs()).finish()? {
            text += &format!(" {} {}", input.role, input.xxh3_128);
        }
        Ok(xxh3_128(text.as_bytes()))
    }

    fn track(
        &self,
        directions: &Directions,
        log: &Logbook<'_>,
        mut out: Option<&mut OutputFolder>,
    ) -> Result<(), TrackError> {
        let workers = log.session().on.workers;
        let grid = directions.grid();
        let options = self.resolved();
        self.inputs().iter().for_each(|(_, file)| warn_of_place_of(file, log));
        let regions = Regions::from(&self.regions);
        let least = options.min_length.unwrap_or(0.0);
        let mut places = workers.install(|| regions.places(grid, least))?;
        let tissues = workers.install(|| self.anatomy.read(grid, log))?;
        places.constrain(self.anatomy.resolve(&self.parameters), tissues)?;
        let mut writer = match (self.parameters.tracks.0.0, out.as_deref_mut()) {
            (Some(format), Some(out)) => Some(writer(grid, format, log, out)?),
            _ => None,
        };
        let makes_lines = self.parameters.tracks.0.0.is_some();
        let tally =
            follow(directions, &places, &options, makes_lines, log, |lines| match &mut writer {
                Some(writer) => Ok(writer.write(&lines)?),
                None => Ok(()),
            })?;
        if let Some(writer) = writer {
            writer.finish()?;
        }
        match out {
            Some(out) => workers.install(|| self.write_counts(&tally, &places.seed_set, out)),
            None => Ok(()),
        }
    }

    fn write_counts(
        &self,
        tally: &Tally<'_>,
        seed_set: &SeedSet,
        out: &mut OutputFolder,
    ) -> Result<(), TrackError> {
        let options = |description: &str| WriteOptions {
            space_codes: seed_set.codes,
            description: description.to_owned(),
            ..WriteOptions::default()
        };
        let visits = seed_set.space.image(|voxel| tally.visits.count(voxel) as f32);
        let through = options("streamlines through each voxel");
        write_image(out.stage("visits.nii.gz")?, &visits, &through)?;
        if let Some(targets) = &tally.targets {
            let reaching = options("streamlines of each seed voxel that reach the target");
            seed_set.write_targets(targets, &reaching, out)?;
        }
        let kept: String = tally.kept.iter().map(|kept| format!("{kept}\n")).collect();
        out.write("waytotal", kept.as_bytes())?;
        if let Some(network) = &tally.network {
            let names: Vec<_> = self.regions.seeds.iter().map(|path| stem(path)).collect();
            let mut text = format!("from\\to\t{}\n", names.join("\t"));
            for (from, name) in names.iter().enumerate() {
                let row = (0..network.len()).map(|to| network.count(from, to).to_string());
                text += &format!("{name}\t{}\n", row.collect::<Vec<_>>().join("\t"));
            }
            out.write("matrix_network.tsv", text.as_bytes())?;
        }
        Ok(())
    }
}

/// The file of streamlines.
fn writer(
    grid: &Grid,
    format: Format,
    log: &Logbook<'_>,
    out: &mut OutputFolder,
) -> Result<Box<dyn WriteStreamlines>, TrackError> {
    let mut header = Header::on(*grid);
    header.per_streamline = Lines::columns();
    for loss in format.losses(&header) {
        log.note(&format!("{format} has no place for {loss}"));
    }
    let path = out.stage(&tracks_name(format))?;
    Ok(create(&path, format, &header, &LineOptions::default())?)
}

fn tracks_name(format: Format) -> String {
    format!("tracks.{}", format.extension())
}

/// The file without folder and extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or(&name).to_owned()
}
