//! `fimbria sticks`

use std::path::PathBuf;

use clap::Args;
use fimbria_cluster::World;
use fimbria_pipeline::stages::load::Load;
use fimbria_pipeline::stages::sticks::{Resume, Sticks as SticksStage, SticksParameters, Within};
use fimbria_pipeline::{OutputFolder, Stage};

use crate::args::{DeviceArgs, KeptOutputArgs, SubjectArgs, ThreadArgs};
use crate::commands::processes::run_kept;
use crate::console::Console;
use crate::failure::Failure;

/// Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx)
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Sticks {
    /// Diffusion-weighted series, 4-D
    #[arg(value_name = "DWI")]
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
  Priors, proposals and their adaptation are those of FSL's bedpostx. Chains start from a tensor,
  then ball and sticks by Levenberg-Marquardt. With --grad-dev every voxel has its own gradients.

Outputs, a bedpostX folder (float32; FSL, XTRACT and FSLeyes read it, and fimbria track):
  merged_th1samples merged_ph1samples merged_f1samples ...2... ...3...
                a volume per sample: polar angle, azimuth (radians), fraction; fibres in the order
                of their mean fractions
  merged_samples.f16
                with --half in their place: fimbria track and fimbria probtrackx2 read it. Little endian:
                'fimstick', u32 1, fibres, samples, 0, u64 voxels, 3 u64 size of the grid, 12 f64 scanner
                mm from voxel, u32 index of each voxel (x fastest), then [voxel][sample][fibre] f16 u v f:
                direction in scanner axes on the octahedron |x|+|y|+|z| = 1 unfolded to a square (u = x,
                v = y where z >= 0, else (1-|y|) sign x, (1-|x|) sign y), NaN = none; fraction
  mean_th1samples mean_ph1samples mean_f1samples ... mean_fsumsamples
                their means over the samples; those of angles are taken near the dyad
  dyads1 ...    3 volumes: unit principal direction x y z of the samples, sign arbitrary
  dyads1_dispersion ...
                1 - largest eigenvalue of the mean of v vᵀ: 0 sure, 2/3 any direction
  dyads2_thr0.05 dyads2_thr0.05_modf2 ...
                where the mean of f is at least 0.05; the same times mean f2 / mean f1
  mean_dsamples std_dsamples
                mean and standard deviation of d, mm²/s; model 2 and 3: mean_d_stdsamples, mm²/s;
                model 3: mean_Rsamples; with --f0: mean_f0samples; rician: mean_tausamples
  mean_S0samples nodif_brain nodif_brain_mask
                signal without weighting, sampled and measured, units of the input; the mask (uint8)
  acceptance    share of the proposals after burn-in that were taken, 0.2 to 0.5 where chains mix
  effective_samples
                how many independent samples the kept ones are worth: the least of S0, d and f1
  status        0 outside the mask, 1 sampled, 4 bad signal (uint8)
  bvals bvecs xfms/eye.mat commands.txt run.json

Units:
  b-values are read in s/mm², diffusivities written in mm²/s, angles in radians; f has no unit.

Order and frame:
  Angles and dyads are in the axes of FSL's bvecs: voxel axes, x reversed where det(affine) > 0.

Resume:
  Finished chunks of 4096 voxels are kept in OUT/.resume until all is written; --resume takes them
  up, with any number of processes, and samples those anew that are damaged. Where series, mask, gradients or parameters are others, --resume
  says so and leaves them.

Several processes:
  Built with --features mpi, `mpirun -n 4 fimbria sticks ...` deals the voxels out to processes, each on
  its threads or on a device; the first one writes, and all images have the bytes of one process.

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
        let keep = Some(folder.join(OutputFolder::KEPT));
        let resume = if resumes { Resume::Yes } else { Resume::No };
        let sticks =
            SticksStage { parameters, within: Within::Mask, extension: "nii.gz", keep, resume };
        let load = Load { files: subject.files(dwi), found: None };
        let stages: [&dyn Stage; 2] = [&load, &sticks];
        run_kept("sticks", &stages, &World::start(), &output, threads, devices, console)
    }
}
