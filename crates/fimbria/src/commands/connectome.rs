//! `fimbria connectome`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::stages::connectome::CountConnections;
use fimbria_streamlines::connectome::Assignment;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Count the streamlines between the regions of a label image
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct ConnectomeCommand {
    /// Tractogram: .tck, .trk, .trx or a TRX folder
    tractogram: PathBuf,

    /// Image of labels: whole numbers, 0 is background
    labels: PathBuf,

    /// How far the nearest labelled voxel may be from an end, mm
    #[arg(long, value_name = "MM", default_value_t = 4.0, conflicts_with = "exact_label")]
    radius: f64,

    /// Take the label of the voxel that holds the end, and no other
    #[arg(long)]
    exact_label: bool,

    /// Weight of each streamline: a text file of numbers, or the name of the tractogram's own data
    #[arg(long, value_name = "FILE|NAME")]
    weights: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs (comma-separated values, symmetric, one row and column per label):
  weights.csv    number of streamlines, or with --weights the sum of their weights
  lengths.csv    their (weighted) mean length, 0 where there are none
  labels.txt     the label of each row, ascending
  run.json       inputs with hashes, parameters, machine, times, how many were assigned

Units:
  Millimetres.

Order and frame:
  Ends and voxels are compared in scanner RAS millimetres. A streamline counts where both ends have a
  label; from a region to itself on the diagonal. The defaults are those of MRtrix3's
  tck2connectome with -symmetric.";

impl ConnectomeCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { tractogram, labels, radius, exact_label, weights, output, threads } = self;
        let assignment = match exact_label {
            true => Assignment::ExactLabel,
            false => Assignment::RadialSearch { radius_mm: radius },
        };
        let count = CountConnections { tractogram, labels, assignment, weights };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("connectome", &count, &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
