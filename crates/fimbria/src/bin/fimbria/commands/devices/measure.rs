//! What the processor and devices attain.

use std::fmt::Write as _;

use fimbria_compute::Workers;
use fimbria_compute::device::{self, Device, DeviceInfo, DeviceMeasurement, DeviceOptions};
use fimbria_compute::measure::{self, CpuMeasurement};
use fimbria_image::counted;
use fimbria_pipeline::ByteSize;
use serde_json::{Value, json};

use super::Output;
use crate::failure::Failure;

pub(super) fn measure_all(
    chosen: &[DeviceInfo],
    workers: &Workers,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let one = Workers::new(1)?;
    let more = (workers.threads() > 1).then_some(workers);
    for workers in std::iter::once(&one).chain(more) {
        let measured = measure::cpu(workers);
        output.text(|| processor(&measured))?;
        if let Some(json) = &mut output.json {
            let name = counted(workers.threads(), "thread");
            json["cpu"]["measured"][name] = rates(&of_processor(&measured));
        }
    }
    for (index, info) in chosen.iter().enumerate() {
        output.text(|| format!("\n{} ({})\n", info.name, info.runtime))?;
        let measured = Device::open(info, &DeviceOptions::default())
            .and_then(|device| device::measure(&device));
        match measured {
            Ok(measured) => {
                output.text(|| attained(&measured))?;
                output.of_device(index, "measured", rates(&of_device(&measured)));
            }
            // The others are measured all the same.
            Err(error) => {
                output.text(|| format!("  {error}\n"))?;
                output.of_device(index, "measured", json!({"error": error.to_string()}));
            }
        }
    }
    Ok(())
}

/// What was measured, how often a second, and the unit that it is counted in.
type Rate = (String, f64, &'static str);

fn rates(rates: &[Rate]) -> Value {
    let named = |(what, per_second, unit): &Rate| {
        (what.clone(), json!({"per_second": per_second, "unit": unit}))
    };
    Value::Object(rates.iter().map(named).collect())
}

fn of_processor(measured: &CpuMeasurement) -> Vec<Rate> {
    let CpuMeasurement { memory_read, memory_triad, cache_read, multiply_add, .. } = measured;
    let mut rates = vec![
        ("memory, read".to_owned(), memory_read.bytes_per_second(), "B"),
        ("memory, a = b + s c".to_owned(), memory_triad.bytes_per_second(), "B"),
    ];
    for cache in cache_read {
        let what = format!("{} a thread, read", ByteSize(cache.working_set as u64));
        rates.push((what, cache.bytes_per_second(), "B"));
    }
    for rate in multiply_add {
        let what = format!("multiply-add, {:?}", rate.level);
        rates.push((what, rate.operations_per_second(), "FLOP"));
    }
    rates
}

fn of_device(measured: &DeviceMeasurement) -> Vec<Rate> {
    let DeviceMeasurement {
        memory_triad,
        cache_read,
        local_read,
        multiply_add,
        upload,
        download,
        launch,
    } = measured;
    let rates = [
        ("memory, a = b + s c", memory_triad, "B"),
        ("cache, read", cache_read, "B"),
        ("local memory, read", local_read, "B"),
        ("multiply-add", multiply_add, "FLOP"),
        ("host to device", upload, "B"),
        ("device to host", download, "B"),
        ("empty launch", launch, "launch"),
    ];
    rates.map(|(what, rate, unit)| (what.to_owned(), rate.per_second(), unit)).to_vec()
}

fn processor(measured: &CpuMeasurement) -> String {
    format!("\ncpu, {}\n{}", counted(measured.threads, "thread"), table(&of_processor(measured)))
}

fn attained(measured: &DeviceMeasurement) -> String {
    table(&of_device(measured))
}

fn table(rates: &[Rate]) -> String {
    let mut text = String::new();
    for (what, per_second, unit) in rates {
        let _ = match *unit {
            "launch" => writeln!(text, "  {what:<28}{:>10.1} µs", 1e6 / per_second),
            unit => writeln!(text, "  {what:<28}{:>10.1} G{unit}/s", per_second * 1e-9),
        };
    }
    text
}
