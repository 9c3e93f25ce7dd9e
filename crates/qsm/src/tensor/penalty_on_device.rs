//! The penalty of both maps of tensors on a device.

use fimbria_compute::Workers;
use fimbria_compute::device::{Buffer, Device, DeviceError, DeviceSpace};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use super::operator::model_of_fibres;
use crate::device::{DeviceLaplacian, DeviceOperatorError};
use crate::{Edges, FieldModel};

/// The penalty of both maps on a device, as [`TensorPenalty`](super::TensorPenalty) is on threads.
pub struct DeviceTensorPenalty {
    domain: DeviceSpace,
    range: DeviceSpace,
    means: DeviceLaplacian,
    anisotropies: Option<DeviceLaplacian>,
}

impl DeviceTensorPenalty {
    /// Of the unknowns of `model`; `edges` lie beyond the means.
    ///
    /// # Errors
    /// Where the device refuses.
    pub fn new(
        model: &FieldModel,
        edges: Edges,
        device: &Device,
        workers: &Workers,
    ) -> Result<Self, DeviceOperatorError> {
        let means = DeviceLaplacian::new(model, edges, device, workers)?;
        let anisotropies = match model_of_fibres(model)? {
            None => None,
            Some(fibres) => Some(DeviceLaplacian::new(&fibres, Edges::Zero, device, workers)?),
        };
        let columns = anisotropies.as_ref().map_or(0, |d| d.domain().len());
        let rows = anisotropies.as_ref().map_or(0, |d| d.range().len());
        Ok(Self {
            domain: DeviceSpace::new(device, model.unknowns.len() + columns)?,
            range: DeviceSpace::new(device, means.range().len() + rows)?,
            means,
            anisotropies,
        })
    }
}

/// `product` of the part of `from` that begins at its first number into that of `to`.
fn part(
    (from, from_space, first): (&Buffer<f32>, &DeviceSpace, usize),
    (to, to_space, start): (&mut Buffer<f32>, &DeviceSpace, usize),
    product: impl Fn(&Buffer<f32>, &mut Buffer<f32>) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let (mut x, mut y) = (from_space.zeros()?, to_space.zeros()?);
    x.copy_from(0, from, first..first + from_space.len())?;
    product(&x, &mut y)?;
    to.copy_from(start, &y, 0..to_space.len())
}

impl Operator for DeviceTensorPenalty {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        let d = &self.means;
        let (columns, rows) = (d.domain().len(), d.range().len());
        part((x, d.domain(), 0), (y, d.range(), 0), |x, y| d.apply(x, y))?;
        self.anisotropies.as_ref().map_or(Ok(()), |d| {
            part((x, d.domain(), columns), (y, d.range(), rows), |x, y| d.apply(x, y))
        })
    }
}

impl LinearOperator for DeviceTensorPenalty {
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        let d = &self.means;
        let (columns, rows) = (d.domain().len(), d.range().len());
        part((y, d.range(), 0), (x, d.domain(), 0), |y, x| d.adjoint(y, x))?;
        self.anisotropies.as_ref().map_or(Ok(()), |d| {
            part((y, d.range(), rows), (x, d.domain(), columns), |y, x| d.adjoint(y, x))
        })
    }
}
