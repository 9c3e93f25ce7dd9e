//! `fimbria tract sample`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{SAMPLE_WRITES, SampleOptions, SampleTracts};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Sample maps along each streamline: mean, median, least, largest, at its ends or at each point
#[derive(Debug, Args)]
#[command(add = Writes(SAMPLE_WRITES), after_long_help = HELP)]
pub(crate) struct SampleCommand {
    #[command(flatten)]
    options: SampleOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  Tractograms larger than memory pass through.

The mean is by length: the value at a point stands for half of the pieces on both its sides. The
median is of the points, whatever lies between them; with --look-up voxels half of the length lies
on each side of it (that of tcksample -precise is another). All others are those of MRtrix3's
tcksample -stat_tck; --look-up nearest is -nointerp, voxels -precise.

Units:
  Those of the maps.

Order and frame:
  Streamlines keep their order and their place in the scanner (RAS); maps are looked up there, each
  by its own header. Where a map ends, or is no finite number, there is no value.";

impl SampleCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        let sample = SampleTracts::new(options, output.path().clone()).map_err(Failure::Work)?;
        let folder = |planned: &[String]| output.file(planned, console);
        let record = run_on_threads("tract sample", &[&sample], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
