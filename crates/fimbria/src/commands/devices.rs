//! `fimbria devices`

use std::fmt::Write as _;

use clap::Args;
use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{
    self, Device, DeviceInfo, DeviceMeasurement, DeviceOptions, Inventory, list,
};
use fimbria_compute::measure::{self, CpuMeasurement};
use fimbria_compute::{SimdLevel, Workers};
use fimbria_image::counted;
use fimbria_pipeline::ByteSize;

use crate::args::ThreadArgs;
use crate::console::Console;
use crate::failure::Failure;

/// List the devices fimbria can use, and prove that they compute correctly
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Devices {
    /// Run every kernel on every device and compare it with its reference on the CPU
    #[arg(long)]
    check: bool,

    /// Measure what the processor and every device attain
    #[arg(long)]
    measure: bool,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
  A table on standard output: the processor, every device with the name by which --device selects
  it, and what is missing to use more. With --check a line per kernel and device: how many results
  were compared, the largest difference, and the largest that rounding explains (0: equal to the
  bit). 'not run' is what a device without double precision leaves to the CPU. One that fails, or
  has no result to compare, makes the exit code 1. With --measure, what memory, caches and
  arithmetic attain on one thread, on all, and on every device: the floors to hold other times
  against.

Units:
  Memory in GiB; bandwidth in GB/s (10^9 bytes); arithmetic in GFLOP/s of f32, a multiply-add
  counted as two. Differences are relative to the scale of the results, or number of unequal results
  where the tolerance is 0.";

impl Devices {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { check, measure, threads } = self;
        let inventory = list();
        console.print(&described(&inventory))?;
        if measure {
            measure_all(&inventory, &threads.start()?, console)?;
        }
        if check { check_all(&inventory, console) } else { Ok(()) }
    }
}

fn described(inventory: &Inventory) -> String {
    let mut text = String::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(text, "cpu        {}, {:?}", counted(cores, "thread"), SimdLevel::best());
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

fn measure_all(inventory: &Inventory, workers: &Workers, console: &Console) -> Result<(), Failure> {
    let one = Workers::new(1)?;
    let more = (workers.threads() > 1).then_some(workers);
    for workers in std::iter::once(&one).chain(more) {
        console.print(&processor(&measure::cpu(workers)))?;
    }
    for info in &inventory.devices {
        let device = Device::open(info, &DeviceOptions::default())?;
        console.print(&format!("\n{} ({})\n", info.name, info.runtime))?;
        console.print(&attained(&device::measure(&device)?))?;
    }
    Ok(())
}

fn processor(measured: &CpuMeasurement) -> String {
    let CpuMeasurement { threads, memory_read, memory_triad, cache_read, multiply_add } = measured;
    let mut text = format!("\ncpu, {}\n", counted(*threads, "thread"));
    let mut line = |what: String, per_second: f64, unit: &str| {
        let _ = writeln!(text, "  {what:<28}{:>10.1} {unit}", per_second * 1e-9);
    };
    line("memory, read".to_owned(), memory_read.bytes_per_second(), "GB/s");
    line("memory, a = b + s c".to_owned(), memory_triad.bytes_per_second(), "GB/s");
    for cache in cache_read {
        let what = format!("{} a thread, read", ByteSize(cache.working_set as u64));
        line(what, cache.bytes_per_second(), "GB/s");
    }
    for rate in multiply_add {
        let what = format!("multiply-add, {:?}", rate.level);
        line(what, rate.operations_per_second(), "GFLOP/s");
    }
    text
}

fn attained(measured: &DeviceMeasurement) -> String {
    let DeviceMeasurement {
        memory_triad,
        cache_read,
        local_read,
        multiply_add,
        upload,
        download,
        launch,
    } = measured;
    let mut text = String::new();
    for (what, attained, unit) in [
        ("memory, a = b + s c", memory_triad, "GB/s"),
        ("cache, read", cache_read, "GB/s"),
        ("local memory, read", local_read, "GB/s"),
        ("multiply-add", multiply_add, "GFLOP/s"),
        ("host to device", upload, "GB/s"),
        ("device to host", download, "GB/s"),
    ] {
        let _ = writeln!(text, "  {what:<28}{:>10.1} {unit}", attained.per_second() * 1e-9);
    }
    let _ = writeln!(text, "  {:<28}{:>10.1} µs", "empty launch", 1e6 / launch.per_second());
    text
}

fn check_all(inventory: &Inventory, console: &Console) -> Result<(), Failure> {
    let mut failed = 0;
    for info in &inventory.devices {
        let device = Device::open(info, &DeviceOptions::default())?;
        console.print(&format!("\n{} ({})\n", info.name, info.runtime))?;
        for check in every_check() {
            let report = check.run(&device, Extent::Full)?;
            let verdict = match (&report.comparison, report.passed()) {
                (None, _) => "not run",
                (_, true) => "ok",
                (_, false) => "FAILED",
            };
            failed += usize::from(!report.passed());
            let found = match report.comparison {
                None => "the device has no double precision: the CPU does this".to_owned(),
                Some(Comparison { results, max_error, tolerance }) => {
                    format!(
                        "{results:>9} results, error {max_error:.2e}, tolerance {tolerance:.2e}"
                    )
                }
            };
            console.print(&format!("  {verdict:<8}{:<44}{found}\n", check.name()))?;
        }
    }
    if failed == 0 { Ok(()) } else { Err(ChecksFailed(failed).into()) }
}

/// The checks of all crates, lowest first.
fn every_check() -> impl Iterator<Item = Check> {
    let crates = [
        fimbria_compute::checks,
        fimbria_tensors::checks,
        fimbria_fitting::checks,
        fimbria_models::checks,
        fimbria_sticks::checks,
        fimbria_life::checks,
        fimbria_tracking::checks,
        fimbria_qsm::checks,
        fimbria_bench::checks,
    ];
    crates.into_iter().flat_map(|checks| checks())
}

/// Kernels that do not compute what they should.
#[derive(Debug, thiserror::Error)]
#[error("{0} checks failed: do not trust results of that device")]
struct ChecksFailed(usize);
