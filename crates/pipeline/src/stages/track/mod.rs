//! Tracking with plain rules: streamlines judged as a whole, equal weight for every sample, ends
//! inside the mask; visits, streamlines and matrices.
//!
//! * [`LoadDirections`]: reads or draws samples of directions;
//! * [`Track`]: tracks through them from regions; [`WholeBrain`]: from every voxel, in a run.

mod counted;
mod directions;
mod source;
mod starts;
mod whole_brain;

use std::path::{Path, PathBuf};

pub(crate) use counted::count;
use counted::{Counted, counted};
use directions::Directions;
pub use directions::LoadDirections;
use fimbria_compute::Progress as _;
use fimbria_image::gifti::Surface;
use fimbria_image::{Grid, GridMismatch, Image, ImageError, WriteOptions, read_image, write_image};
use fimbria_streamlines::{
    Format, Header, TractogramError, WriteOptions as LineOptions, WriteStreamlines, create,
};
use fimbria_tracking::{
    FirstFibre, Judgement, Lines, NetworkMatrix, Propagation, Region, Rules, Seed,
    SingularTransform, Space, Tally, Targets, Tracking, Waypoints,
};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

pub use source::{Source, SourceError};
use starts::Starts;
pub use whole_brain::{Tracked, WholeBrain, WholeBrainParameters};

use crate::Choice;
use crate::agreement::agree;
use crate::hashing::{HashError, Hashing};
use crate::output::{OutputError, OutputFolder};
use crate::session::{Input, Logbook};
use crate::stage::{Products, Stage, StageError};
use crate::surfaces::{MeshSpace, SurfaceError, crossed_region, is_surface};

/// Tracks through the directions of [`LoadDirections`]. Of several processes each takes a part of the
/// samples; the first one alone writes.
#[derive(Clone, Debug)]
pub struct Track {
    /// Images, surfaces (.gii) and lists of points (.txt) to start from; the grid of the first image
    /// is that of all regions and maps.
    pub seeds: Vec<PathBuf>,
    /// Where streamlines must go.
    pub include: Vec<PathBuf>,
    /// In this order.
    pub in_order: bool,
    /// Where they must not go.
    pub exclude: Vec<PathBuf>,
    /// Where they end.
    pub stop: Vec<PathBuf>,
    /// Count for every seed the samples that reach these.
    pub targets: Vec<PathBuf>,
    /// Keep only what joins two seed regions, and count pairs.
    pub network: bool,
    /// Samples per seed.
    pub n_samples: u32,
    /// Radius of the sphere around a voxel's centre to start in, mm.
    pub jitter_mm: f32,
    /// Least length, mm.
    pub least_length_mm: f32,
    /// Steps.
    pub propagation: Propagation,
    /// Format of the streamlines; `None` for none.
    pub tracks: Option<Format>,
    /// Seed of the random numbers.
    pub rng_seed: u64,
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
    #[error("{} has no voxel, vertex or point to start from: none is above zero", .0.display())]
    NoSeeds(PathBuf),
    /// A list of points.
    #[error("{}: {why}", path.display())]
    Points {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
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

    fn needs(&self) -> &'static [&'static str] {
        &["load"]
    }

    fn inputs(&self) -> Vec<Input> {
        let kinds = [
            ("seeds", &self.seeds),
            ("include", &self.include),
            ("exclude", &self.exclude),
            ("stop", &self.stop),
            ("target", &self.targets),
        ];
        let of_kind = |(what, paths): (&str, &Vec<PathBuf>)| -> Vec<Input> {
            paths.iter().map(|path| (what.to_owned(), path.clone())).collect()
        };
        kinds.into_iter().flat_map(of_kind).collect()
    }

