//! FSL's probtrackx2: its options, its files, its numbers.
//!
//! Inputs are found by base name as FSL finds them, regions and seeds may be listed in text files,
//! and what is written has FSL's names and forms. How streamlines are made and judged is FSL's to
//! the quirk: samples at the ends with half weight, halves judged for themselves
//! ([`Judgement::HalfByHalf`]), the point outside the mask kept.

mod inputs;
mod outputs;

use std::path::PathBuf;

use fimbria_compute::Progress;
use fimbria_image::bedpostx::{BedpostxError, read_bedpostx};
use fimbria_image::{GridMismatch, ImageError, ImageHeader, OpenOptions, SpaceCodes};
use fimbria_tracking::{
    Collect, EndReason, Field, Judgement, NetworkMatrix, Propagation, Region, Rules, Sample, Seed,
    SeedMatrix, Sequence, SingularTransform, Space, Tally, Targets, Tracking, seeds_of_region,
    track_on, track_slowly,
};
use serde_json::json;

use crate::output::{OutputError, OutputFolder};
use crate::session::Logbook;

/// What probtrackx2 is asked for; names as FSL's options.
#[derive(Clone, Debug)]
pub struct Probtrackx2 {
    /// Base name of the samples.
    pub samples: PathBuf,
    /// Brain mask.
    pub mask: PathBuf,
    /// Seeds: an image, a list of images, or with `simple` a list of points.
    pub seed: PathBuf,
    /// Base name of the map of visits.
    pub out: String,
    /// Seeds are points in a text file.
    pub simple: bool,
    /// Keep only what reaches another seed region.
    pub network: bool,
    /// Write the map of visits.
    pub opd: bool,
    /// Count distances instead of visits.
    pub pd: bool,
    /// Write mean lengths too.
    pub ompl: bool,
    /// Write maps of the seeds that reach targets.
    pub os2t: bool,
    /// The targets.
    pub target_masks: Option<PathBuf>,
    /// Write them as a matrix too.
    pub s2t_as_text: bool,
    /// The matrix from seed to seed.
    pub omatrix1: bool,
    /// Least length of what it counts, mm.
    pub distthresh1: f32,
    /// From seed space to that of the samples, as FLIRT writes it.
    pub xfm: Option<PathBuf>,
    /// Image of the seed space.
    pub seedref: Option<PathBuf>,
    /// Samples per seed.
    pub n_samples: u32,
    /// Radius of the sphere to start in, mm.
    pub sampvox_mm: f32,
    /// Steps, fibres, curvature.
    pub propagation: Propagation,
    /// Regions.
    pub regions: RegionFiles,
    /// Write every path.
    pub save_paths: bool,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// Fixed numbers instead, one particle at a time.
    pub sequence: Option<Sequence>,
}

