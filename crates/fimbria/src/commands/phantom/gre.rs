//! `fimbria phantom gre`

use clap::Args;
use fimbria_phantoms::{GreSpec, Susceptibilities};
use fimbria_pipeline::stages::gre::GrePhantom;

use super::{HeadGrid, Making, snr};
use crate::console::Console;
use crate::failure::Failure;

/// The head of `phantom crossing` in a gradient-echo scan: phase and magnitude of a known field
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Gre {
    #[command(flatten)]
    grid: HeadGrid,

    /// Echo times in milliseconds
    #[arg(long, value_name = "MS", num_args = 1.., default_values_t = [4.0, 12.0, 20.0, 28.0])]
    te: Vec<f64>,

    /// Strength of B0, tesla; it is along scanner z
    #[arg(long, value_name = "TESLA", default_value_t = 3.0)]
    b0: f64,

    /// Mean susceptibility of fibres, ppm relative to fluid
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().fibre)]
    #[arg(allow_negative_numbers = true)]
    fibre: f64,

    /// Susceptibility along fibres less that across them, ppm
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().fibre_anisotropy)]
    #[arg(allow_negative_numbers = true)]
    anisotropy: f64,

    /// Susceptibility of grey matter, ppm relative to fluid
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().grey)]
    #[arg(allow_negative_numbers = true)]
    grey: f64,

    /// Susceptibility of the air below the brain, ppm; 0 for no background
    #[arg(long, value_name = "PPM", default_value_t = Susceptibilities::default().air)]
    #[arg(allow_negative_numbers = true)]
    air: f64,

    /// Make the field on a grid as many times finer along each axis, 1 to 4
    #[arg(long, value_name = "TIMES", default_value_t = 2)]
    finer: usize,

    /// White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "100", value_parser = snr)]
    snr: f64,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    rng_seed: u64,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
  phase              phase of every echo in radians, wrapped; phase.json has echo times and B0
  magnitude          magnitude of every echo
  mask               voxels at least half of which are brain (uint8)
  truth/chi          mean of the susceptibility tensor, 0 outside the mask
  truth/local_field  field of what is in the head
  truth/total_field  the same with the air below it
  truth/fibre        3 volumes: direction of the largest fibre, as long as its fraction: what
                     `fimbria qsm --v1` takes
  run.json           parameters, machine, times

Units:
  Susceptibility and fields in ppm (SI), fields relative to B0, phase in radians.

Order and frame:
  Directions are in scanner RAS axes, B0 along scanner z; a paramagnetic source raises the phase
  along B0. With the options of `phantom crossing` the anatomy is the same voxel by voxel.

The field is that of a susceptibility tensor at every point of a finer grid, by Fourier transform,
averaged over each voxel; that of the air is in closed form. Neither uses the spheres and cylinders
that `fimbria qsm` explains a field by.";

impl Gre {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { grid, te, b0, fibre, anisotropy, grey, air, finer, snr, rng_seed, making } =
            self;
        let spec = GreSpec {
            placement: grid.placement(),
            susceptibilities: Susceptibilities { fibre, fibre_anisotropy: anisotropy, grey, air },
            b0_tesla: b0,
            echo_times: te.iter().map(|ms| 1e-3 * ms).collect(),
            snr,
            seed: rng_seed,
            finer,
        };
        making.run(|format| Box::new(GrePhantom { spec, format }), console)
    }
}
