//! Transforms on devices: a line at a time in a group's memory, or Stockham's passes over the whole volume.

mod layout;
mod limits;
mod lines;
mod passes;
mod radices;
mod real;
mod shape;
mod volume;
mod way;

use std::ops::Deref;

pub(crate) use self::limits::Limits;
pub use self::real::DeviceRealFft;
pub use self::shape::VolumeShape;
use self::volume::Volume;
use super::{Complex32, FftError, check_shape};
use crate::device::{Buffer, Device, DeviceError, KernelSource};

/// Why a transform on a device cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceFftError {
    /// There is no plan for the shape.
    #[error(transparent)]
    Plan(#[from] FftError),
    /// The device refuses.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The transform of complex arrays on a device, along some or all of three axes; the definition
/// is that of the [module](super). Along axis 0 alone it is a batch of lines.
///
/// Where some lines fit in the memory that a group shares, a group reads them, transforms them there with all
/// radices of their length, and writes them in place: memory is read and written once for each axis. Lines
/// along y and z come side by side, so that what a group reads is contiguous. Longer lines, and those whose kernel
/// the device refuses, are transformed by Stockham's passes, each of one radix over the whole volume, with a second
/// volume. The largest error grows as
/// log2 n, like that of any fast transform: below [`error_bound`](Self::error_bound).
pub struct DeviceFft {
    shape: VolumeShape,
    transformed: usize,
    volume: Volume,
}

impl DeviceFft {
    /// A plan for arrays of `shape` (x fastest) along `axes` (each 0, 1 or 2, named once).
    ///
    /// # Errors
    /// Where a length has factors other than 2, 3, 5 and 7 or the array has 2³² elements or more;
    /// where the device refuses.
    ///
    /// # Panics
    /// Where an axis is not 0, 1 or 2.
    pub fn new(device: &Device, shape: [usize; 3], axes: &[usize]) -> Result<Self, DeviceFftError> {
        Self::within(device, shape, axes, Limits::of(device))
    }

    /// The same as if the device had those limits: with no memory for groups all lines go through passes.
    pub(crate) fn within(
        device: &Device,
        shape: [usize; 3],
        axes: &[usize],
        limits: Limits,
    ) -> Result<Self, DeviceFftError> {
        check(shape)?;
        let transformed = axes.iter().map(|&axis| shape[axis]).product();
        let volume = Volume::new(device, shape, axes, limits)?;
        Ok(Self { shape: VolumeShape(shape), transformed, volume })
    }

    /// What rounding may add to any element of the result, as a share of the root of the sum of
    /// squares of the input (of one transform): 2 ε per bit of length and one pass's worth.
    pub fn error_bound(&self) -> f64 {
        error_bound(self.transformed)
    }

    /// Transforms `data`; the buffer may be exchanged for another of the same length.
    ///
    /// # Errors
    /// Where the device fails, or the buffer is another's or of another length.
    pub fn forward(&self, data: &mut Buffer<Complex32>) -> Result<(), DeviceError> {
        self.volume.transform(data, 1.0, 1.0)
    }

    /// Undoes [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn inverse(&self, data: &mut Buffer<Complex32>) -> Result<(), DeviceError> {
        // The conjugate of the transform of the conjugate.
        self.volume.transform(data, -1.0, 1.0 / self.transformed as f32)
    }

    /// What the device has said of lines in the memory of groups, if it refused some: passes do what they were to.
    pub(crate) fn refusal(&self) -> Option<&DeviceError> {
        self.volume.refusal()
    }
}

impl Deref for DeviceFft {
    type Target = VolumeShape;

    fn deref(&self) -> &VolumeShape {
        &self.shape
    }
}

/// As that of [`DeviceFft`], of so many elements together.
fn error_bound(transformed: usize) -> f64 {
    2.0 * f64::from(f32::EPSILON) * (1.0 + (transformed as f64).log2())
}

/// A shape that kernels can count the elements of, in 32 bits.
fn check(shape: [usize; 3]) -> Result<(), FftError> {
    check_shape(shape)?;
    match u32::try_from(shape.iter().product::<usize>()) {
        Ok(_) => Ok(()),
        Err(_) => Err(FftError::TooLarge { shape }),
    }
}

/// Refuses a buffer of another device or of another length.
fn expect<T: bytemuck::Pod>(
    device: &Device,
    buffer: &Buffer<T>,
    elements: usize,
) -> Result<(), DeviceError> {
    buffer.expect_on(device)?;
    match buffer.len() {
        len if len == elements => Ok(()),
        len => Err(DeviceError::Range { start: 0, end: elements, len }),
    }
}

/// The kernels of every radix, and those around them, for checks.
pub(crate) fn sources_of_passes() -> Vec<KernelSource> {
    let mut sources = passes::kernel_sources();
    sources.push(real::source_of_passes());
    sources
}

/// The kernels of lines that take one to three stages, for checks.
pub(crate) fn sources_of_lines() -> Vec<KernelSource> {
    let mut sources = lines::kernel_sources();
    sources.extend(real::sources_of_lines());
    sources
}
