//! `fimbria regions`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::regions::{REGIONS_WRITES, RegionsOptions, SumUpRegions};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Sum maps up over the regions of a segmentation: mean, median, spread and percentiles
#[derive(Debug, Args)]
#[command(add = Writes(REGIONS_WRITES), after_long_help = HELP)]
pub(crate) struct RegionsCommand {
    #[command(flatten)]
    regions: RegionsOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

Units:
  Those of each map; volumes in ml, of the voxels of the map.

Order and frame:
  Regions by their number, of each the maps in the order given. A map on another grid than the
  segmentation keeps its own: each of its voxels has the label of the nearest voxel in scanner RAS
  millimetres. Voxels that the status map beside a map says were not fitted, and values that are
  not finite, count in `voxels` but not in `n` or in any statistic. Percentiles lie between two
  values by their distance (as numpy's).";

impl RegionsCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { regions, output, threads } = self;
        let folder = |planned: &[String]| output.folder(planned, console);
        let sum_up = SumUpRegions::new(regions);
        let record = run_on_threads("regions", &[&sum_up], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
