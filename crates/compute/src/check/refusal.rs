//! What a device refuses while it is checked.

use std::sync::{Mutex, PoisonError};

use crate::Progress;
use crate::device::{Device, DeviceError};

/// Hears the first warning: the threads did in a device's place what it was to be checked for.
#[derive(Debug, Default)]
pub struct Refusal(Mutex<Option<String>>);

impl Refusal {
    /// The warning as the error of `device` in `call`.
    ///
    /// # Errors
    /// [`DeviceError::Runtime`] where there was one.
    pub fn told_by(&self, device: &Device, call: &'static str) -> Result<(), DeviceError> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let device = device.info().name.clone();
        told.map_or(Ok(()), |detail| Err(DeviceError::Runtime { device, call, detail }))
    }
}

impl Progress for Refusal {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, message: &str) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.get_or_insert_with(|| message.to_owned());
    }
    fn is_cancelled(&self) -> bool {
        false
    }
}
