//! `fimbria tract cluster`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::tract::{CLUSTER_WRITES, ClusterOptions, ClusterTracts};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Find streamlines that lie together (QuickBundles), and keep those of large clusters
#[derive(Debug, Args)]
#[command(add = Writes(CLUSTER_WRITES), after_long_help = HELP)]
pub(crate) struct ClusterCommand {
    #[command(flatten)]
    options: ClusterOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

Each streamline, in the order of the file, joins the cluster with the nearest centroid, where that
is nearer than --threshold, and begins one of its own otherwise. The distance of two streamlines is
the mean distance of their points, counted from whichever end it is less (MDF); the centroid is the
mean of the cluster's streamlines. The clusters are those of DIPY's QuickBundles with its defaults
but for the threshold.

Units:
  Millimetres.

Order and frame:
  Streamlines keep their order and their place in the scanner (RAS). A centroid runs the way of the
  first streamline of its cluster.

References:
  Garyfallidis E, Brett M, Correia MM, Williams GB, Nimmo-Smith I. Front. Neurosci. 6, 175 (2012)";

impl ClusterCommand {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads } = self;
        let cluster = ClusterTracts::new(options).map_err(Failure::Work)?;
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("tract cluster", &[&cluster], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
