//! `fimbria track`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fimbria_cluster::World;
use fimbria_image::{BvecFrame, is_image_name};
use fimbria_pipeline::stages::load_field::FieldFiles;
use fimbria_pipeline::stages::track::{LoadDirections, Source, Track};
use fimbria_pipeline::{Choice, Named, Stage};
use fimbria_streamlines::Format;
use fimbria_tensors::sh::ShBasis;
use fimbria_tracking::{FirstFibre, Propagation};

use crate::args::{DeviceArgs, OutputArgs, ThreadArgs, choice};
use crate::commands::processes::run_together;
use crate::console::Console;
use crate::failure::Failure;

/// Track fibres through samples of directions, peaks or functions on the sphere
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct TrackCommand {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    regions: RegionArgs,

    #[command(flatten)]
    steps: StepArgs,

    /// Format of the streamlines; none writes only maps and matrices
    #[arg(
        long, value_name = "FORMAT", default_value = "trx", value_parser = tracks(),
        help_heading = "Output",
    )]
    tracks: Tracks,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

/// What to follow, and from where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
struct InputArgs {
    /// A bedpostX folder or base name of samples (FOLDER/merged); an image of peaks or of V1 (three
    /// volumes per direction, or as DIPY writes them); an image of spherical harmonics that says
    /// that it is one; with --sh-basis or --hot any image of coefficients
    #[arg(value_name = "DIRECTIONS")]
    directions: PathBuf,

    /// Volumes are spherical harmonics of this basis [default: what the image says of itself]
    #[arg(long, value_name = "BASIS", value_parser = choice::<ShBasis>(), conflicts_with = "hot")]
    sh_basis: Option<Named<ShBasis>>,

    /// Volumes are directions, three to each, whatever the image says or looks like
    #[arg(long, conflicts_with_all = ["hot", "sh_basis"])]
    peaks: bool,

    /// Volumes are unique entries of a higher-order tensor (fit fod)
    #[arg(long)]
    hot: bool,

    /// Axes of peaks or coefficients [default: what the image says of itself (FSL's V1 and dyads
    /// are in FSL's), else scanner; voxel with a basis of DIPY]
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>())]
    frame: Option<Named<BvecFrame>>,

    /// Scatter directions around peaks by this angle, degrees; 0 tracks deterministically
    #[arg(long, value_name = "DEG", default_value_t = 0.0)]
    dispersion: f64,

    /// Voxels to track in [default: those that have directions; nodif_brain_mask of a folder]
    #[arg(long, value_name = "IMAGE")]
    mask: Option<PathBuf>,
}

/// Regions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Regions (images on the grid of the seeds: above zero is inside; \
                               or GIFTI surfaces, which are met where they are crossed)")]
struct RegionArgs {
    /// Where to start: voxels of an image, vertices of a surface (.gii), or points of a list (.txt),
    /// rows of x y z; given several times, several regions
    #[arg(long, value_name = "FILE", required = true)]
    seeds: Vec<PathBuf>,

    /// Where streamlines must pass; given several times, all of them
    #[arg(long, value_name = "REGION")]
    include: Vec<PathBuf>,

    /// In the order given
    #[arg(long, requires = "include")]
    in_order: bool,

    /// Where streamlines must not pass
    #[arg(long, value_name = "REGION")]
    exclude: Vec<PathBuf>,

    /// Where streamlines end
    #[arg(long, value_name = "REGION")]
    stop: Vec<PathBuf>,

    /// Count for each seed the streamlines that reach this
    #[arg(long, value_name = "REGION")]
    target: Vec<PathBuf>,

    /// Keep only what joins two of the seed regions, and count pairs
    #[arg(long)]
    network: bool,
}

/// How streamlines are propagated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Streamlines")]
struct StepArgs {
    /// Streamlines from each seed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    samples: u32,

    /// Length of a step, mm
    #[arg(long, value_name = "MM", default_value_t = 0.5, value_parser = above_zero)]
    step: f32,

    /// Longest streamline, mm
    #[arg(long, value_name = "MM", default_value_t = 1000.0, value_parser = above_zero)]
    max_length: f32,

    /// Shortest streamline kept, mm
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    min_length: f32,

    /// Largest angle between two steps, degrees
    #[arg(long, value_name = "DEG", default_value_t = 78.463_04)]
    angle: f32,

    /// Fibres with a fraction (of peaks: length as part of the longest) up to this are not followed
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    fibre_threshold: f32,

    /// End with probability 1 - f at each step
    #[arg(long)]
    use_fraction: bool,

    /// Average each direction with that one step ahead
    #[arg(long)]
    modified_euler: bool,

    /// End streamlines that come back on themselves
    #[arg(long)]
    loop_check: bool,

    /// The fibre to start with
    #[arg(long, value_name = "RULE", default_value = "largest")]
    first_fibre: First,

    /// Start anywhere in a sphere of this radius, mm
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    jitter: f32,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    rng_seed: u64,
}

/// The format of the streamlines, if any are written.
#[derive(Clone, Copy, Debug)]
struct Tracks(Option<Format>);

