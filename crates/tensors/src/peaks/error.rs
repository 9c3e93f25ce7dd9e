//! Why no peaks can be sought.

use fimbria_compute::Interrupted;
use fimbria_compute::device::DeviceError;
use fimbria_image::GridMismatch;

use crate::sh::ShError;

/// Input in which no peaks can be sought.
#[derive(Debug, thiserror::Error)]
pub enum PeaksError {
    /// Only these orders have unrolled products.
    #[error("peaks are found in forms of order 4, 6, 8, 10 or 12, not {order}")]
    Order {
        /// The order asked for.
        order: usize,
    },
    /// The image is not of that order.
    #[error("a form of order {order} has {expected} coefficients; the image has {volumes} volumes")]
    VolumeCount {
        /// The order asked for.
        order: usize,
        /// What it takes.
        expected: usize,
        /// What there is.
        volumes: usize,
    },
    /// Harmonics that have no form.
    #[error(transparent)]
    Harmonics(#[from] ShError),
    /// An option out of range.
    #[error("{name} is {value}; it must be {range}")]
    Option {
        /// The option's name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed, in words.
        range: &'static str,
    },
    /// Mask and image differ.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A device failed where nothing else could do the work.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The caller wants no more.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
