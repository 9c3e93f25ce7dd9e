//! `fimbria connectome`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::connectome::{CONNECTOME_WRITES, CountConnections};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Count the streamlines between the regions of a label image
#[derive(Debug, Args)]
#[command(add = Writes(CONNECTOME_WRITES), after_long_help = HELP)]
pub(crate) struct ConnectomeCommand {
    #[command(flatten)]
    count: CountConnections,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs (comma-separated values, one row and column per label, symmetric but for --upper):
{outputs}

Units:
  Lengths in millimetres; means in the units of their maps.

Order and frame:
  Ends and voxels are compared in scanner RAS millimetres. A streamline counts where both ends have
  a label; from a region to itself on the diagonal. The defaults are those of MRtrix3's
  tck2connectome with -symmetric; --per-length and --per-volume are -scale_invlength and
  -scale_invnodevol, --hollow is -zero_diagonal, --assignments -out_assignments, --of-edge
  -stat_edge, and --map is tcksample -stat_tck mean with tck2connectome -scale_file -stat_edge
  mean. Maps are looked up between voxels (trilinear); points outside do not count.";

impl ConnectomeCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { count, output, threads } = self;
        let folder = |planned: &[String]| output.folder(planned, console);
        let record =
            run_on_threads("connectome", &[&count.with_table_beside()], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
