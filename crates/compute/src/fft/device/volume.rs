//! Complex transforms of a volume along some of its axes.

use super::lines::Lines;
use super::passes::Passes;
use super::way::{Way, Which};
use super::{Limits, expect};
use crate::device::{Buffer, Device, DeviceError};
use crate::fft::Complex32;

/// Complex transforms of a volume along axes, those of one element left out.
pub(super) struct Volume {
    pub(super) device: Device,
    shape: [usize; 3],
    axes: Vec<Axis>,
}

/// How the lines along an axis are transformed.
struct Axis {
    axis: usize,
    way: Way<Lines, Passes>,
}

impl Volume {
    pub(super) fn new(
        device: &Device,
        shape: [usize; 3],
        axes: &[usize],
        limits: Limits,
    ) -> Result<Self, DeviceError> {
        let long = axes.iter().filter(|&&axis| shape[axis] > 1);
        let axis = |&axis: &usize| {
            let lines = Lines::new(device, shape, axis, limits);
            Ok(Axis { axis, way: Way::new(lines, || Passes::new(device, shape, axis))? })
        };
        let axes = long.map(axis).collect::<Result<_, DeviceError>>()?;
        Ok(Self { device: device.clone(), shape, axes })
    }

    pub(super) fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// What the device said of the first lines that it refused.
    pub(super) fn refusal(&self) -> Option<&DeviceError> {
        self.axes.iter().find_map(|axis| axis.way.refusal())
    }

    /// Times `scale`, and with `sign` -1 conjugated before and after.
    pub(super) fn transform(
        &self,
        data: &mut Buffer<Complex32>,
        sign: f32,
        scale: f32,
    ) -> Result<(), DeviceError> {
        expect(&self.device, data, self.elements())?;
        for (k, Axis { axis, way }) in self.axes.iter().enumerate() {
            let scale = if k + 1 == self.axes.len() { scale } else { 1.0 };
            let passes = || Passes::new(&self.device, self.shape, *axis);
            way.go(passes, |which| match which {
                Which::Lines(lines) => lines.transform(data, sign, scale),
                Which::Passes(passes) => passes.transform(data, sign, scale),
            })?;
        }
        Ok(())
    }
}
