//! `fimbria devices`

use std::fmt::Write as _;

use clap::Args;
use fimbria_compute::check::Extent;
use fimbria_compute::device::{Device, DeviceInfo, DeviceOptions, Inventory, list};
use fimbria_compute::{SimdLevel, checks};
use fimbria_pipeline::ByteSize;

use crate::console::Console;
use crate::failure::Failure;

/// List the devices fimbria can use, and prove that they compute correctly
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Devices {
    /// Run every kernel on every device and compare it with its reference on the CPU
    #[arg(long)]
    check: bool,
}

const HELP: &str = "\
Outputs:
  A table on standard output: the processor, every device with the name by which --device selects
  it, and what is missing to use more. With --check a line per kernel and device: how many results
  were compared, the largest difference, and the largest that rounding explains (0: equal to the
  bit). One that fails makes the exit code 1.

Units:
  Memory in GiB. Differences are relative to the scale of the results, or number of unequal results
  where the tolerance is 0.";

impl Devices {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { check } = self;
        let inventory = list();
        console.print(&described(&inventory))?;
        if check { check_all(&inventory, console) } else { Ok(()) }
    }
}

fn described(inventory: &Inventory) -> String {
    let mut text = String::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(text, "cpu        {cores} threads, {:?}", SimdLevel::best());
    for (index, info) in inventory.gpus().enumerate() {
        let _ = writeln!(text, "gpu:{index:<6} {}", line(info));
    }
    for (index, info) in inventory.opencl.iter().enumerate() {
        let _ = writeln!(text, "opencl:{index:<3} {}", line(info));
    }
    for missing in &inventory.missing {
        let _ = writeln!(text, "missing    {missing}");
    }
    text
}

fn line(info: &DeviceInfo) -> String {
    let DeviceInfo { name, runtime, driver, memory_bytes, compute_units, .. } = info;
    let memory = ByteSize(*memory_bytes);
    format!("{name} ({runtime}, driver {driver}): {memory}, {compute_units} compute units")
}

fn check_all(inventory: &Inventory, console: &Console) -> Result<(), Failure> {
    let mut failed = 0;
    let everything = inventory.devices.iter();
    for info in everything {
        let device = Device::open(info, &DeviceOptions::default())?;
        console.print(&format!("\n{} ({})\n", info.name, info.runtime))?;
        for check in checks() {
            let report = check.run(&device, Extent::Full)?;
            let comparison = report.comparison;
            let verdict = if comparison.passed() { "ok" } else { "FAILED" };
            failed += usize::from(!comparison.passed());
            console.print(&format!(
                "  {verdict:<7}{:<44}{:>9} results, error {:.2e}, tolerance {:.2e}\n",
                check.name(),
                comparison.results,
                comparison.max_error,
                comparison.tolerance,
            ))?;
        }
    }
    if failed == 0 { Ok(()) } else { Err(ChecksFailed(failed).into()) }
}

/// Kernels that do not compute what they should.
#[derive(Debug, thiserror::Error)]
#[error("{0} checks failed: do not trust results of that device")]
struct ChecksFailed(usize);
