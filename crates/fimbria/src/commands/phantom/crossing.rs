//! `fimbria phantom crossing`

use clap::Args;
use fimbria_phantoms::{Acquisition, CrossingSpec, ShellSpec};
use fimbria_pipeline::stages::head::Shell;
use fimbria_pipeline::stages::phantom::PhantomSpec;

use super::{HeadGrid, Making, snr};
use crate::console::Console;
use crate::failure::Failure;

/// A head with bundles that run straight, bend, and cross at 30 to 90 degrees
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Crossing {
    #[command(flatten)]
    grid: HeadGrid,

    /// Number of unweighted volumes
    #[arg(long, value_name = "N", default_value_t = 6)]
    b0s: usize,

    /// Shells, each b in s/mm² and number of directions
    #[arg(long, value_name = "B:N,...", default_value = "1000:30,2000:60")]
    #[arg(value_delimiter = ',', value_parser = shell)]
    shells: Vec<ShellSpec>,

    /// Unweighted white-matter signal over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "30", value_parser = snr)]
    snr: f64,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    rng_seed: u64,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
  dwi               the series, with dwi.bval and dwi.bvec (in its header for .mif)
  mask              voxels at least half of which are brain (uint8)
  truth/dirs        9 volumes: x y z of up to three fibres, largest fraction first, 0 = none
  truth/fractions   5 volumes: signal fractions at b = 0 of three fibres, grey matter, fluid
  truth/count       number of fibres
  truth/S0          signal without weighting and noise
  truth/angle       angle between the two largest fibres, degrees; NaN with fewer than two
  truth/FA, MD      of voxels of a single compartment; NaN elsewhere
  truth/V1          3 volumes: direction in voxels of a single fibre; NaN elsewhere
  truth/MK          mean kurtosis of the mixture at b = 0, a pure number; 0 outside the mask
  truth/tracts.trx  streamlines 3 mm apart, a group for each bundle, and as groups false01, false02
                    and so on connections that are not there, for `fimbria life` to find
  run.json          parameters, machine, times

Units:
  b in s/mm², diffusivities in mm²/s, angles in degrees.

Order and frame:
  Directions of the truth are in scanner RAS axes; dwi.bvec is in FSL's frame. Volumes are the
  unweighted ones, spread evenly, and the shells in the order given.

The same parameters give the same bits on every machine that fuses multiply-add, for any number of
threads.";

impl Crossing {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { grid, b0s, shells, snr, rng_seed, making } = self;
        let spec = CrossingSpec {
            placement: grid.placement(),
            acquisition: Acquisition { b0s, shells },
            snr,
            seed: rng_seed,
            ..CrossingSpec::default()
        };
        making.make(PhantomSpec::Crossing(spec), console)
    }
}

/// `1000:30`
fn shell(text: &str) -> Result<ShellSpec, String> {
    text.parse::<Shell>().map(|shell| shell.0)
}
