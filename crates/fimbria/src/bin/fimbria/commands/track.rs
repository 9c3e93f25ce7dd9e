//! `fimbria track`

use clap::Args;
use fimbria_cluster::World;
use fimbria_pipeline::stages::track::{
    AnatomyOptions, DirectionFiles, LoadDirections, RegionFiles, SourceError, TRACK_WRITES, Track,
    TrackParameters,
};
use fimbria_pipeline::{Stage, Writes};

use crate::args::{DeviceArgs, OutputArgs, ThreadArgs};
use crate::commands::processes::run_together;
use crate::console::Console;
use crate::failure::Failure;

/// Track fibres through samples of directions, peaks or functions on the sphere
#[derive(Debug, Args)]
#[command(add = Writes(TRACK_WRITES), after_long_help = HELP)]
pub(crate) struct TrackCommand {
    #[command(flatten)]
    input: DirectionFiles,

    #[command(flatten)]
    regions: RegionFiles,

    #[command(flatten)]
    anatomy: AnatomyOptions,

    #[command(flatten)]
    parameters: TrackParameters,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  Reasons to end: 1 no samples there, 2 small fraction, 3 sharp turn, 4 no direction, 5 left the
  mask, 6 longest, 7 loop, 8 stop region, 10 region to avoid, 11 small density; with --act 12
  cortex, 13 subcortical grey matter, 14 fluid, 15 left the brain, 17 of itself in
  a lesion; 16 at its seed, as it went one way.

Directions:
  Samples and peaks are followed as probtrackx2 follows samples. Through densities (harmonics,
  unique entries; coefficients interpolated trilinearly) streamlines run along arcs drawn by the
  densities along them, along curves whose curvature is drawn by those ahead, or along the nearest
  maximum (--algorithm). docs/tracking.md says what is usual with each, and why.

Anatomy:
  With --act a streamline is kept only if both its ends are where fibres end: at the first point
  that is half cortex, in subcortical grey matter, or where the brain leaves the image. One that
  enters fluid or ends in white matter goes back and on another way, and is rejected where none is
  left (--backtrack=false: at once). Ends are cut where grey matter begins (--crop=false: not).

Units:
  Millimetres, degrees.

Order and frame:
  Surfaces, points and streamlines are in scanner RAS millimetres; streamlines in the order of seed
  regions, then of voxels (x fastest), vertices or points, then of samples, whatever the number of
  threads; with --select in the order in which they were started. Regions and maps lie on the grid
  of the first image of seeds, or of the directions.

Random numbers depend on seed voxel, sample and step alone: further seeds change no streamline, nor
do threads and devices.

Several processes:
  Built with --features mpi, `mpirun -n 4 fimbria track ...` deals the samples out to processes,
  each on its threads or on a device; the first one writes, and all files have the bytes of one
  process (the times in run.json apart).

Differences from `fimbria probtrackx2`: a streamline is judged as a whole, regions and length
included; it ends inside the mask; every sample has the same weight.

References:
  Behrens TEJ et al. Magn Reson Med 50, 1077 (2003); NeuroImage 34, 144 (2007)
  Tournier J-D, Calamante F, Connelly A. Proc ISMRM 18, 1670 (2010): arcs through densities
  Aydogan DB, Shi Y. IEEE Trans Med Imaging 40, 635 (2021): parallel transport
  Smith RE et al. NeuroImage 62, 1924 (2012): anatomical constraint";

impl TrackCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { input, regions, anatomy, parameters, output, threads, devices } = self;
        let source = input.source().map_err(|error| match error {
            SourceError::Unused { .. } => Failure::usage(error),
            other => other.into(),
        })?;
        let through = source.through();
        let unused = parameters.unused(through).or_else(|| anatomy.unused(through));
        if let Some(option) = unused {
            let (holds, path) = (source.holds(), source.path().to_owned());
            return Err(Failure::usage(SourceError::Unused { option, holds, path }));
        }
        parameters.check(through).map_err(Failure::usage)?;
        anatomy.check(through, &parameters).map_err(Failure::usage)?;
        let load = LoadDirections { source, mask: input.mask, rng_seed: parameters.rng_seed };
        let track = Track { regions, anatomy, parameters, through };
        let stages: [&dyn Stage; 2] = [&load, &track];
        let folder = |planned: &[String]| output.folder(planned, console);
        let world = World::start();
        run_together("track", &stages, &world, &folder, None, threads, devices, console)
    }
}
