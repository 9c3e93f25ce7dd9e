//! Pairs of rows by passes over all of them.

use super::super::passes::Passes;
use crate::device::{Argument, Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use crate::fft::Complex32;

/// Kernels around passes: pairs of rows are made, transformed, and their spectra parted.
pub(super) struct RowPasses {
    device: Device,
    /// Elements of a row, and rows.
    length: u32,
    rows: u32,
    passes: Passes,
    pair: Kernel,
    part: Kernel,
    join: Kernel,
    unpair: Kernel,
}

impl RowPasses {
    /// Of volumes of `shape`, of less than 2³² elements.
    pub(super) fn new(device: &Device, [x, y, z]: [usize; 3]) -> Result<Self, DeviceError> {
        let source = source();
        Ok(Self {
            device: device.clone(),
            length: x as u32,
            rows: (y * z) as u32,
            passes: Passes::new(device, [x, (y * z).div_ceil(2), 1], 0)?,
            pair: device.kernel(&source, "pair_rows")?,
            part: device.kernel(&source, "part_spectra")?,
            join: device.kernel(&source, "join_spectra")?,
            unpair: device.kernel(&source, "unpair_rows")?,
        })
    }

    /// Half the `spectrum` of each row of `volume`.
    pub(super) fn forward(
        &self,
        volume: &Buffer<f32>,
        spectrum: &mut Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        let [n, rows] = [self.length, self.rows].map(Argument::from);
        let mut both = self.pairs()?;
        let arguments = [volume.into(), (&mut both).into(), n, rows];
        // SAFETY: the kernel's four parameters; an item for each element of the pairs.
        unsafe { self.pair.launch(Launch::items(both.len()), &arguments)? };
        self.passes.transform(&mut both, 1.0, 1.0)?;
        let items = spectrum.len();
        let arguments = [(&both).into(), spectrum.into(), n, rows];
        // SAFETY: the kernel's four parameters; an item for each element of the spectrum.
        unsafe { self.part.launch(Launch::items(items), &arguments) }
    }

    /// Each row of `volume` of half its spectrum, times `scale`.
    pub(super) fn inverse(
        &self,
        spectrum: &Buffer<Complex32>,
        volume: &mut Buffer<f32>,
        scale: f32,
    ) -> Result<(), DeviceError> {
        let [n, rows] = [self.length, self.rows].map(Argument::from);
        let mut both = self.pairs()?;
        let arguments = [spectrum.into(), (&mut both).into(), n, rows];
        // SAFETY: the kernel's four parameters; an item for each element of the pairs.
        unsafe { self.join.launch(Launch::items(both.len()), &arguments)? };
        self.passes.transform(&mut both, -1.0, 1.0)?;
        let items = volume.len();
        let arguments = [(&both).into(), volume.into(), n, rows, scale.into()];
        // SAFETY: the kernel's five parameters; an item for each element of the volume.
        unsafe { self.unpair.launch(Launch::items(items), &arguments) }
    }

    /// Room for pairs of rows.
    fn pairs(&self) -> Result<Buffer<Complex32>, DeviceError> {
        self.device.allocate(self.length as usize * (self.rows as usize).div_ceil(2))
    }
}

/// The kernels around passes.
pub(super) fn source() -> KernelSource {
    KernelSource::new("fft pairs of rows", include_str!("pairs.cl"))
}
