//! `fimbria sticks`

use std::path::PathBuf;

use clap::Args;
use fimbria_cluster::World;
use fimbria_pipeline::stages::load::Load;
use fimbria_pipeline::stages::sticks::{Resume, Sticks as SticksStage, SticksParameters};
use fimbria_pipeline::{Named, OutputFolder, Stage};
use fimbria_sticks::{Diffusivity, Noise, Offset, Relevance};

use crate::args::{DeviceArgs, OutputArgs, SubjectArgs, ThreadArgs, choice};
use crate::commands::processes::run_together;
use crate::console::Console;
use crate::failure::Failure;

/// Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx)
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Sticks {
    /// Diffusion-weighted series, 4-D
    #[arg(value_name = "DWI")]
    dwi: PathBuf,

    /// The model of diffusivity, by FSL's number
    #[arg(long, value_name = "MODEL", default_value = "2", value_parser = choice::<Diffusivity>())]
    model: Named<Diffusivity>,

    /// Fibres per voxel, 1 to 4
    #[arg(long, visible_alias = "nf", value_name = "N", default_value_t = 3)]
    fibres: usize,

    /// Fractions that tend to 0 where the data do not ask for the fibre (automatic relevance
    /// determination)
    #[arg(long, value_name = "WHICH", default_value = "further")]
    #[arg(value_parser = choice::<Relevance>())]
    ard: Named<Relevance>,

    /// How strongly: the prior is f^-FUDGE
    #[arg(long, value_name = "FUDGE", default_value_t = 1.0)]
    fudge: f64,

    /// How noise enters
    #[arg(long, value_name = "NOISE", default_value = "gaussian", value_parser = choice::<Noise>())]
    noise: Named<Noise>,

    /// A part of the signal that no weighting attenuates
    #[arg(long, value_name = "PRIOR", default_value = "none", value_parser = choice::<Offset>())]
    f0: Named<Offset>,

    /// Mean and standard deviation of the prior of the zeppelins' ratio (model 3)
    #[arg(long, value_name = "MEAN,STD", default_value = "0.13,0.03", value_parser = two_numbers)]
    ratio: [f64; 2],

    /// Jumps before the first sample
    #[arg(long, visible_alias = "bi", value_name = "N", default_value_t = 1000)]
    burn_in: u32,

    /// Jumps from then on
    #[arg(long, visible_alias = "nj", value_name = "N", default_value_t = 1250)]
    jumps: u32,

    /// Keep every Nth of them as a sample
    #[arg(long, visible_alias = "se", value_name = "N", default_value_t = 25)]
    sample_every: u32,

    /// Adapt the proposals every N jumps
    #[arg(long, value_name = "N", default_value_t = 40)]
    adapt_every: u32,

    /// Seed of the random numbers; the same seed gives the same samples
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    rng_seed: u64,

    /// Write the samples in half precision, in one file that only fimbria reads, in place of the
    /// merged images
    #[arg(long, help_heading = "Output")]
    half: bool,

    /// Take up what an interrupted run left in OUT
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    output: OutputArgs,

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

/// Two numbers with a comma between.
fn two_numbers(text: &str) -> Result<[f64; 2], String> {
    match text.split_once(',').map(|(a, b)| (a.trim().parse(), b.trim().parse())) {
        Some((Ok(a), Ok(b))) => Ok([a, b]),
        _ => Err("give two numbers: 0.13,0.03".to_owned()),
    }
}

impl Sticks {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            dwi,
            model,
            fibres,
            ard,
            fudge,
            noise,
            f0,
            ratio,
            burn_in,
            jumps,
            sample_every,
            adapt_every,
            rng_seed,
            half,
            resume,
            subject,
            output,
            threads,
            devices,
        } = self;
        let parameters = SticksParameters {
            model,
            fibres,
            ard,
            fudge,
            noise,
            f0,
            ratio,
            burn_in,
            jumps,
            sample_every,
            adapt_every,
            rng_seed,
            half,
            ..SticksParameters::default()
        };
        parameters.options().check().map_err(|error| Failure::usage(error.to_string()))?;
        let kept = output.path().join(OutputFolder::KEPT);
        let keep = Some(kept.clone());
        let resume = if resume { Resume::Yes } else { Resume::No };
        let sticks = SticksStage { parameters, extension: "nii.gz", keep, resume };
        let load = Load { files: subject.files(dwi), found: None };
        let stages: [&dyn Stage; 2] = [&load, &sticks];
        let folder = |planned: &[String]| output.folder(planned, console);
        let world = World::start();
        run_together("sticks", &stages, &world, &folder, Some(&kept), threads, devices, console)
    }
}
