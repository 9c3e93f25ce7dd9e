//! `fimbria tract clean`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{CLEAN_WRITES, CleanBundle, CleanOptions};
use fimbria_streamlines::Format;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Take streamlines out of a bundle that stray from its core or are too long
#[derive(Debug, Args)]
#[command(add = Writes(CLEAN_WRITES), after_long_help = HELP)]
pub(crate) struct CleanCommand {
    #[command(flatten)]
    options: CleanOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  run.json counts those too far from the core, those too long, and the rounds.

Each streamline has the same number of points, evenly spaced and counted in one direction. At
point k of all streamlines that are left, m is the mean place and C the covariance (over n); the
distance of a streamline from the core is Mahalanobis', d = sqrt((x - m)' C^-1 (x - m)). What is
farther than --distance at any point, or longer than the mean by more than --length standard
deviations, is left out; core and spread are found anew until nothing is left out. Of n
streamlines none can be farther than (n - 1) / sqrt(n): in bundles of fewer than 27 nothing is 5
from the core.

Units:
  Standard deviations, of lengths and of places. Streamlines are in millimetres.

Order and frame:
  Those kept stay as they are, in their order and their place in the scanner (RAS).

References:
  Yeatman JD, Dougherty RF, Myall NJ, Wandell BA, Feldman HM. PLoS ONE 7, e49790 (2012)";

impl CleanCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        let to = output.path().clone();
        let clean = CleanBundle { options, format: Format::from_name(&to)?, to };
        let folder = |planned: &[String]| output.file(planned, console);
        let record = run_on_threads("tract clean", &[&clean], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
