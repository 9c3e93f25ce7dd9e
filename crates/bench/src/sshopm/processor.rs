//! Where a batch runs, and how long that takes.

use fimbria_compute::Workers;
use fimbria_compute::device::Device;
use fimbria_tensors::batch::{Batch, BatchError, DeviceBatch, Products, Shift, Stop, solve};

use crate::clock::{Time, best};
use crate::floors::Floor;
use crate::table::counted;
use crate::{Console, Failure};

/// Threads or a device, and what was measured there.
pub(super) struct Processor {
    name: String,
    runs_on: RunsOn,
    floor: Floor,
}

enum RunsOn {
    Threads(Workers),
    Device(Box<Device>),
}

/// How long a batch took, and what came out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) time: Time,
    pub(super) seconds: f64,
    /// Of all starts together.
    pub(super) iterations: f64,
    pub(super) starts: f64,
    /// Starts that met the tolerance.
    pub(super) at_rest: f64,
}

impl Processor {
    /// So many threads each, and every device; prints what each attains.
    pub(super) fn all(
        counts: &[usize],
        devices: Vec<Device>,
        console: &dyn Console,
    ) -> Result<Vec<Self>, Failure> {
        let mut places = Vec::new();
        for &threads in counts {
            let workers = Workers::new(threads)?;
            let (name, floor) = (counted(threads), Floor::of_cpu(&workers));
            console.print(&floor.described(&format!("{name}, {:?}", workers.simd())))?;
            places.push(Self { name, runs_on: RunsOn::Threads(workers), floor });
        }
        for device in devices {
            let (name, floor) = (device.info().name.clone(), Floor::of_device(&device)?);
            console.print(&floor.described(&name))?;
            places.push(Self { name, runs_on: RunsOn::Device(Box::new(device)), floor });
        }
        Ok(places)
    }

    /// Its name, cut to what a column holds.
    pub(super) fn short_name(&self) -> String {
        self.name.chars().take(Self::NAME).collect()
    }

    /// The width of a column of names.
    pub(super) const NAME: usize = 22;

    pub(super) fn is_device(&self) -> bool {
        matches!(self.runs_on, RunsOn::Device(_))
    }

    /// One thread.
    pub(super) fn is_single(&self) -> bool {
        matches!(&self.runs_on, RunsOn::Threads(workers) if workers.threads() == 1)
    }

    /// Floating-point operations in a second that multiply-adds attain here.
    pub(super) fn peak_flops(&self) -> f64 {
        2.0 * self.floor.instructions_per_second
    }

    /// Solves a batch several times.
    pub(super) fn time(
        &self,
        batch: &Batch<'_>,
        products: Products,
        shift: Shift,
        stop: Stop,
        console: &dyn Console,
    ) -> Result<Timed, Failure> {
        let (time, ends) = match &self.runs_on {
            RunsOn::Device(device) => {
                let mut on_device = DeviceBatch::new(device, batch, products, shift, stop)?;
                let time = best(console, || {
                    on_device.solve()?;
                    device.synchronize()
                })?;
                (time, on_device.endpoints()?)
            }
            RunsOn::Threads(workers) => {
                let mut ends = solve(batch, products, shift, stop, workers)?;
                let time = best(console, || {
                    ends = solve(batch, products, shift, stop, workers)?;
                    Ok::<_, BatchError>(())
                })?;
                (time, ends)
            }
        };
        Ok(Timed {
            time,
            seconds: time.wall,
            iterations: ends.iterations.iter().map(|&n| f64::from(n)).sum(),
            starts: ends.converged.len() as f64,
            at_rest: ends.converged.iter().filter(|converged| **converged).count() as f64,
        })
    }
}
