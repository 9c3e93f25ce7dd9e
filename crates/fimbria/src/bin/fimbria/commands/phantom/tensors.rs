//! `fimbria phantom tensors`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tensors::{TENSORS_WRITES, TensorsOptions, TensorsPhantom};

use super::Making;
use crate::console::Console;
use crate::failure::Failure;

/// A sheet of higher-order tensors with one or two fibres per voxel
#[derive(Debug, Args)]
#[command(add = Writes(TENSORS_WRITES), after_long_help = HELP)]
pub(crate) struct Tensors {
    #[command(flatten)]
    options: TensorsOptions,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
{outputs}

Units:
  Angles in degrees; the form has none.

Order and frame:
  Unique entries in lexicographic order of their indices (1111 1112 1113 1122 ...), not multiplied
  by their multiplicities. Entries and directions are in scanner RAS axes.

References:
  After the test set of Ballard, Kolda, Plantenga 2011, Efficiently computing tensor eigenvalues
  on a GPU: 32 x 32 voxels of order 4.";

impl Tensors {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, making } = self;
        let spec = options.spec();
        making.run(|format| Box::new(TensorsPhantom { spec, format }), console)
    }
}