    fn parameters(&self) -> Value {
        // Whole, so that a new one is not forgotten.
        let Self {
            seeds,
            include: _,
            in_order,
            exclude: _,
            stop: _,
            targets,
            network,
            n_samples,
            jitter_mm,
            least_length_mm,
            propagation,
            tracks,
            rng_seed,
        } = self;
        let stems = |paths: &[PathBuf]| paths.iter().map(|path| stem(path)).collect::<Vec<_>>();
        json!({
            // Of which rows, columns and files have their names.
            "seeds": stems(seeds), "targets": stems(targets),
            "in_order": in_order, "network": network, "samples_per_seed": n_samples,
            "jitter_mm": jitter_mm, "min_length_mm": least_length_mm,
            "tracks": tracks.map_or("none", Choice::name),
            "rng_seed": rng_seed, "propagation": propagation_parameters(propagation),
        })
    }

    fn outputs(&self) -> Vec<String> {
        let mut names = vec!["visits.nii.gz".to_owned(), "waytotal".to_owned()];
        names.extend(self.tracks.map(tracks_name));
        for target in &self.targets {
            names.extend(Starts::target_names(&self.seeds, &stem(target)));
        }
        if self.network {
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
            agree(log.session().on.comm, self.fingerprint(hash)?, 0)?;
        }
        Ok(self.track(directions, log, out)?)
    }
}

