//! `fimbria phantom protocol`

use clap::Args;
use fimbria_phantoms::{PerDirection, Placement, ProtocolSpec};
use fimbria_pipeline::Named;
use fimbria_pipeline::stages::phantom::PhantomSpec;

use super::{Making, snr, three};
use crate::args::choice;
use crate::console::Console;
use crate::failure::Failure;

/// A fixed brain under the protocol of Palombo et al.: 10 b-values up to 8000 s/mm² along 30
/// directions
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Protocol {
    /// Law that the signal of every direction follows exactly
    #[arg(long, value_name = "LAW", default_value = "kurtosis")]
    #[arg(value_parser = choice::<PerDirection>())]
    law: Named<PerDirection>,

    /// Number of voxels along x, y, z
    #[arg(long, value_name = "NX,NY,NZ", default_value = "128,128,16")]
    #[arg(value_parser = three::<usize>)]
    size: [usize; 3],

    /// Voxel size in mm
    #[arg(long, value_name = "MM", default_value = "0.46875,0.46875,0.75")]
    #[arg(value_parser = three::<f64>)]
    voxel: [f64; 3],

    /// Unweighted white-matter signal over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "50", value_parser = snr)]
    snr: f64,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    rng_seed: u64,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
  dwi               the series of 305 volumes, with dwi.bval and dwi.bvec (in its header for .mif)
  mask              voxels at least half of which are brain (uint8)
  truth/dirs, fractions, count, S0   as in `fimbria phantom crossing`
  truth/D, K, MK    30 volumes each: diffusivity and kurtosis of every direction; mean of K
  truth/A, gamma, Mgamma   with --law stretched: A and gamma of every direction; mean of gamma
  run.json          parameters, machine, times

Units:
  b in s/mm², D in mm²/s; A in (mm²/s)^gamma.

Order and frame:
  5 unweighted volumes, then for each b-value, ascending, the 30 directions in the same order,
  which also is the order of the volumes of D, K, A and gamma. Directions of the truth are in
  scanner RAS axes; dwi.bvec is in FSL's frame.

Reference:
  Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion NMR
  parametric imaging";

impl Protocol {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { law, size, voxel, snr, rng_seed, making } = self;
        let default = ProtocolSpec::default();
        let spec = ProtocolSpec {
            placement: Placement { dims: size, voxel_mm: voxel, ..default.placement },
            law: law.0,
            snr,
            seed: rng_seed,
            ..default
        };
        making.make(PhantomSpec::Protocol(spec), console)
    }
}
