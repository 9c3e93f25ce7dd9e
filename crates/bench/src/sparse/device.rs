use super::csr::Csr;
use super::threaded::SUMS;
use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::operator::{LinearOperator, Operator};

/// Items of a work group.
const GROUP: usize = 128;

/// The product with a sparse matrix on a device, with the bits of
/// [`ThreadedCsr`](super::ThreadedCsr) on a fusing level.
///
/// The adjoint multiplies by a stored transpose: twice the memory of the matrix.
#[derive(Debug)]
pub(super) struct DeviceCsr {
    matrix: Rows,
    transposed: Rows,
    multiply: Kernel,
    domain: DeviceSpace,
    range: DeviceSpace,
}

/// A matrix's arrays on the device.
#[derive(Debug)]
struct Rows {
    count: usize,
    start: Buffer<u64>,
    column: Buffer<u32>,
    value: Buffer<f32>,
}

impl DeviceCsr {
    /// The product with a copy of `matrix` on `device`.
    ///
    /// # Errors
    /// Where the device has no memory for the matrix and its transpose, or fails.
    pub(super) fn new(device: &Device, matrix: &Csr) -> Result<Self, DeviceError> {
        Ok(Self {
            matrix: Rows::upload(device, matrix)?,
            transposed: Rows::upload(device, &matrix.transposed())?,
            multiply: device.kernel(&Self::kernel_source(), "csr_multiply")?,
            domain: DeviceSpace::new(device, matrix.columns())?,
            range: DeviceSpace::new(device, matrix.rows())?,
        })
    }

    /// The text of its kernel.
    pub(super) fn kernel_source() -> KernelSource {
        KernelSource::new("csr", include_str!("csr.cl")).with("GROUP", GROUP).with("TEAM", SUMS)
    }

    fn multiply(
        &self,
        rows: &Rows,
        (x, x_space): (&Buffer<f32>, &DeviceSpace),
        (y, y_space): (&mut Buffer<f32>, &DeviceSpace),
    ) -> Result<(), DeviceError> {
        x_space.check(x)?;
        y_space.check(y)?;
        let arguments = [
            (rows.count as u64).into(),
            (&rows.start).into(),
            (&rows.column).into(),
            (&rows.value).into(),
            x.into(),
            y.into(),
        ];
        let launch = Launch::groups_of(GROUP, rows.count.div_ceil(GROUP / SUMS));
        // SAFETY: the kernel's six parameters; a `Csr`'s columns lie inside x, its rows inside y.
        unsafe { self.multiply.launch(launch, &arguments) }
    }
}

impl Rows {
    fn upload(device: &Device, matrix: &Csr) -> Result<Self, DeviceError> {
        let start: Vec<u64> = matrix.row_start().iter().map(|&start| start as u64).collect();
        Ok(Self {
            count: matrix.rows(),
            start: device.upload(&start)?,
            column: device.upload(matrix.column())?,
            value: device.upload(matrix.value())?,
        })
    }
}

impl Operator for DeviceCsr {
    type Domain = DeviceSpace;
    type Range = DeviceSpace;

    fn domain(&self) -> &DeviceSpace {
        &self.domain
    }

    fn range(&self) -> &DeviceSpace {
        &self.range
    }

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.multiply(&self.matrix, (x, &self.domain), (y, &self.range))
    }
}

impl LinearOperator for DeviceCsr {
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.multiply(&self.transposed, (y, &self.range), (x, &self.domain))
    }
}
