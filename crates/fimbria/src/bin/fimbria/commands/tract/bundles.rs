//! `fimbria tract bundles`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{BUNDLES_WRITES, BundleOptions, FindBundles};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Find named bundles by their regions and lengths
#[derive(Debug, Args)]
#[command(add = Writes(BUNDLES_WRITES), after_long_help = HELP)]
pub(crate) struct BundlesCommand {
    #[command(flatten)]
    options: BundleOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  A bundle without streamlines is an empty file. A streamline may be of several bundles.

A file of bundles, in the words of `fimbria tract edit`:
  [CST_left]
  include = [\"peduncle_left.nii.gz\", \"aparc.nii.gz:1022,1024\"]
  exclude = [\"midline.nii.gz\"]
  min_length = 60

  [fornix]
  ends_in = [\"aparc.nii.gz:Left-Hippocampus\", \"10,2,-8,6\"]

Units:
  Millimetres and mm³. The volume is that of the voxels that streamlines pass.

Order and frame:
  Streamlines keep their order and their place in the scanner (RAS). Regions lie in the same space,
  or in another one, such as that of a template: --transform then names what brings images of that
  space onto the data.";

impl BundlesCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        let find = FindBundles::new(options).map_err(Failure::Work)?;
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("tract bundles", &[&find], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
