//! `fimbria phantom gre`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::gre::{GRE_WRITES, GreOptions, GrePhantom};

use super::Making;
use crate::console::Console;
use crate::failure::Failure;

/// The head of `phantom crossing` in a gradient-echo scan: phase and magnitude of a known field
#[derive(Debug, Args)]
#[command(add = Writes(GRE_WRITES), after_long_help = HELP)]
pub(crate) struct Gre {
    #[command(flatten)]
    options: GreOptions,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
{outputs}

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
        let Self { options, making } = self;
        let spec = options.spec();
        making.run(|format| Box::new(GrePhantom { spec, format }), console)
    }
}
