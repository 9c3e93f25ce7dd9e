//! What this machine attains: the rates that times are held against.

use fimbria_compute::device::{Device, DeviceError, measure};
use fimbria_compute::measure::{CpuMeasurement, Rate, cpu};
use fimbria_compute::{SimdLevel, Workers};

use super::table::digits;

/// Attained rates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor {
    /// Arithmetic instructions on one f32 each, in a second; a multiply-add is one.
    pub(crate) instructions_per_second: f64,
    /// Bytes to and from memory beyond the caches, in a second.
    pub(crate) bytes_per_second: f64,
}

/// What one piece of work needs at least.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// Arithmetic instructions on one f32 each; a multiply-add is one.
    pub(crate) instructions: f64,
    /// Bytes read and written.
    pub(crate) bytes: f64,
}

impl Floor {
    /// Of the threads and the level of `workers`.
    pub(crate) fn of_cpu(workers: &Workers) -> Self {
        Self::of_measured(&cpu(workers), workers.simd())
    }

    /// Of threads that were measured, at `level`.
    pub(crate) fn of_measured(measured: &CpuMeasurement, level: SimdLevel) -> Self {
        let CpuMeasurement { memory_read, memory_triad, multiply_add, .. } = measured;
        let rate = multiply_add.iter().find(|rate| rate.level == level);
        let operations = rate.map_or(f64::INFINITY, Rate::operations_per_second);
        let (read, triad) = (memory_read.bytes_per_second(), memory_triad.bytes_per_second());
        Self { instructions_per_second: 0.5 * operations, bytes_per_second: read.max(triad) }
    }

    /// Of a device.
    pub(crate) fn of_device(device: &Device) -> Result<Self, DeviceError> {
        let measured = measure(device)?;
        Ok(Self {
            instructions_per_second: 0.5 * measured.multiply_add.per_second(),
            bytes_per_second: measured.memory_triad.per_second(),
        })
    }

    /// Seconds below which `needs` cannot be met.
    pub(crate) fn seconds(&self, needs: Needs) -> f64 {
        let arithmetic = needs.instructions / self.instructions_per_second;
        arithmetic.max(needs.bytes / self.bytes_per_second)
    }

    /// A line about it.
    pub(crate) fn described(&self, what: &str) -> String {
        let giga = |x: f64| digits(1e-9 * x);
        format!(
            "{what:<28} {:>6} G multiply-adds/s, {:>6} GB/s\n",
            giga(self.instructions_per_second),
            giga(self.bytes_per_second),
        )
    }
}
