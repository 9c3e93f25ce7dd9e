//! What a device and its queues keep from one launch to the next.

use std::sync::{Arc, Mutex};

use fimbria_compute::device::{Device, DeviceError};

use super::lock;

/// What launches on any queue of a device read, and what each queue has of its own.
pub(super) struct Hand<G, Q> {
    given: Mutex<Option<Arc<G>>>,
    /// Each is used by the one host thread that serves the queue.
    own: Vec<Mutex<Option<Q>>>,
}

impl<G, Q> Hand<G, Q> {
    /// Nothing yet, of so many queues.
    pub(super) fn new(queues: usize) -> Self {
        Self { given: Mutex::default(), own: (0..queues).map(|_| Mutex::default()).collect() }
    }

    /// Does `work` with what this one of a device's `queues` has, which `given` and `own` make for the first time;
    /// or where the device has no memory for two launches after all in the room of another queue's, one after
    /// the other.
    ///
    /// # Errors
    /// Those of the device.
    pub(super) fn work<R>(
        &self,
        queues: &[Device],
        queue: usize,
        given: impl Fn(&Device) -> Result<G, DeviceError>,
        own: impl Fn(&Device, Arc<G>) -> Result<Q, DeviceError>,
        work: impl Fn(&Device, &mut Q) -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        let on = |queue: usize| {
            let device = &queues[queue];
            let mut kept = lock(&self.own[queue]);
            let kept = match &mut *kept {
                Some(kept) => kept,
                none => none.insert(own(device, self.given(|| given(device))?)?),
            };
            work(device, kept)
        };
        match on(queue) {
            Err(DeviceError::OutOfMemory { .. }) if queues.len() > 1 => {
                *lock(&self.own[queue]) = None;
                on((queue + 1) % queues.len())
            }
            done => done,
        }
    }

    fn given(&self, new: impl Fn() -> Result<G, DeviceError>) -> Result<Arc<G>, DeviceError> {
        let mut given = lock(&self.given);
        Ok(Arc::clone(match &mut *given {
            Some(given) => given,
            none => none.insert(Arc::new(new()?)),
        }))
    }
}