/// Files of regions, each an image or a list of images.
#[derive(Clone, Debug, Default)]
pub struct RegionFiles {
    /// Inclusion.
    pub waypoints: Option<PathBuf>,
    /// One is enough.
    pub any: bool,
    /// In the order of the list.
    pub in_order: bool,
    /// By each half.
    pub by_each_half: bool,
    /// Exclusion.
    pub avoid: Option<PathBuf>,
    /// Termination.
    pub stop: Option<PathBuf>,
    /// Termination on leaving.
    pub wtstop: Option<PathBuf>,
    /// Least length of a half, mm.
    pub least_length_mm: f32,
    /// Neither exclusion nor termination at the first point.
    pub force_first_step: bool,
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum Probtrackx2Error {
    /// The samples.
    #[error(transparent)]
    Samples(#[from] BedpostxError),
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An image on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// Outputs.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A text file.
    #[error("{}: {reason}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing of this name.
    #[error("there is neither an image nor a list called {}", .0.display())]
    Missing(PathBuf),
    /// No seeds.
    #[error("{} has no voxel above zero: nowhere to start from", .0.display())]
    NoSeeds(PathBuf),
    /// Options that need others.
    #[error("{0}")]
    Options(&'static str),
    /// A matrix without inverse.
    #[error(transparent)]
    Transform(#[from] SingularTransform),
    /// Stopped.
    #[error(transparent)]
    Interrupted(#[from] fimbria_compute::Interrupted),
}

impl Probtrackx2 {
    /// Tracks and stages every output.
    ///
    /// # Errors
    /// [`Probtrackx2Error`] says which file or option is wrong.
    pub fn run(&self, log: &Logbook<'_>, out: &mut OutputFolder) -> Result<(), Probtrackx2Error> {
        let workers = log.session().on.workers;
        let field = log.stage("read", || {
            let (samples, mask) = (&self.samples, inputs::image(&self.mask)?);
            let samples =
                workers.install(|| read_bedpostx(samples, Some(&mask), &OpenOptions::default()))?;
            Ok::<_, Probtrackx2Error>(Field::new(samples, workers))
        })?;
        let reference = inputs::image(self.seedref.as_ref().unwrap_or(&self.mask))?;
        let reference = ImageHeader::read(&reference)?;
        let space = match &self.xfm {
            None => {
                Space::flirt(*reference.grid(), field.grid(), &fimbria_image::Affine::IDENTITY)?
            }
            Some(path) => Space::flirt(*reference.grid(), field.grid(), &inputs::flirt(path)?)?,
        };
        let starts = if self.simple {
            inputs::points(&self.seed, &space)?
        } else {
            inputs::seed_regions(&self.seed, &space)?
        };
        let rules = self.rules(&space, &starts)?;
        let targets = match (&self.target_masks, self.os2t || self.s2t_as_text) {
            (Some(path), true) => inputs::regions(path, &space)?,
            (None, true) => {
                return Err(Probtrackx2Error::Options("--os2t needs --targetmasks"));
            }
            _ => Vec::new(),
        };
        for region in targets.iter().chain(&rules.waypoints.regions) {
            if region.is_empty() {
                log.warn(&format!("{} has no voxel: nothing can reach it", region.name));
            }
        }
        let job = Job {
            options: self,
            field: &field,
            space: &space,
            rules: &rules,
            starts: &starts,
            targets: &targets,
            codes: reference.space_codes(),
        };
        job.run(log, out)
    }

    fn rules(&self, space: &Space, starts: &Starts) -> Result<Rules, Probtrackx2Error> {
        let files = &self.regions;
        let read = |path: &Option<PathBuf>| match path {
            Some(path) => inputs::regions(path, space),
            None => Ok(Vec::new()),
        };
        if self.network && starts.regions.len() < 2 {
            return Err(Probtrackx2Error::Options(
                "--network needs a list of two seed regions or more",
            ));
        }
        Ok(Rules {
            avoid: read(&files.avoid)?,
            stop: read(&files.stop)?,
            stop_on_leaving: read(&files.wtstop)?,
            waypoints: fimbria_tracking::Waypoints {
                regions: read(&files.waypoints)?,
                any: files.any,
                in_order: files.in_order,
                by_each_half: files.by_each_half,
            },
            network: if self.network { starts.regions.clone() } else { Vec::new() },
            least_length_mm: files.least_length_mm,
            force_first_step: files.force_first_step,
            judgement: Judgement::HalfByHalf,
        })
    }
}

/// Seeds and the regions they are of.
struct Starts {
    seeds: Vec<Seed>,
    regions: Vec<Region>,
    /// Points as they were typed, with `--simple`.
    typed: Vec<[f32; 3]>,
}

/// Everything read, ready to be tracked.
struct Job<'a> {
    options: &'a Probtrackx2,
    field: &'a Field,
    space: &'a Space,
    rules: &'a Rules,
    starts: &'a Starts,
    targets: &'a [Region],
    codes: Option<SpaceCodes>,
}

impl Job<'_> {
    fn run(&self, log: &Logbook<'_>, out: &mut OutputFolder) -> Result<(), Probtrackx2Error> {
        let seeds = &self.starts.seeds;
        let seed_plus_1 = self.seed_places();
        let mut saved = String::new();
        // One stream of numbers for all points.
        let mut sequence = self.options.sequence;
        let mut total: Option<Tally<'_>> = None;
        log.stage("track", || {
            if self.options.simple {
                // A map for each point.
                for (index, typed) in self.starts.typed.iter().enumerate() {
                    let tally = self.track(
                        &seeds[index..=index],
                        &seed_plus_1,
                        log,
                        &mut sequence,
                        &mut saved,
                    )?;
                    let name =
                        format!("{}_{}_{}_{}", self.options.out, typed[0], typed[1], typed[2]);
                    // The map of a point that comes again is that of the last time, as FSL's.
                    if !self.starts.typed[index + 1..].contains(typed) {
                        self.write_visits(&tally, &name, out)?;
                    }
                    match &mut total {
                        Some(total) => total.merge(tally),
                        None => total = Some(tally),
                    }
                }
            } else {
                total = Some(self.track(seeds, &seed_plus_1, log, &mut sequence, &mut saved)?);
            }
            let Some(total) = &total else { return Ok(()) };
            log.count("samples", total.made);
            log.count("kept", total.kept.iter().sum());
            log.count("points", total.points);
            for ((_, name), count) in EndReason::ALL.iter().zip(total.ends) {
                log.count(&format!("ends: {name}"), count);
            }
            Ok::<(), Probtrackx2Error>(())
        })?;
        if self.options.save_paths {
            out.write("saved_paths.txt", saved.as_bytes())?;
        }
        let Some(total) = total else { return Ok(()) };
        if total.kept.iter().sum::<u64>() == 0 {
            log.warn("no sample was kept: every one was rejected by the regions given");
        }
        log.stage("write", || {
            if !self.options.simple {
                self.write_visits(&total, &self.options.out, out)?;
                self.write_waytotal(&total, out)?;
            }
            self.write_targets(&total, out)?;
            self.write_network(&total, out)?;
            self.write_matrix1(&total, out)
        })
    }

    fn tracking<'t>(&'t self, seeds: &'t [Seed]) -> Tracking<'t> {
        Tracking {
            field: self.field,
            space: self.space,
            propagation: &self.options.propagation,
            rules: self.rules,
            seeds,
            n_samples: self.options.n_samples,
            jitter_mm: self.options.sampvox_mm,
            rng_seed: self.options.rng_seed,
        }
    }

    fn track<'t>(
        &'t self,
        seeds: &'t [Seed],
        seed_plus_1: &'t [u32],
        log: &Logbook<'_>,
        sequence: &mut Option<Sequence>,
        saved: &mut String,
    ) -> Result<Tally<'t>, Probtrackx2Error> {
        let options = self.options;
        let new = || {
            let distances = options.pd || options.ompl;
            let regions = self.starts.regions.len().max(1);
            let mut tally = Tally::new(self.space, regions, distances);
            if !self.targets.is_empty() {
                tally.targets = Some(Targets::new(self.targets, seeds.len()));
            }
            tally.network = options.network.then(|| NetworkMatrix::new(regions));
            tally.matrix1 = options.omatrix1.then(|| {
                let steps = options.distthresh1 / options.propagation.step_mm;
                SeedMatrix::new(seed_plus_1, steps.ceil() as usize + 1)
            });
            Counted { tally, saves: options.save_paths, saved: String::new() }
        };
        let tracking = self.tracking(seeds);
        let counted = match sequence {
            Some(sequence) => {
                let mut counted = new();
                track_slowly(&tracking, Some(sequence), log, &mut counted)?;
                saved.push_str(&counted.end_block());
                vec![counted]
            }
            None => track_on(&tracking, log.session().on, log, new, |block: String| {
                saved.push_str(&block);
                Ok::<(), Probtrackx2Error>(())
            })?,
        };
        let mut tallies = counted.into_iter().map(|counted| counted.tally);
        let mut sum = tallies.next().unwrap_or_else(|| new().tally);
        tallies.for_each(|tally| sum.merge(tally));
        Ok(sum)
    }

    /// The seed in each voxel plus 1.
    fn seed_places(&self) -> Vec<u32> {
        let mut places = vec![0; self.space.grid().len()];
        if self.options.omatrix1 {
            for (index, seed) in self.starts.seeds.iter().enumerate() {
                places[seed.key as usize] = index as u32 + 1;
            }
        }
        places
    }
}

/// A tally, and where wanted the paths as text.
struct Counted<'a> {
    tally: Tally<'a>,
    saves: bool,
    saved: String,
}

