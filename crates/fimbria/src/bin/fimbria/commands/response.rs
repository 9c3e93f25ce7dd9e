//! `fimbria response`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::response::{MeanResponse, RESPONSE_WRITES, ResponseOptions};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::run_on_threads;
use crate::console::Console;
use crate::failure::Failure;

/// Make one response of those of a group, so that amounts of fibres compare between subjects
#[derive(Debug, Args)]
#[command(add = Writes(RESPONSE_WRITES), after_long_help = HELP)]
pub(crate) struct ResponseCommand {
    #[command(flatten)]
    options: ResponseOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  `fimbria fit fod --response` takes it, and --response-gm and --response-csf those of the other
  tissues, of which each is made by a call of its own. `fimbria bids ... group` makes all three.

Method:
  Each subject is brought to the mean brightness by the geometric mean over shells of the ratios of
  l = 0 terms, and all are averaged, as MRtrix3's responsemean does; --legacy averages alone.
  Shells are the same where b differs by less than scanners round it; those of the first are
  written.

Units:
  Those of the images.

Order and frame:
  Rows are shells, smallest b first; columns are l = 0, 2, 4 ... about the axis of the fibre.";

impl ResponseCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        let file = output.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mean = MeanResponse { options, file };
        let folder = |planned: &[String]| output.file(planned, console);
        run_on_threads("response", &[&mean], &folder, threads, console)?;
        Ok(())
    }
}
