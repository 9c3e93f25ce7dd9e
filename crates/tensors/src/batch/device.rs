//! A batch on a device: one start per item, a group of items for each tensor.

use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use fimbria_compute::math;

use super::lanes::{MARGIN, NO_LENGTH};
use super::{Batch, BatchError, Endpoints, Products, Shift, Stop};
use crate::layout::Layout;
use crate::unrolled::kernel_functions;

/// Items of a group.
const GROUP: usize = 128;
/// Set in a count of iterations that did not converge.
const NOT_CONVERGED: u32 = 1 << 31;

/// A batch in a device's memory, ready to be solved.
#[derive(Debug)]
pub struct DeviceBatch {
    layout: Layout,
    n_tensors: usize,
    n_starts: usize,
    shift: f32,
    stop: Stop,
    kernel: Kernel,
    indices: Buffer<u32>,
    counts: Buffer<f32>,
    tensors: Buffer<f32>,
    starts: Buffer<f32>,
    lambda: Buffer<f32>,
    x: Buffer<f32>,
    iterations: Buffer<u32>,
}

impl DeviceBatch {
    /// Compiles the kernel and uploads tensors and starts. Products that are not unrolled use tables
    /// here.
    ///
    /// # Errors
    /// [`BatchError`].
    pub fn new(
        device: &Device,
        batch: &Batch<'_>,
        products: Products,
        shift: Shift,
        stop: Stop,
    ) -> Result<Self, BatchError> {
        batch.check(products, shift)?;
        let layout = batch.layout;
        let kernel = device.kernel(&source(layout, products, shift), "sshopm")?;
        let (n_tensors, n_starts) = (batch.n_tensors(), batch.n_starts());
        let n = n_tensors * n_starts;
        let indices: Vec<u32> = layout.index_classes().flatten().map(|i| i as u32).collect();
        let counts: Vec<f32> = layout.multiplicities().iter().map(|&c| c as f32).collect();
        Ok(Self {
            layout,
            n_tensors,
            n_starts,
            shift: if let Shift::Fixed(shift) = shift { shift } else { 0.0 },
            stop,
            kernel,
            indices: device.upload(&indices)?,
            counts: device.upload(&counts)?,
            tensors: device.upload(batch.tensors)?,
            starts: device.upload(batch.starts)?,
            lambda: device.zeros(n)?,
            x: device.zeros(n * layout.dimension())?,
            iterations: device.zeros(n)?,
        })
    }

    /// Solves it; the endpoints stay on the device.
    ///
    /// # Errors
    /// Where the device fails.
    pub fn solve(&mut self) -> Result<(), DeviceError> {
        let (most, tolerance) = match self.stop {
            Stop::Iterations(count) => (count, -1.0),
            Stop::Tolerance { tolerance, max_iterations } => (max_iterations, tolerance),
        };
        let arguments = [
            (self.n_starts as u32).into(),
            most.into(),
            tolerance.into(),
            self.shift.into(),
            (&self.indices).into(),
            (&self.counts).into(),
            (&self.tensors).into(),
            (&self.starts).into(),
            (&mut self.lambda).into(),
            (&mut self.x).into(),
            (&mut self.iterations).into(),
        ];
        // SAFETY: the kernel's eleven parameters; the buffers were made for this many tensors and
        // starts of the layout that the kernel was compiled for.
        unsafe { self.kernel.launch(Launch::groups_of(GROUP, self.n_tensors), &arguments) }
    }

    /// The endpoints of the last solution.
    ///
    /// # Errors
    /// Where the device fails.
    pub fn endpoints(&self) -> Result<Endpoints, DeviceError> {
        let mut iterations = self.iterations.to_vec()?;
        let converged = iterations.iter().map(|n| n & NOT_CONVERGED == 0).collect();
        iterations.iter_mut().for_each(|n| *n &= !NOT_CONVERGED);
        Ok(Endpoints { lambda: self.lambda.to_vec()?, x: self.x.to_vec()?, iterations, converged })
    }

    /// Order and dimension.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

/// The kernel's text for one layout and way.
pub(crate) fn source(layout: Layout, products: Products, shift: Shift) -> KernelSource {
    let (order, dimension) = (layout.order(), layout.dimension());
    let source = KernelSource::new("sshopm", include_str!("sshopm.cl"))
        .with("GROUP", format_args!("{GROUP}u"))
        .with("ORDER", order)
        .with("DIMENSION", dimension)
        .with("ENTRIES", layout.len())
        .with("ADAPTIVE", u8::from(shift == Shift::Adaptive))
        .with_f32("MARGIN", MARGIN)
        .with_f32("NO_LENGTH", NO_LENGTH);
    let source = match products {
        Products::General | Products::Tables | Products::Blocked => source.with("PRODUCTS", 0),
        Products::Plain => source.with("PRODUCTS", 1).after(&kernel_functions(order, dimension)),
        Products::Shared => source.with("PRODUCTS", 2).after(&kernel_functions(order, dimension)),
    };
    source.after(math::KERNEL_TEXT)
}