/// The formats of single files by name, and none.
fn tracks() -> impl TypedValueParser<Value = Tracks> {
    let names = Format::OF_FILES.iter().map(|(_, name, _)| *name);
    PossibleValuesParser::new(names.chain(["none"]))
        .map(|name| Tracks(<Format as Choice>::from_name(&name)))
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum First {
    /// The first of every sample, which has the largest fraction
    Largest,
    /// Any above the threshold
    Uniform,
    /// Any above the threshold, by fraction
    Proportional,
}

fn above_zero(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

const HELP: &str = "\
Outputs:
  tracks.trx          streamlines (or .tck, .trk), with seed (index of the seed voxel, x fastest, x
                      counted as FSL does; number of a vertex or point), region, sample, seed_point (which point is the seed),
                      end_first and end_last (why it ends there); not in .tck
  visits              streamlines through each voxel, each counted once (float32)
  waytotal            streamlines kept, a line for each seed region
  seeds_to_TARGET     streamlines of each seed voxel that reach the target (float32); of vertices and
                      points in seeds_SURFACE_to_TARGET.gii and seeds_LIST_to_TARGET.txt
  matrix_network.tsv  streamlines from region (row) to region (column) (--network)
  run.json            inputs with hashes, parameters, machine, times, how many halves ended and why
  Reasons to end: 1 no samples there, 2 small fraction, 3 sharp turn, 4 no direction, 5 left the mask,
  6 longest, 7 loop, 8 stop region, 10 region to avoid.

Units:
  Millimetres, degrees.

Order and frame:
  Surfaces, points and streamlines are in scanner RAS millimetres; streamlines in the order of seed
  regions, then of voxels (x fastest), vertices or points, then of samples, whatever the number of
  threads. Regions and maps lie on the grid of the first image of seeds, or of the directions.

Random numbers depend on seed voxel, sample and step alone: further seeds change no streamline, nor do
threads and devices. --loop-check and a random first fibre are worked on by the threads.

Several processes:
  Built with --features mpi, `mpirun -n 4 fimbria track ...` deals the samples out to processes, each on
  its threads or on a device; the first one writes, and all files have the bytes of one process (the
  times in run.json apart).

Differences from `fimbria probtrackx2`: a streamline is judged as a whole, regions and length
included; it ends inside the mask; every sample has the same weight.

References:
  Behrens TEJ et al. Magn Reson Med 50, 1077 (2003); NeuroImage 34, 144 (2007)";

impl TrackCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { input, regions, steps, tracks, output, threads, devices } = self;
        let RegionArgs { seeds, include, in_order, exclude, stop, target, network } = regions;
        let (source, mask) = input.source()?;
        let (propagation, sampling) = steps.split();
        let Sampling { n_samples, jitter_mm, least_length_mm, rng_seed } = sampling;
        let load = LoadDirections { source, mask, rng_seed };
        let track = Track {
            seeds,
            include,
            in_order,
            exclude,
            stop,
            targets: target,
            network,
            n_samples,
            jitter_mm,
            least_length_mm,
            propagation,
            tracks: tracks.0,
            rng_seed,
        };
        let stages: [&dyn Stage; 2] = [&load, &track];
        let folder = |planned: &[String]| output.folder(planned, console);
        let world = World::start();
        run_together("track", &stages, &world, &folder, None, threads, devices, console)
    }
}

impl InputArgs {
    /// What to follow, and in which voxels.
    fn source(self) -> Result<(Source, Option<PathBuf>), Failure> {
        let Self { directions, sh_basis, peaks, hot, frame, dispersion, mask } = self;
        if sh_basis.is_some() || hot {
            let function =
                FieldFiles { image: directions, sh_basis, frame, ..FieldFiles::default() };
            let function = if hot { function } else { function.settled()? };
            return Ok((Source::Function(function), mask));
        }
        if is_image_name(&directions) {
            let frame = frame.map(|frame| frame.0);
            Ok((Source::of_image(directions, frame, dispersion, peaks)?, mask))
        } else {
            Ok((Source::Samples(directions), mask))
        }
    }
}

/// How many streamlines are made, where they start, which are kept.
struct Sampling {
    n_samples: u32,
    jitter_mm: f32,
    least_length_mm: f32,
    rng_seed: u64,
}

impl StepArgs {
    fn split(self) -> (Propagation, Sampling) {
        let Self {
            samples,
            step,
            max_length,
            min_length,
            angle,
            fibre_threshold,
            use_fraction,
            modified_euler,
            loop_check,
            first_fibre,
            jitter,
            rng_seed,
        } = self;
        let sampling = Sampling {
            n_samples: samples,
            jitter_mm: jitter,
            least_length_mm: min_length,
            rng_seed,
        };
        let propagation = Propagation {
            step_mm: step,
            max_points: Propagation::points_within(max_length, step),
            min_cos: angle.to_radians().cos(),
            fibre_threshold,
            use_fraction,
            modified_euler,
            loop_check,
            first_fibre: match first_fibre {
                First::Largest => FirstFibre::Number(0),
                First::Uniform => FirstFibre::Uniform,
                First::Proportional => FirstFibre::Proportional,
            },
            ..Propagation::default()
        };
        (propagation, sampling)
    }
}
