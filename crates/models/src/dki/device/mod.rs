//! The kurtosis maps on a device: parameters to maps, one voxel per item. The same operations in
//! the same order as the lanes, and so the same bits where the CPU fuses multiply-add.

mod source;

pub(crate) use source::maps_source;

use fimbria_compute::device::{Buffer, Device, DeviceError, DeviceSpace, Kernel, Launch};
use fimbria_compute::operator::Operator;

use super::Problem;
use super::lanes::means::{NODES, WEIGHTS};
use super::layout::parameter_row;

/// Parameters `[row][voxel]` to maps `[row][voxel]` on a device.
#[derive(Debug)]
pub(crate) struct DeviceMaps {
    n_voxels: usize,
    /// Nodes and weights of the quadrature.
    nodes: Buffer<f32>,
    /// The grid of the extremes.
    terms: Buffer<f32>,
    points: Buffer<f32>,
    kernel: Kernel,
    domain: DeviceSpace,
    range: DeviceSpace,
}

impl DeviceMaps {
    /// For `n_voxels` voxels on `device`.
    ///
    /// # Errors
    /// Where the device refuses the kernel or has no memory for the tables.
    pub(crate) fn new(
        device: &Device,
        problem: &Problem,
        n_voxels: usize,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            n_voxels,
            nodes: device.upload(&[NODES, WEIGHTS].concat())?,
            terms: device.upload(problem.grid.terms.as_flattened())?,
            points: device.upload(problem.grid.points.as_flattened())?,
            kernel: device.kernel(&maps_source(problem), "dki_maps")?,
            domain: DeviceSpace::new(device, parameter_row::COUNT * n_voxels)?,
            range: DeviceSpace::new(device, problem.layout.n_rows() * n_voxels)?,
        })
    }
}

impl Operator for DeviceMaps {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, parameters: &Buffer<f32>, maps: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(parameters)?;
        self.range.check(maps)?;
        let arguments = [
            (self.n_voxels as u64).into(),
            (&self.nodes).into(),
            (&self.terms).into(),
            (&self.points).into(),
            parameters.into(),
            maps.into(),
        ];
        // SAFETY: the kernel's six parameters; the tables have the lengths of its constants, and
        // both buffers, just checked, `n_voxels` elements per row.
        unsafe { self.kernel.launch(Launch::items(self.n_voxels), &arguments) }
    }
}
