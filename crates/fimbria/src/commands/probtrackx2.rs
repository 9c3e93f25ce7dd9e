//! `fimbria probtrackx2`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fimbria_compute::Backend;
use fimbria_pipeline::probtrackx2::{Probtrackx2, RegionFiles};
use fimbria_pipeline::{Hashing, Logbook, OutputFolder};
use fimbria_tracking::{FirstFibre, Propagation, SampleChoice, Sequence};

use crate::args::{DeviceArgs, ThreadArgs};
use crate::commands::{command_line, report, session};
use crate::console::Console;
use crate::failure::Failure;

/// Track as FSL's probtrackx2 does: its options, its files, its numbers
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Probtrackx2Command {
    #[command(flatten)]
    files: FileArgs,

    #[command(flatten)]
    outputs: OutputFlags,

    #[command(flatten)]
    regions: RegionArgs,

    #[command(flatten)]
    steps: StepArgs,

    /// Random numbers: philox; constant:U, always U; lcg:X, a linear congruence from X. The latter
    /// two are drawn in FSL's order by one thread, to repeat a path exactly
    #[arg(long, value_name = "RNG", default_value = "philox", value_parser = generator)]
    rng: Generator,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

/// Inputs and where outputs go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
struct FileArgs {
    /// Base name of the samples: BASE_th1samples, BASE_ph1samples, BASE_f1samples, ...2 ...
    #[arg(short, long, value_name = "BASE")]
    samples: PathBuf,

    /// Brain mask, on the grid of the samples
    #[arg(short, long, value_name = "IMAGE")]
    mask: PathBuf,

    /// Seeds: an image, or a text file that lists images; with --simple, voxel coordinates
    #[arg(short = 'x', long, value_name = "FILE")]
    seed: PathBuf,

    /// Base name of the map of visits
    #[arg(short, long, value_name = "NAME", default_value = "fdt_paths")]
    out: String,

    /// Folder to write; where it exists, one with + after its name
    #[arg(long, value_name = "FOLDER", default_value = "logdir")]
    dir: PathBuf,

    /// Write to exactly that folder
    #[arg(long)]
    forcedir: bool,

    /// Seeds are points in a text file: voxel coordinates, N rows of 3 or 3 rows of N
    #[arg(long)]
    simple: bool,

    /// Transform from seed space to that of the samples, as FLIRT writes it [default: identity]
    #[arg(long, value_name = "FILE")]
    xfm: Option<PathBuf>,

    /// Image whose grid is the seed space [default: the brain mask]
    #[arg(long, value_name = "IMAGE")]
    seedref: Option<PathBuf>,
}

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is written")]
struct OutputFlags {
    /// The map of visits
    #[arg(long)]
    opd: bool,

    /// Count distances from the seed (mm) instead of visits
    #[arg(long)]
    pd: bool,

    /// Mean lengths too
    #[arg(long)]
    ompl: bool,

    /// For every target a map of the seeds that reach it
    #[arg(long)]
    os2t: bool,

    /// The targets: an image, or a text file that lists images
    #[arg(long, value_name = "FILE")]
    targetmasks: Option<PathBuf>,

    /// Seeds and targets as a matrix of text
    #[arg(long)]
    s2tastext: bool,

    /// The sparse matrix from seed to seed
    #[arg(long)]
    omatrix1: bool,

    /// Least length of what that matrix counts, mm
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    distthresh1: f32,

    /// Every path, as text
    #[arg(long)]
    savepaths: bool,
}

/// Regions that decide over streamlines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Regions (an image, or a text file that lists images)")]
struct RegionArgs {
    /// Where streamlines must go
    #[arg(long, value_name = "FILE")]
    waypoints: Option<PathBuf>,

    /// To all of them, or to one
    #[arg(long, value_name = "COND", default_value = "AND", ignore_case = true)]
    waycond: Condition,

    /// In the order of the list
    #[arg(long)]
    wayorder: bool,

    /// Each half by itself
    #[arg(long)]
    onewaycondition: bool,

    /// Where they must not go
    #[arg(long, value_name = "FILE")]
    avoid: Option<PathBuf>,

    /// Where they end on entering
    #[arg(long, value_name = "FILE")]
    stop: Option<PathBuf>,

    /// Where they end on leaving
    #[arg(long, value_name = "FILE")]
    wtstop: Option<PathBuf>,

    /// Keep only what reaches another of the seed regions
    #[arg(long)]
    network: bool,

    /// Ask --avoid and --stop from the second point on
    #[arg(long)]
    forcefirststep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Condition {
    And,
    Or,
}

/// How streamlines are propagated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Streamlines")]
struct StepArgs {
    /// Samples per seed
    #[arg(short = 'P', long, value_name = "N", default_value_t = 5000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    nsamples: u32,

    /// Steps per sample, both halves together
    #[arg(short = 'S', long, value_name = "N", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=2_000_000))]
    nsteps: u32,

    /// Length of a step, mm
    #[arg(long, value_name = "MM", default_value_t = 0.5, value_parser = above_zero)]
    steplength: f32,

    /// Drop halves shorter than this, mm
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    distthresh: f32,

    /// Least cosine of the angle between steps
    #[arg(short, long, value_name = "COS", default_value_t = 0.2)]
    cthr: f32,

    /// Least fraction of fibres to consider
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    fibthresh: f32,

    /// End paths that come back on themselves
    #[arg(short, long)]
    loopcheck: bool,

    /// End paths where fractions are low, with probability 1 - f at each step
    #[arg(short = 'f', long)]
    usef: bool,

    /// Modified Euler steps
    #[arg(long)]
    modeuler: bool,

    /// Start anywhere in a sphere of this radius, mm
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    sampvox: f32,

    /// First fibre: 0 the first, 1 any above --fibthresh, 2 the same by fraction, 3 any
    #[arg(long, value_name = "RULE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=3))]
    randfib: u8,

    /// Always start with this fibre, whatever --randfib says
    #[arg(long, value_name = "NUMBER")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    fibst: Option<u8>,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 12345)]
    rseed: u64,
}

/// What `--rng` names.
#[derive(Clone, Copy, Debug)]
enum Generator {
    Philox,
    Fixed(Sequence),
}

fn generator(text: &str) -> Result<Generator, String> {
    let wrong = "it must be philox, constant:U with U from 0 to 1, or lcg:X with X below 2^31";
    match text.split_once(':') {
        None if text == "philox" => Ok(Generator::Philox),
        Some(("constant", u)) => match u.parse::<f32>() {
            Ok(u) if (0.0..=1.0).contains(&u) => Ok(Generator::Fixed(Sequence::Constant(u))),
            _ => Err(wrong.to_owned()),
        },
        Some(("lcg", x)) => match x.parse::<u32>() {
            Ok(x) if x < 1 << 31 => Ok(Generator::Fixed(Sequence::Lcg(x))),
            _ => Err(wrong.to_owned()),
        },
        _ => Err(wrong.to_owned()),
    }
}

fn above_zero(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

const HELP: &str = "\
Outputs, in the folder of --dir (images are float32, on the grid of --seedref):
  fdt_paths                   visits of each voxel, one per sample at most (--opd); with --simple one
                              map per point, fdt_paths_X_Y_Z; with --pd sums of distances
  fdt_paths_lengths           mean distance from the seed (--ompl)
  waytotal                    samples kept; with --network a row for each seed region
  seeds_to_TARGET             samples of each seed that reach the target (--os2t)
  matrix_seeds_to_all_targets the same as text (--s2tastext)
  fdt_network_matrix          samples from region (row) to region (column) (--network)
  fdt_matrix1.dot             samples from seed (row) to seed (column): row column value, 1-based;
  coords_for_fdt_matrix1      x y z region number of each seed, stored voxel coordinates (--omatrix1)
  saved_paths.txt             paths (--savepaths)
  probtrackx.log, run.json    what was done, why halves ended

Units:
  Millimetres; angles as cosines.

Order and frame:
  Samples are angles in FSL's frame: voxel axes, x reversed where det(affine) > 0. Points of --simple
  are stored voxel coordinates; saved_paths.txt has radiological ones, as FSL's does.

Streamlines are FSL's to the quirk, which is right for comparison and for studies under way: the
first and the last sample have half weight, one point outside the mask is kept, each half is judged
for itself. Differences: random numbers depend on seed voxel, sample and step alone, so that threads
do not change the result; surfaces, warps, matrices 2 to 4 and --fopd are not there. `fimbria track`
has plainer rules and writes streamlines.

References:
  Behrens TEJ et al. NeuroImage 34, 144 (2007)            the algorithm
  Hernandez-Fernandez M et al. NeuroImage 188, 598 (2019) its options and outputs";

impl Probtrackx2Command {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { files, outputs, regions, steps, rng, threads, devices } = self;
        let FileArgs { samples, mask, seed, out, dir, forcedir, simple, xfm, seedref } = files;
        let OutputFlags {
            opd,
            pd,
            ompl,
            os2t,
            targetmasks,
            s2tastext,
            omatrix1,
            distthresh1,
            savepaths,
        } = outputs;
        let RegionArgs {
            waypoints,
            waycond,
            wayorder,
            onewaycondition,
            avoid,
            stop,
            wtstop,
            network,
            forcefirststep,
        } = regions;
        let mut dir = dir;
        while !forcedir && dir.exists() {
            dir = PathBuf::from(format!("{}+", dir.display()));
        }
        let named = [&samples, &mask, &seed].map(Clone::clone);
        let (propagation, sampling) = steps.split();
        let Sampling { n_samples, sampvox_mm, least_length_mm, rng_seed } = sampling;
        let job = Probtrackx2 {
            samples,
            mask,
            seed,
            out,
            simple,
            network,
            opd,
            pd,
            ompl,
            os2t,
            target_masks: targetmasks,
            s2t_as_text: s2tastext,
            omatrix1,
            distthresh1,
            xfm,
            seedref,
            n_samples,
            sampvox_mm,
            propagation,
            regions: RegionFiles {
                waypoints,
                any: waycond == Condition::Or,
                in_order: wayorder,
                by_each_half: onewaycondition,
                avoid,
                stop,
                wtstop,
                least_length_mm,
                force_first_step: forcefirststep,
            },
            save_paths: savepaths,
            rng_seed,
            sequence: match rng {
                Generator::Philox => None,
                Generator::Fixed(sequence) => Some(sequence),
            },
        };
        let mut folder = OutputFolder::create(&dir, &[], true, console.unfinished())?;
        let workers = threads.start()?;
        let command_line = command_line();
        let devices = devices.open(console)?;
        let on = Backend { workers: &workers, devices: &devices };
        let log = Logbook::new(session(on, console, &command_line));
        let inputs = ["samples", "mask", "seed"].map(str::to_owned).into_iter().zip(named);
        let hashing = Hashing::start(inputs.filter(|(_, path)| path.is_file()).collect());
        job.run(&log, &mut folder)?;
        folder.write("probtrackx.log", (command_line.join(" ") + "\n").as_bytes())?;
        let record =
            folder.commit(log.record("probtrackx2", hashing.finish()?, job.parameters()))?;
        report(&record, &dir, console);
        Ok(())
    }
}

/// How many samples are made, where they start, which are kept.
struct Sampling {
    n_samples: u32,
    sampvox_mm: f32,
    least_length_mm: f32,
    rng_seed: u64,
}

impl StepArgs {
    fn split(self) -> (Propagation, Sampling) {
        let Self {
            nsamples,
            nsteps,
            steplength,
            distthresh,
            cthr,
            fibthresh,
            loopcheck,
            usef,
            modeuler,
            sampvox,
            randfib,
            fibst,
            rseed,
        } = self;
        let sampling = Sampling {
            n_samples: nsamples,
            sampvox_mm: sampvox,
            least_length_mm: distthresh,
            rng_seed: rseed,
        };
        let propagation = Propagation {
            step_mm: steplength,
            max_points: nsteps,
            min_cos: cthr,
            fibre_threshold: fibthresh,
            use_fraction: usef,
            modified_euler: modeuler,
            loop_check: loopcheck,
            first_fibre: match (fibst, randfib) {
                (Some(number), _) => FirstFibre::Number(usize::from(number) - 1),
                (None, 1) => FirstFibre::Uniform,
                (None, 2) => FirstFibre::Proportional,
                (None, 3) => FirstFibre::Any,
                (None, _) => FirstFibre::Number(0),
            },
            sample_choice: SampleChoice::HalfWeightEnds,
            ends_inside: false,
        };
        (propagation, sampling)
    }
}
