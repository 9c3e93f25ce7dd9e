//! Where fits run.

use fimbria_compute::device::Device;
use fimbria_compute::{Backend, Workers};
use fimbria_models::dti::Precision;

use crate::Failure;
use crate::table::counted;

/// Threads, or a device beside them.
pub(super) struct Processor {
    pub(super) name: String,
    pub(super) precision: Precision,
    workers: Workers,
    device: Option<Device>,
}

impl Processor {
    /// The width of a column of names.
    pub(super) const NAME: usize = 24;

    /// One fit at a time in `f64` on one thread.
    pub(super) fn plain() -> Result<Self, Failure> {
        let precision = Precision::Double;
        Ok(Self { name: String::new(), precision, workers: Workers::new(1)?, device: None })
    }

    /// So many threads each, and every device.
    pub(super) fn all(
        all: &Workers,
        counts: &[usize],
        devices: Vec<Device>,
    ) -> Result<Vec<Self>, Failure> {
        let precision = Precision::Single;
        let mut places = Vec::new();
        for &threads in counts {
            let workers = Workers::new(threads)?;
            let name = format!("{}, {:?}", counted(threads), workers.simd());
            places.push(Self { name, precision, workers, device: None });
        }
        for device in devices {
            let name = device.info().name.chars().take(Self::NAME).collect();
            let workers = Workers::new(all.threads())?;
            places.push(Self { name, precision, workers, device: Some(device) });
        }
        Ok(places)
    }

    pub(super) fn is_device(&self) -> bool {
        self.device.is_some()
    }

    pub(super) fn backend(&self) -> Backend<'_> {
        Backend::new(&self.workers, self.device.as_slice())
    }
}
