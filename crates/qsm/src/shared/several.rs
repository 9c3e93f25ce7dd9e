//! The product on several devices, which take parts of it from one queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::queue::run_chunks;
use fimbria_compute::{Backend, HostError, HostSpace, Interrupted, Progress};

use super::Shared;
use crate::device::DeviceOperatorError;
use crate::operator::check_weights;
use crate::{QsmError, Share};

/// A on several devices; vectors are in host memory.
///
/// Each product is made part by part and summed in their order, so that it does not depend on
/// which device did what. A part that every device refuses is the threads'; a device that refused
/// one is not asked for later products.
pub struct SeveralDevices<'w, P: Shared> {
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
    problem: &'w P,
    devices: &'w [Device],
    /// Whether each device refused a part.
    refused: Vec<AtomicBool>,
    /// Of each device, its operators of the parts that it had so far.
    prepared: Vec<Vec<Mutex<Option<P::OnDevice>>>>,
    on_threads: Vec<P::OnThreads<'w>>,
    weights: Option<Vec<f32>>,
    progress: &'w dyn Progress,
}

/// A share of a product.
struct Part {
    index: usize,
    sum: Vec<f32>,
}

/// Which product.
#[derive(Clone, Copy)]
enum Way {
    Field,
    Adjoint,
}

impl<'w, P: Shared> SeveralDevices<'w, P> {
    /// The whole of A on the devices of `on`; `progress` is told of those that refuse.
    ///
    /// # Errors
    /// Where the volume is too large to transform.
    pub fn new(
        problem: &'w P,
        on: &Backend<'w>,
        progress: &'w dyn Progress,
    ) -> Result<Self, QsmError> {
        let size = problem.parts(on.devices.len());
        let threads = |rank| problem.on_threads(on.workers, Share { rank, size }, None);
        let none = |_| (0..size).map(|_| Mutex::new(None)).collect();
        let (unknowns, receivers) = problem.lengths();
        Ok(Self {
            domain: HostSpace::new(on.workers, unknowns),
            range: HostSpace::new(on.workers, receivers),
            problem,
            devices: on.devices,
            refused: on.devices.iter().map(|_| AtomicBool::new(false)).collect(),
            prepared: on.devices.iter().map(none).collect(),
            on_threads: (0..size).map(threads).collect::<Result<_, _>>()?,
            weights: None,
            progress,
        })
    }

    /// W A: each receiver's field times its weight.
    ///
    /// # Errors
    /// Where there is not one finite weight for each receiver.
    pub fn weighted(mut self, weights: Vec<f32>) -> Result<Self, QsmError> {
        check_weights(&weights, self.range.len())?;
        self.weights = Some(weights);
        Ok(self)
    }

    fn product(&self, way: Way, from: &[f32], to: &mut [f32]) -> Result<(), HostError> {
        let part = |index| Part { index, sum: vec![0.0; to.len()] };
        let mut parts: Vec<Part> = (0..self.on_threads.len()).map(part).collect();
        let asked = (0..self.devices.len()).filter(|&i| !self.refused[i].load(Ordering::Relaxed));
        let asked: Vec<usize> = asked.collect();
        let devices: Vec<Device> = asked.iter().map(|&i| self.devices[i].clone()).collect();
        let done = run_chunks(
            &devices,
            &mut parts,
            |device, part| {
                let which = devices.iter().position(|other| std::ptr::eq(other, device));
                let which = asked[which.unwrap_or(0)];
                let done = self.on_device(which, way, from, part);
                if done.is_err() {
                    self.refused[which].store(true, Ordering::Relaxed);
                }
                done
            },
            |part| {
                let operator = &self.on_threads[part.index];
                let from = from.to_vec();
                match way {
                    Way::Field => operator.apply(&from, &mut part.sum),
                    Way::Adjoint => operator.adjoint(&from, &mut part.sum),
                }
                .map_err(Halt::Host)
            },
            &Warnings(self.progress),
        );
        match done {
            Ok(_) => {}
            Err(Halt::Host(error)) => return Err(error),
            Err(Halt::Interrupted) => unreachable!("nobody stops it between two products"),
        }
        for (i, to) in to.iter_mut().enumerate() {
            *to = parts.iter().map(|part| f64::from(part.sum[i])).sum::<f64>() as f32;
        }
        Ok(())
    }

    fn on_device(
        &self,
        which: usize,
        way: Way,
        from: &[f32],
        part: &mut Part,
    ) -> Result<(), DeviceError> {
        let place = &self.prepared[which][part.index];
        // What a panic elsewhere left is whole: it is replaced, not changed.
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let operator = match &mut *place {
            Some(operator) => operator,
            none => none.insert(self.prepare(&self.devices[which], part.index)?),
        };
        let (domain, range) = (operator.domain(), operator.range());
        match way {
            Way::Field => {
                let mut y = range.zeros()?;
                operator.apply(&domain.upload(from)?, &mut y)?;
                range.download(&y, &mut part.sum)
            }
            Way::Adjoint => {
                let mut x = domain.zeros()?;
                operator.adjoint(&range.upload(from)?, &mut x)?;
                domain.download(&x, &mut part.sum)
            }
        }
    }

    fn prepare(&self, device: &Device, rank: usize) -> Result<P::OnDevice, DeviceError> {
        let share = Share { rank, size: self.on_threads.len() };
        let made = self.problem.on_device(device, self.domain.workers(), share, None);
        made.map_err(|error| match error {
            DeviceOperatorError::Device(error) => error,
            other => DeviceError::Runtime {
                device: device.info().name.clone(),
                call: "preparing a product",
                detail: other.to_string(),
            },
        })
    }
}

impl<'w, P: Shared> Operator for SeveralDevices<'w, P> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        self.product(Way::Field, x, y)?;
        if let Some(weights) = &self.weights {
            y.iter_mut().zip(weights).for_each(|(y, w)| *y *= w);
        }
        Ok(())
    }
}

impl<P: Shared> LinearOperator for SeveralDevices<'_, P> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        match &self.weights {
            None => self.product(Way::Adjoint, y, x),
            Some(weights) => {
                let weighted: Vec<f32> = y.iter().zip(weights).map(|(y, w)| y * w).collect();
                self.product(Way::Adjoint, &weighted, x)
            }
        }
    }
}

/// Why threads cannot do a share.
enum Halt {
    Host(HostError),
    Interrupted,
}

impl From<Interrupted> for Halt {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

/// Passes warnings on; a product is not stopped within.
struct Warnings<'p>(&'p dyn Progress);

impl Progress for Warnings<'_> {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        self.0.warn(message);
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}