impl Track {
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
        let field = &directions.field;
        let (starts, targets, rules) = workers.install(|| self.places(field.grid()))?;
        let space = &starts.space;
        for region in targets.iter().chain(&rules.waypoints.regions) {
            if region.is_empty() {
                log.warn(&format!("{} has no voxel: nothing can reach it", region.name));
            }
        }
        let tracking = Tracking {
            field,
            space,
            propagation: &self.propagation,
            rules: &rules,
            seeds: &starts.seeds,
            n_samples: self.n_samples,
            jitter_mm: self.jitter_mm,
            rng_seed: self.rng_seed,
        };
        tell_outside(&tracking, log);
        let tally = self.tracked(&tracking, &targets, &starts, log, out.as_deref_mut())?;
        match out {
            Some(out) => workers.install(|| self.write_counts(&tally, &starts, out)),
            None => Ok(()),
        }
    }

    /// Where streamlines start, the regions whose samples are counted, and the other regions.
    fn places(&self, samples: &Grid) -> Result<(Starts, Vec<Region>, Rules), TrackError> {
        let starts = Starts::read(&self.seeds, samples)?;
        let read = |paths: &[PathBuf]| -> Result<Vec<Region>, TrackError> {
            paths.iter().map(|path| region(&starts.space, path)).collect()
        };
        let targets = read(&self.targets)?;
        let rules = Rules {
            avoid: read(&self.exclude)?,
            stop: read(&self.stop)?,
            waypoints: Waypoints {
                regions: read(&self.include)?,
                in_order: self.in_order,
                ..Waypoints::default()
            },
            network: if self.network { starts.regions()? } else { Vec::new() },
            least_length_mm: self.least_length_mm,
            judgement: Judgement::Whole,
            ..Rules::default()
        };
        Ok((starts, targets, rules))
    }

    fn tracked<'t>(
        &self,
        tracking: &Tracking<'t>,
        targets: &'t [Region],
        starts: &Starts,
        log: &Logbook<'_>,
        out: Option<&mut OutputFolder>,
    ) -> Result<Tally<'t>, TrackError> {
        let mut writer = match (self.tracks, out) {
            (Some(format), Some(out)) => Some(writer(tracking, format, log, out)?),
            _ => None,
        };
        let n_regions = starts.origins.len();
        let new = || {
            let mut tally = Tally::new(tracking.space, n_regions, false);
            if !targets.is_empty() {
                tally.targets = Some(Targets::new(targets, tracking.seeds.len()));
            }
            tally.network = self.network.then(|| NetworkMatrix::new(n_regions));
            Counted { tally, lines: self.tracks.map(|_| Lines::new(tracking.space)) }
        };
        let tally = counted(tracking, log, new, |lines| match &mut writer {
            Some(writer) => Ok(writer.write(&lines)?),
            None => Ok(()),
        })?;
        if let Some(writer) = writer {
            writer.finish()?;
        }
        if tally.kept.iter().sum::<u64>() == 0 {
            log.warn("no streamline was kept: see in run.json why they ended");
        }
        Ok(tally)
    }

    fn write_counts(
        &self,
        tally: &Tally<'_>,
        starts: &Starts,
        out: &mut OutputFolder,
    ) -> Result<(), TrackError> {
        let options = |description: &str| WriteOptions {
            space_codes: starts.codes,
            description: description.to_owned(),
            ..WriteOptions::default()
        };
        let visits = starts.space.image(|voxel| tally.visits.count(voxel) as f32);
        let through = options("streamlines through each voxel");
        write_image(out.stage("visits.nii.gz")?, &visits, &through)?;
        if let Some(targets) = &tally.targets {
            let reaching = options("streamlines of each seed voxel that reach the target");
            starts.write_targets(targets, &reaching, out)?;
        }
        let kept: String = tally.kept.iter().map(|kept| format!("{kept}\n")).collect();
        out.write("waytotal", kept.as_bytes())?;
        if let Some(network) = &tally.network {
            let names: Vec<_> = self.seeds.iter().map(|path| stem(path)).collect();
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
    tracking: &Tracking<'_>,
    format: Format,
    log: &Logbook<'_>,
    out: &mut OutputFolder,
) -> Result<Box<dyn WriteStreamlines>, TrackError> {
    let mut header = Header::on(*tracking.field.grid());
    header.per_streamline = Lines::columns();
    for loss in format.losses(&header) {
        log.note(&format!("{format} has no place for {loss}"));
    }
    let path = out.stage(&tracks_name(format))?;
    Ok(create(&path, format, &header, &LineOptions::default())?)
}

/// How streamlines are propagated, as records list it.
pub(crate) fn propagation_parameters(propagation: &Propagation) -> Value {
    let Propagation {
        step_mm,
        max_points,
        min_cos,
        fibre_threshold,
        use_fraction,
        modified_euler,
        loop_check,
        first_fibre,
        // Those of the command.
        sample_choice: _,
        ends_inside: _,
    } = propagation;
    let first_fibre = match first_fibre {
        FirstFibre::Number(0) => "largest".to_owned(),
        FirstFibre::Number(number) => format!("number {}", number + 1),
        FirstFibre::Uniform => "uniform".to_owned(),
        FirstFibre::Proportional => "proportional".to_owned(),
        FirstFibre::Any => "any".to_owned(),
    };
    json!({
        "step_mm": step_mm, "max_points": max_points, "min_cos": min_cos,
        "fibre_threshold": fibre_threshold, "use_fraction": use_fraction,
        "modified_euler": modified_euler, "loop_check": loop_check, "first_fibre": first_fibre,
    })
}

/// Warns of seeds from which nothing can be followed.
pub(crate) fn tell_outside(tracking: &Tracking<'_>, log: &Logbook<'_>) {
    let is_outside = |seed: &&Seed| !tracking.field.is_inside(tracking.space.to_samples(seed.pos));
    let n_seeds = tracking.seeds.len();
    match tracking.seeds.iter().filter(is_outside).count() {
        0 => {}
        n if n == n_seeds => log.warn("every seed lies outside the mask of the directions"),
        n => log.warn(&format!(
            "outside the mask of the directions: {n} of {}",
            fimbria_image::counted(n_seeds, "seed")
        )),
    }
}

fn tracks_name(format: Format) -> String {
    format!("tracks.{}", format.extension())
}

/// The file without folder and extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or(&name).to_owned()
}

/// The voxels above zero of an image, or a surface in scanner millimetres.
fn region(space: &Space, path: &Path) -> Result<Region, TrackError> {
    if is_surface(path) {
        let surface = Surface::read(path).map_err(SurfaceError::from)?;
        return Ok(crossed_region(path, &surface, MeshSpace::Caret, space, false)?);
    }
    named(space, &read_image(path)?, path)
}

fn named(space: &Space, image: &Image, path: &Path) -> Result<Region, TrackError> {
    let mut region = space.region(image, &path.display().to_string())?;
    region.name = stem(path);
    Ok(region)
}
