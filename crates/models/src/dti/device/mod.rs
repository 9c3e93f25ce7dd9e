//! The linear tensor fits on a device: signals to parameters, parameters to maps, each one kernel
//! with one voxel per item. The same operations in the same order as [`operators`], and so the
//! same bits where the CPU fuses multiply-add. All fits in double precision are one kernel more, with the
//! operations of the oracle.
//!
//! [`operators`]: super::operators

pub(crate) mod double;
mod source;

pub(crate) use source::{EIGEN_TEXT, fit_source, maps_source};

use fimbria_compute::device::{Buffer, Device, DeviceError, DeviceSpace, Kernel, Launch};
use fimbria_compute::operator::Operator;

use super::Problem;
use super::recipe::Refinement;

/// Signals `[volume][voxel]` to parameters `[row][voxel]` on a device.
#[derive(Debug)]
pub struct DeviceFit {
    n_voxels: usize,
    /// The problem's tables.
    rows: Buffer<f32>,
    pseudo_inverse: Buffer<f32>,
    quartics: Buffer<f32>,
    kernel: Kernel,
    domain: DeviceSpace,
    range: DeviceSpace,
}

impl DeviceFit {
    /// True where a device can do the fit: its linear passes.
    pub fn supports(problem: &Problem) -> bool {
        problem.recipe.refinement == Refinement::None
    }

    /// For `n_voxels` voxels on `device`.
    ///
    /// # Errors
    /// Where the device refuses the kernel or has no memory for the tables.
    ///
    /// # Panics
    /// For a problem that it does not [support](Self::supports).
    pub fn new(device: &Device, problem: &Problem, n_voxels: usize) -> Result<Self, DeviceError> {
        assert!(Self::supports(problem), "a non-linear fit");
        let tables = &problem.tables;
        Ok(Self {
            n_voxels,
            rows: device.upload(tables.rows.as_flattened())?,
            pseudo_inverse: device.upload(tables.pseudo_inverse.as_flattened())?,
            quartics: device.upload(tables.quartics.as_flattened())?,
            kernel: device.kernel(&fit_source(problem), "dti_fit")?,
            domain: DeviceSpace::new(device, problem.n_volumes() * n_voxels)?,
            range: DeviceSpace::new(device, problem.n_parameter_rows() * n_voxels)?,
        })
    }
}

impl Operator for DeviceFit {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(
        &self,
        signals: &Buffer<f32>,
        parameters: &mut Buffer<f32>,
    ) -> Result<(), DeviceError> {
        self.domain.check(signals)?;
        self.range.check(parameters)?;
        let arguments = [
            (self.n_voxels as u64).into(),
            (&self.rows).into(),
            (&self.pseudo_inverse).into(),
            (&self.quartics).into(),
            signals.into(),
            parameters.into(),
        ];
        // SAFETY: the kernel's six parameters; the tables have a row per volume, and signals and
        // parameters, just checked, `n_voxels` elements per row.
        unsafe { self.kernel.launch(Launch::items(self.n_voxels), &arguments) }
    }
}

/// Parameters `[row][voxel]` to maps `[row][voxel]` on a device.
#[derive(Debug)]
pub struct DeviceMaps {
    n_voxels: usize,
    kernel: Kernel,
    domain: DeviceSpace,
    range: DeviceSpace,
}

impl DeviceMaps {
    /// For `n_voxels` voxels on `device`.
    ///
    /// # Errors
    /// Where the device refuses the kernel.
    pub fn new(device: &Device, problem: &Problem, n_voxels: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            n_voxels,
            kernel: device.kernel(&maps_source(problem), "dti_maps")?,
            domain: DeviceSpace::new(device, problem.n_parameter_rows() * n_voxels)?,
            range: DeviceSpace::new(device, problem.n_map_rows() * n_voxels)?,
        })
    }
}

impl Operator for DeviceMaps {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, parameters: &Buffer<f32>, maps: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(parameters)?;
        self.range.check(maps)?;
        let arguments = [(self.n_voxels as u64).into(), parameters.into(), maps.into()];
        // SAFETY: the kernel's three parameters; both buffers, just checked, have `n_voxels`
        // elements per row.
        unsafe { self.kernel.launch(Launch::items(self.n_voxels), &arguments) }
    }
}
