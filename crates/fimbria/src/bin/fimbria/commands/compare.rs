//! `fimbria compare`

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::compare::{COMPARE_WRITES, CompareMaps};
use serde_json::Value;

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Test two sets of maps against each other, voxel by voxel
#[derive(Debug, Args)]
#[command(add = Writes(COMPARE_WRITES), after_long_help = HELP)]
pub(crate) struct Compare {
    #[command(flatten)]
    compare: CompareMaps,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
    fimbria compare cpu_1.nii.gz cpu_2.nii.gz -o OUT -- gpu_1.nii.gz gpu_2.nii.gz

Outputs:
{outputs}

Units:
  None: z is a number of standard errors. Where both sets come from the same distribution Q is near
  1 (larger, of few runs); p says how often sets mixed of the same runs differ as much; the variance
  of a voxel is the mean of its own, pooled over both sets, and of the variance that its mean lets
  expect (counts vary as their mean, times a factor taken from the median over voxels).

Order and frame:
  All maps lie on one grid, that of the first.";

impl Compare {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { compare, output, threads } = self;
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("compare", &[&compare], &folder, threads, console)?;
        let number = |name: &str| record.results.get(name).and_then(Value::as_f64);
        let [voxels, q, mean, largest, a, b] =
            ["voxels", "Q", "mean_abs_z", "max_abs_z", "sum_A", "sum_B"]
                .map(|name| number(name).unwrap_or(f64::NAN));
        console.print(&format!(
            "voxels {voxels}  Q {q:.3}  mean |z| {mean:.3}  largest |z| {largest:.2}  sum {:+.4} %\n",
            100.0 * (b / a - 1.0)
        ))?;
        if let Some(verdict) = record.results.get("verdict").and_then(Value::as_str) {
            console.print(&format!("{verdict}\n"))?;
        }
        report(&record, output.path(), console);
        Ok(())
    }
}