impl Collect for Counted<'_> {
    type Block = String;

    fn sample(&mut self, sample: &Sample<'_>) {
        self.tally.add(sample);
        if self.saves {
            outputs::save_path(sample, &mut self.saved);
        }
    }

    fn end_block(&mut self) -> String {
        std::mem::take(&mut self.saved)
    }
}

impl Probtrackx2 {
    /// The parameters as the record lists them.
    pub fn parameters(&self) -> serde_json::Value {
        let p = &self.propagation;
        json!({
            "nsamples": self.n_samples, "nsteps": p.max_points, "steplength": p.step_mm,
            "cthr": p.min_cos, "fibthresh": p.fibre_threshold, "usef": p.use_fraction,
            "modeuler": p.modified_euler, "loopcheck": p.loop_check,
            "first_fibre": format!("{:?}", p.first_fibre), "sampvox": self.sampvox_mm,
            "distthresh": self.regions.least_length_mm, "rseed": self.rng_seed,
            "rng": self.sequence.map_or("philox".to_owned(), |s| format!("{s:?}")),
            "simple": self.simple, "network": self.network, "pd": self.pd,
        })
    }
}

/// Seeds of every region, in order.
fn seeds_of(space: &Space, regions: &[Region]) -> Vec<Seed> {
    let seeds = |(number, region)| seeds_of_region(space, region, number);
    (0..).zip(regions).flat_map(seeds).collect()
}
