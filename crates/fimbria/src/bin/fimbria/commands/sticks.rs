//! `fimbria sticks`

use std::path::PathBuf;

use clap::Args;
use fimbria_cluster::World;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::load::Load;
use fimbria_pipeline::stages::sticks::{
    Resume, STICKS_WRITES, Sticks as SticksStage, SticksParameters, Within,
};
use fimbria_pipeline::{OutputFolder, Stage, Writes};

use crate::args::{DeviceArgs, KeptOutputArgs, SubjectArgs, ThreadArgs};
use crate::commands::processes::run_kept;
use crate::console::Console;
use crate::failure::Failure;

/// Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx)
#[derive(Debug, Args)]
#[command(add = Writes(STICKS_WRITES), after_long_help = HELP)]
pub(crate) struct Sticks {
    /// Diffusion-weighted series, 4-D
    #[arg(value_name = "DWI")]
    #[arg(takes = Takes::IMAGE)]
    dwi: PathBuf,

    #[command(flatten)]
    parameters: SticksParameters,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    output: KeptOutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Model:
  S = S0 [ (1 - f0 - Σ f) B + Σ f A + f0 ]: a ball B and sticks A with the fractions f, directions
  v. Model 1: B = exp(-b d), A = exp(-b d (g·v)²). Model 2: d is Gamma-distributed, of mean d and
  standard deviation d_std. Model 3: A = exp(-3 b d/(2R+1) ((1-R)(g·v)² + R)), B as in model 2.
  Priors are those of FSL's bedpostx; a jump moves several parameters at once. Chains start from a
  tensor, then ball and sticks by Levenberg-Marquardt. With --grad-dev every voxel has its own
  gradients.

Outputs, a bedpostX folder (float32; FSL, XTRACT and FSLeyes read it, and fimbria track):
{outputs}

Units:
  b-values are read in s/mm², diffusivities written in mm²/s, angles in radians; f has no unit.

Order and frame:
  Angles and dyads are in the axes of FSL's bvecs: voxel axes, x reversed where det(affine) > 0.

Resume:
  Finished chunks of 4096 voxels are kept in OUT/.resume until all is written; --resume takes them
  up, with any number of processes, and samples those anew that are damaged. Where series, mask,
  gradients or parameters are others, --resume says so and leaves them.

Several processes:
  Built with --features mpi, `mpirun -n 4 fimbria sticks ...` deals the voxels out to processes,
  each on its threads or on a device; the first one writes, and all images have the bytes of one
  process.

References:
  Behrens TEJ et al. Magn Reson Med 50, 1077 (2003)         ball and stick, its sampling
  Behrens TEJ et al. NeuroImage 34, 144 (2007)              several fibres, relevance
  Jbabdi S et al. Magn Reson Med 68, 1846 (2012)            model 2
  Sotiropoulos SN et al. NeuroImage 134, 396 (2016)         model 3";

impl Sticks {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { dwi, parameters, subject, output, threads, devices } = self;
        parameters.options().map_err(Failure::usage)?;
        let (folder, _, resumes) = output.split();
        let keep = Some(OutputFolder::kept(folder, "sticks"));
        let resume = if resumes { Resume::Yes } else { Resume::No };
        let sticks =
            SticksStage { parameters, within: Within::Mask, extension: "nii.gz", keep, resume };
        let load = Load { files: subject.files(dwi), found: None };
        let stages: [&dyn Stage; 2] = [&load, &sticks];
        run_kept("sticks", &stages, &World::start(), &output, threads, devices, console)
    }
}
