//! Why a device does not do what was asked.

use fimbria_compute::device::DeviceError;
use fimbria_compute::fft::DeviceFftError;

use crate::QsmError;

/// Why an operator cannot be had on a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceOperatorError {
    /// The problem itself.
    #[error(transparent)]
    Qsm(#[from] QsmError),
    /// There is no transform of its shape.
    #[error(transparent)]
    Fft(#[from] DeviceFftError),
    /// The device refuses.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why an iteration on a device came to no map.
pub(crate) enum Ended {
    /// It would come to none on threads either.
    Whole(QsmError),
    /// The device failed, or cannot have it.
    Device(DeviceOperatorError),
}

impl<E: Into<DeviceOperatorError>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Device(error.into())
    }
}
