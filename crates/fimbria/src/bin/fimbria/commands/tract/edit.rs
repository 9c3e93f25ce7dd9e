//! `fimbria tract edit`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{EDIT_WRITES, EditOptions, EditTracts};
use fimbria_streamlines::Format;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Choose streamlines by regions, length, weight or at random, join tractograms, and make points anew
#[derive(Debug, Args)]
#[command(add = Writes(EDIT_WRITES), after_long_help = HELP)]
pub(crate) struct EditCommand {
    #[command(flatten)]
    options: EditOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  Data per point and per streamline and groups go along where the format has them. Tractograms
  larger than memory pass through.

Units:
  Millimetres.

Order and frame:
  Streamlines keep their order and their place in the scanner (RAS). They are looked up in the
  voxels of each region by its own header. A region is passed where a point lies in it; where
  points are farther apart than its voxels, what lies between counts too. All that is asked for is
  judged of the streamlines as they were read; points are made anew after that.

References:
  Presseau C, Jodoin PM, Houde JC, Descoteaux M. NeuroImage 109, 72 (2015)    --compress
  Knuth DE. The Art of Computer Programming 2, 3.4.2                          --number";

impl EditCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        options.check().map_err(Failure::usage)?;
        let to = output.path().clone();
        let edit = EditTracts { options, format: Format::from_name(&to)?, to };
        let folder = |planned: &[String]| output.file(planned, console);
        let record = run_on_threads("tract edit", &[&edit], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
