//! `fimbria phantom protocol`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::phantom::PhantomSpec;
use fimbria_pipeline::stages::protocol::{PROTOCOL_WRITES, ProtocolOptions};

use super::Making;
use crate::console::Console;
use crate::failure::Failure;

/// A fixed brain under the protocol of Palombo et al.: 10 b-values up to 8000 s/mm² along 30
/// directions
#[derive(Debug, Args)]
#[command(add = Writes(PROTOCOL_WRITES), after_long_help = HELP)]
pub(crate) struct Protocol {
    #[command(flatten)]
    options: ProtocolOptions,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
{outputs}

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
        let Self { options, making } = self;
        let spec = options.spec();
        making.make(PhantomSpec::Protocol(spec), console)
    }
}
