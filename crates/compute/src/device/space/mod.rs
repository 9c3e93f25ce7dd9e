//! Vectors that stay on a device, so that a solver over them moves nothing but its scalars.

use std::sync::{Mutex, PoisonError};

use super::{Argument, Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use crate::operator::VectorSpace;

/// Items that sum one block.
const GROUP: usize = 128;
/// Elements of one partial sum, whatever the vector's length: the order of summation is fixed.
const BLOCK: usize = 64 * GROUP;

/// `f32` vectors of one length on one device.
///
/// Inner products are summed in pairs of `f32` (a sum and its rounding errors), block by block,
/// and the blocks in order in f64 on the host: nearly as exact as f64 throughout, on devices
/// without f64 too, and the same bits on every device. A product beyond f32's range makes them NaN.
#[derive(Debug)]
pub struct DeviceSpace {
    device: Device,
    len: usize,
    axpy: Kernel,
    scale: Kernel,
    project: Kernel,
    dot: Kernel,
    /// Where partial sums go, two numbers each.
    partials: Mutex<Buffer<f32>>,
}

impl DeviceSpace {
    /// The space of vectors of `len` elements on `device`.
    ///
    /// # Errors
    /// Where the device does not compile the kernels or has no memory for the partial sums.
    pub fn new(device: &Device, len: usize) -> Result<Self, DeviceError> {
        let source = Self::kernel_source();
        Ok(Self {
            device: device.clone(),
            len,
            axpy: device.kernel(&source, "axpy")?,
            scale: device.kernel(&source, "scale")?,
            project: device.kernel(&source, "project_nonnegative")?,
            dot: device.kernel(&source, "inner_product")?,
            partials: Mutex::new(device.allocate(2 * len.div_ceil(BLOCK))?),
        })
    }

    /// The text of its kernels.
    pub(crate) fn kernel_source() -> KernelSource {
        KernelSource::new("vectors", include_str!("vectors.cl"))
            .with("GROUP", GROUP)
            .with("BLOCK", BLOCK)
    }

    /// The device the vectors are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Refuses a vector of another space.
    ///
    /// # Errors
    /// [`DeviceError::OtherDevice`], [`DeviceError::Range`].
    pub fn check(&self, x: &Buffer<f32>) -> Result<(), DeviceError> {
        x.expect_on(&self.device)?;
        if x.len() == self.len {
            return Ok(());
        }
        Err(DeviceError::Range { start: 0, end: self.len, len: x.len() })
    }

    fn n(&self) -> Argument {
        (self.len as u64).into()
    }
}

impl VectorSpace for DeviceSpace {
    type Vector = Buffer<f32>;
    type Error = DeviceError;

    fn len(&self) -> usize {
        self.len
    }

    fn zeros(&self) -> Result<Buffer<f32>, DeviceError> {
        self.device.zeros(self.len)
    }

    fn upload(&self, host: &[f32]) -> Result<Buffer<f32>, DeviceError> {
        let x = self.device.upload(host)?;
        self.check(&x)?;
        Ok(x)
    }

    fn download(&self, x: &Buffer<f32>, host: &mut [f32]) -> Result<(), DeviceError> {
        self.check(x)?;
        x.read(0, host)
    }

    fn copy(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.check(x)?;
        self.check(y)?;
        y.copy_from(0, x, 0..self.len)
    }

    fn axpy(&self, alpha: f32, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.check(x)?;
        self.check(y)?;
        let arguments = [self.n(), alpha.into(), x.into(), y.into()];
        // SAFETY: the kernel's parameters; both vectors have n elements.
        unsafe { self.axpy.launch(Launch::items(self.len), &arguments) }
    }

    fn scale(&self, alpha: f32, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.check(x)?;
        let arguments = [self.n(), alpha.into(), x.into()];
        // SAFETY: the kernel's parameters; the vector has n elements.
        unsafe { self.scale.launch(Launch::items(self.len), &arguments) }
    }

    fn dot(&self, x: &Buffer<f32>, y: &Buffer<f32>) -> Result<f64, DeviceError> {
        self.check(x)?;
        self.check(y)?;
        let partials = self.partials.lock().unwrap_or_else(PoisonError::into_inner);
        let arguments = [self.n(), x.into(), y.into(), (&*partials).into()];
        let launch = Launch::groups_of(GROUP, self.len.div_ceil(BLOCK));
        // SAFETY: the kernel's parameters; the vectors have n elements, and there are two partial
        // sums for each group.
        unsafe { self.dot.launch(launch, &arguments)? };
        Ok(partials.to_vec()?.into_iter().map(f64::from).sum())
    }

    fn project_nonnegative(&self, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.check(x)?;
        let arguments = [self.n(), x.into()];
        // SAFETY: the kernel's parameters; the vector has n elements.
        unsafe { self.project.launch(Launch::items(self.len), &arguments) }
    }
}
