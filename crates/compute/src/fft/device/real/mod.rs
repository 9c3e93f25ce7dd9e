//! The transform of a real volume on a device.

mod lines;
mod passes;

use std::ops::Deref;

use self::lines::RowLines;
use self::passes::RowPasses;
use super::way::{Way, Which};
use super::{DeviceFftError, Limits, Volume, VolumeShape, check, error_bound, expect};
use crate::device::{Buffer, Device, DeviceError, KernelSource};
use crate::fft::Complex32;

/// The transform of real volumes on a device, as [`RealFft3`](crate::fft::RealFft3) on threads: the spectrum of
/// a volume of shape (x, y, z) has shape (x / 2 + 1, y, z).
///
/// Two rows go through one complex transform along x, as real and imaginary part a + ib, so that any length
/// will do. Its elements Z\[k] and Z\[-k] are A + iB and conj(A) + i conj(B), of which A and B are kept up to the
/// middle: half the bytes of a complex volume go through memory from there on.
pub struct DeviceRealFft {
    shape: VolumeShape,
    rows: Way<RowLines, RowPasses>,
    rest: Volume,
}

impl DeviceRealFft {
    /// A plan for volumes of `shape` (x fastest).
    ///
    /// # Errors
    /// As [`DeviceFft::new`](super::DeviceFft::new).
    pub fn new(device: &Device, shape: [usize; 3]) -> Result<Self, DeviceFftError> {
        Self::within(device, shape, Limits::of(device))
    }

    /// The same as if the device had those limits: with no memory for groups all lines go through passes.
    pub(crate) fn within(
        device: &Device,
        shape: [usize; 3],
        limits: Limits,
    ) -> Result<Self, DeviceFftError> {
        check(shape)?;
        let [x, y, z] = shape;
        let rows =
            Way::new(RowLines::new(device, shape, limits), || RowPasses::new(device, shape))?;
        let rest = Volume::new(device, [x / 2 + 1, y, z], &[1, 2], limits)?;
        Ok(Self { shape: VolumeShape(shape), rows, rest })
    }

    /// Number of elements of a spectrum.
    pub fn spectrum_elements(&self) -> usize {
        self.rest.elements()
    }

    /// As that of [`DeviceFft`](super::DeviceFft::error_bound).
    pub fn error_bound(&self) -> f64 {
        error_bound(self.elements())
    }

    /// The `spectrum` of `volume`.
    ///
    /// # Errors
    /// Where the device fails, or a buffer is another's or of another length.
    pub fn forward(
        &self,
        volume: &Buffer<f32>,
        spectrum: &mut Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        self.expect(volume, spectrum)?;
        self.rows.go(
            || self.passes(),
            |which| match which {
                Which::Lines(lines) => lines.forward(volume, spectrum),
                Which::Passes(passes) => passes.forward(volume, spectrum),
            },
        )?;
        self.rest.transform(spectrum, 1.0, 1.0)
    }

    /// The `volume` that has this `spectrum`, which is overwritten with intermediate results.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn inverse(
        &self,
        spectrum: &mut Buffer<Complex32>,
        volume: &mut Buffer<f32>,
    ) -> Result<(), DeviceError> {
        self.expect(volume, spectrum)?;
        self.rest.transform(spectrum, -1.0, 1.0)?;
        let scale = 1.0 / self.elements() as f32;
        self.rows.go(
            || self.passes(),
            |which| match which {
                Which::Lines(lines) => lines.inverse(spectrum, volume, scale),
                Which::Passes(passes) => passes.inverse(spectrum, volume, scale),
            },
        )
    }

    /// As that of complex transforms.
    pub(crate) fn refusal(&self) -> Option<&DeviceError> {
        self.rows.refusal().or_else(|| self.rest.refusal())
    }

    fn passes(&self) -> Result<RowPasses, DeviceError> {
        RowPasses::new(&self.rest.device, self.shape())
    }

    fn expect(
        &self,
        volume: &Buffer<f32>,
        spectrum: &Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        expect(&self.rest.device, volume, self.elements())?;
        expect(&self.rest.device, spectrum, self.spectrum_elements())
    }
}

impl Deref for DeviceRealFft {
    type Target = VolumeShape;

    fn deref(&self) -> &VolumeShape {
        &self.shape
    }
}

/// Around passes, for checks.
pub(super) fn source_of_passes() -> KernelSource {
    passes::source()
}

/// Of rows of one to three stages, for checks.
pub(super) fn sources_of_lines() -> Vec<KernelSource> {
    lines::kernel_sources()
}
