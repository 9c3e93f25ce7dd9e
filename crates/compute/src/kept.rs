//! Memory of the host that chunks on devices leave for the next.

use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::queue::IN_HAND;

/// Arrays of the chunks of [`run_pairs`](crate::queue::run_pairs), of each device those that are not in use: fresh
/// ones would be cleared, and their pages asked of the system, and locked for the device, one by one.
pub struct Kept<'a, A> {
    devices: &'a [Device],
    of_devices: Vec<Mutex<Vec<A>>>,
    uses: usize,
}

impl<'a, A> Kept<'a, A> {
    /// None yet, for so many chunks on these devices.
    pub fn new(devices: &'a [Device], n_chunks: usize) -> Self {
        let of_devices = devices.iter().map(|_| Mutex::default()).collect();
        Self { devices, of_devices, uses: n_chunks / (IN_HAND * devices.len().max(1)) }
    }

    /// Does `work` with arrays for a device, of which `queue` is a queue. `make` makes them where none are left; it is
    /// told for how many chunks they are, should all of them go to devices and each have its share.
    ///
    /// # Panics
    /// Where `queue` is of another device.
    pub fn with<R>(
        &self,
        queue: &Device,
        make: impl FnOnce(&Device, usize) -> A,
        work: impl FnOnce(&mut A) -> R,
    ) -> R {
        let mut all = self.devices.iter().zip(&self.of_devices);
        let (device, kept) =
            all.find(|(device, _)| queue.is_queue_of(device)).expect("a queue of these devices");
        let kept = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        // The other chunk's thread need not wait while this is made.
        let before = kept().pop();
        let mut arrays = before.unwrap_or_else(|| make(device, self.uses));
        let result = work(&mut arrays);
        kept().push(arrays);
        result
    }
}
