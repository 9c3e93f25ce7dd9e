//! `fimbria phantom crossing`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::crossing::{CROSSING_WRITES, CrossingOptions};
use fimbria_pipeline::stages::phantom::PhantomSpec;

use super::Making;
use crate::console::Console;
use crate::failure::Failure;

/// A head with bundles that run straight, bend, and cross at 30 to 90 degrees
#[derive(Debug, Args)]
#[command(add = Writes(CROSSING_WRITES), after_long_help = HELP)]
pub(crate) struct Crossing {
    #[command(flatten)]
    options: CrossingOptions,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
{outputs}

Units:
  b in s/mm², diffusivities in mm²/s, angles in degrees.

Order and frame:
  Directions of the truth are in scanner RAS axes; dwi.bvec is in FSL's frame. Volumes are the
  unweighted ones, spread evenly, and the shells in the order given.

The same parameters give the same bits on every machine that fuses multiply-add, for any number of
threads.";

impl Crossing {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, making } = self;
        let spec = options.spec();
        making.make(PhantomSpec::Crossing(spec), console)
    }
}
