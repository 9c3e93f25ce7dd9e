use fimbria_compute::Workers;
use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use crate::laplacian::{EDGE, FACE};
use crate::{Edges, FieldModel, Laplacian};

/// The text of the penalty and of the kernels that move numbers.
pub(crate) fn laplacian_source(free: bool) -> KernelSource {
    KernelSource::new("qsm vectors", include_str!("vectors.cl"))
        .with_f32("FACE", FACE as f32)
        .with_f32("EDGE", EDGE as f32)
        .with("FREE_EDGES", u8::from(free))
}

/// The penalty on a device, as [`Laplacian`] is on threads.
pub struct DeviceLaplacian {
    domain: DeviceSpace,
    range: DeviceSpace,
    dims: [u32; 3],
    voxel_of: Buffer<u32>,
    /// The unknown at each voxel of the box, or `u32::MAX`.
    unknown_at: Buffer<u32>,
    centre: Buffer<f32>,
    apply: Kernel,
    adjoint: Kernel,
}

impl DeviceLaplacian {
    /// Of the unknowns of `model`; `workers` prepare it.
    ///
    /// # Errors
    /// Where the device refuses.
    pub fn new(
        model: &FieldModel,
        edges: Edges,
        device: &Device,
        workers: &Workers,
    ) -> Result<Self, DeviceError> {
        let voxels = model.geometry.len();
        let mut unknown_at = vec![u32::MAX; voxels];
        for (i, &voxel) in model.unknowns.iter().enumerate() {
            unknown_at[voxel as usize] = i as u32;
        }
        let source = laplacian_source(edges == Edges::Free);
        Ok(Self {
            domain: DeviceSpace::new(device, model.unknowns.len())?,
            range: DeviceSpace::new(device, voxels)?,
            dims: model.geometry.dims.map(|n| n as u32),
            voxel_of: device.upload(&model.unknowns)?,
            unknown_at: device.upload(&unknown_at)?,
            centre: device.upload(Laplacian::new(model, edges, workers).centres())?,
            apply: device.kernel(&source, "laplacian")?,
            adjoint: device.kernel(&source, "laplacian_adjoint")?,
        })
    }
}

impl Operator for DeviceLaplacian {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let [nx, ny, nz] = self.dims;
        let arguments = [
            nx.into(),
            ny.into(),
            nz.into(),
            (&self.unknown_at).into(),
            (&self.centre).into(),
            x.into(),
            y.into(),
        ];
        // SAFETY: the kernel's seven parameters; the lists have an entry for each voxel of the box
        // and of y, and name elements of x.
        unsafe { self.apply.launch(Launch::items(self.range.len()), &arguments) }
    }
}

impl LinearOperator for DeviceLaplacian {
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let ([nx, ny, nz], n) = (self.dims, self.domain.len());
        let arguments = [
            nx.into(),
            ny.into(),
            nz.into(),
            (n as u64).into(),
            (&self.voxel_of).into(),
            (&self.unknown_at).into(),
            (&self.centre).into(),
            y.into(),
            x.into(),
        ];
        // SAFETY: the kernel's nine parameters, as for the product.
        unsafe { self.adjoint.launch(Launch::items(n), &arguments) }
    }
}
