//! `fimbria devices`

mod check;
mod measure;

use std::fmt::Write as _;

use clap::Args;
use fimbria_compute::SimdLevel;
use fimbria_compute::device::{DeviceInfo, Inventory, Selection, SelectionError, list};
use fimbria_image::counted;
use fimbria_pipeline::ByteSize;
use serde_json::{Value, json};

use self::check::{ChecksFailed, check_all};
use self::measure::measure_all;
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

    /// Only these devices: gpu, gpu:0,1 or opencl:0
    #[arg(long, value_name = "DEVICE", value_parser = selection)]
    device: Option<Selection>,

    /// Of the checks, those whose name has this in it
    #[arg(long, value_name = "TEXT", requires = "check")]
    only: Option<String>,

    /// Print one JSON object in place of tables
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
  A table on standard output: the processor, every device with the name by which --device selects
  it, and what is missing to use more. With --check a line per kernel and device: how many results
  were compared, the largest difference, and the largest that rounding explains (0: equal to the
  bit). 'not run' is what a device without double precision leaves to the CPU, or what one with
  little memory goes without. One that fails, that the device refuses or that has no result to
  compare makes the exit code 1; the others are run all the same. With --measure, what memory,
  caches and arithmetic attain on one thread, on all, and on every device: the floors to hold other
  times against. With --json the same as one object: cpu, devices (name, runtime, driver,
  memory_bytes, compute_units, checks, measured) and missing.

Units:
  Memory in GiB; bandwidth in GB/s (10^9 bytes); arithmetic in GFLOP/s of f32, a multiply-add
  counted as two. Differences are relative to the scale of the results, or number of unequal results
  where the tolerance is 0.";

impl Devices {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { check, measure, device, only, json, threads } = self;
        let inventory = list();
        let asked_for = device.map(|selection| selection.choose(&inventory)).transpose()?;
        let chosen = asked_for.as_ref().unwrap_or(&inventory.devices);
        let mut output = Output { console, json: json.then(|| as_json(&inventory, chosen)) };
        output.text(|| described(&inventory, asked_for.as_deref()))?;
        if measure {
            measure_all(chosen, &threads.start()?, &mut output)?;
        }
        let failed = match check {
            true => check_all(chosen, only.as_deref(), &mut output)?,
            false => 0,
        };
        output.end()?;
        if failed == 0 { Ok(()) } else { Err(ChecksFailed(failed).into()) }
    }
}

/// What is printed: tables as they come, or one object at the end.
struct Output<'a> {
    console: &'a Console,
    json: Option<Value>,
}

impl Output<'_> {
    fn text(&self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.json.is_none() {
            self.console.print(&text())?;
        }
        Ok(())
    }

    /// Adds to what the object says of a device.
    fn of_device(&mut self, index: usize, what: &str, value: Value) {
        if let Some(json) = &mut self.json {
            json["devices"][index][what] = value;
        }
    }

    fn end(self) -> Result<(), Failure> {
        if let Some(json) = self.json {
            self.console.print(&format!("{json:#}\n"))?;
        }
        Ok(())
    }
}

fn as_json(inventory: &Inventory, chosen: &[DeviceInfo]) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let devices: Vec<Value> = chosen
        .iter()
        .map(|info| {
            json!({
                "name": info.name,
                "runtime": info.runtime.to_string(),
                "driver": info.driver,
                "memory_bytes": info.memory_bytes,
                "compute_units": info.compute_units,
            })
        })
        .collect();
    let missing: Vec<String> = inventory.missing.iter().map(ToString::to_string).collect();
    json!({
        "cpu": {"threads": cores, "simd": format!("{:?}", SimdLevel::best())},
        "devices": devices,
        "missing": missing,
    })
}

fn selection(text: &str) -> Result<Selection, String> {
    text.parse().map_err(|error: SelectionError| error.to_string())
}

fn described(inventory: &Inventory, asked_for: Option<&[DeviceInfo]>) -> String {
    let mut text = String::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(text, "cpu        {}, {:?}", counted(cores, "thread"), SimdLevel::best());
    let is_chosen = |(_, info): &(usize, &DeviceInfo)| {
        asked_for.is_none_or(|asked_for| asked_for.contains(info))
    };
    for (index, info) in inventory.gpus().enumerate().filter(is_chosen) {
        let _ = writeln!(text, "gpu:{index:<6} {}", line(info));
    }
    for (index, info) in inventory.opencl.iter().enumerate().filter(is_chosen) {
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
