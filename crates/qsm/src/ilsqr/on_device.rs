//! The two problems as operators on a device, and what the log is told of their maps.

use fimbria_compute::device::{
    Argument, Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceRealFft};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use super::operators::{AtUnknowns, OfCone, WeightedDipole};
use crate::device::{DeviceOperatorError, PLACES, RING, vectors_source};

/// The text of the kernels of least squares in the whole volume.
pub(crate) fn filters_source() -> KernelSource {
    KernelSource::new("qsm filters", include_str!("../device/filters.cl")).after(PLACES).after(RING)
}

/// A real volume times a filter in the Fourier domain.
struct Filter {
    fft: DeviceRealFft,
    /// Over the half spectrum.
    by: Buffer<f32>,
    multiply: Kernel,
}

impl Filter {
    fn new(device: &Device, shape: [usize; 3], by: &[f32]) -> Result<Self, DeviceOperatorError> {
        Ok(Self {
            fft: DeviceRealFft::new(device, shape)?,
            by: device.upload(by)?,
            multiply: device.kernel(&vectors_source(), "multiply_spectrum")?,
        })
    }

    /// The spectrum of `volume` times the filter.
    fn spectrum(&self, volume: &Buffer<f32>) -> Result<Buffer<Complex32>, DeviceError> {
        let n = self.by.len();
        let mut spectrum = self.by.device().allocate(n)?;
        self.fft.forward(volume, &mut spectrum)?;
        let arguments = [(n as u64).into(), (&self.by).into(), (&mut spectrum).into()];
        // SAFETY: the kernel's three parameters; both have n elements.
        unsafe { self.multiply.launch(Launch::items(n), &arguments)? };
        Ok(spectrum)
    }
}

/// As [`WeightedDipole`].
pub(super) struct DeviceDipole {
    domain: DeviceSpace,
    range: DeviceSpace,
    dipole: Filter,
    place: Buffer<u32>,
    weights: Buffer<f32>,
    weigh: Kernel,
    weigh_adjoint: Kernel,
}

impl DeviceDipole {
    pub(super) fn new(
        host: &WeightedDipole<'_, '_>,
        device: &Device,
    ) -> Result<Self, DeviceOperatorError> {
        let source = filters_source();
        Ok(Self {
            domain: DeviceSpace::new(device, host.domain().len())?,
            range: DeviceSpace::new(device, host.range().len())?,
            dipole: Filter::new(device, host.space.shape(), &host.space.dipole)?,
            place: device.upload(host.places)?,
            weights: device.upload(&host.weights)?,
            weigh: device.kernel(&source, "weigh")?,
            weigh_adjoint: device.kernel(&source, "weigh_adjoint")?,
        })
    }
}

impl Operator for DeviceDipole {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let mut volume = self.domain.device().allocate(self.domain.len())?;
        self.dipole.fft.inverse(&mut self.dipole.spectrum(x)?, &mut volume)?;
        let n = y.len();
        let arguments = [
            (n as u64).into(),
            (&self.place).into(),
            (&self.weights).into(),
            (&volume).into(),
            y.into(),
        ];
        // SAFETY: the kernel's five parameters; lists have n entries, places lie in the volume.
        unsafe { self.weigh.launch(Launch::items(n), &arguments) }
    }
}

impl LinearOperator for DeviceDipole {
    /// The dipole's field is even.
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let mut volume = self.domain.zeros()?;
        let n = y.len();
        let arguments = [
            (n as u64).into(),
            (&self.place).into(),
            (&self.weights).into(),
            y.into(),
            (&mut volume).into(),
        ];
        // SAFETY: the kernel's five parameters; lists have n entries, places lie in the volume, each once.
        unsafe { self.weigh_adjoint.launch(Launch::items(n), &arguments)? };
        self.dipole.fft.inverse(&mut self.dipole.spectrum(&volume)?, x)
    }
}

/// As [`OfCone`].
pub(super) struct DeviceCone {
    domain: DeviceSpace,
    range: DeviceSpace,
    cone: Filter,
    weights: Buffer<f32>,
    per_length: [f32; 3],
    slopes: Kernel,
    slopes_adjoint: Kernel,
}

impl DeviceCone {
    pub(super) fn new(host: &OfCone<'_, '_>, device: &Device) -> Result<Self, DeviceOperatorError> {
        let source = filters_source();
        let cone: Vec<f32> = host.cone.iter().map(|&is| f32::from(u8::from(is))).collect();
        let boundaries = &host.boundaries;
        Ok(Self {
            domain: DeviceSpace::new(device, host.domain().len())?,
            range: DeviceSpace::new(device, host.range().len())?,
            cone: Filter::new(device, host.space.shape(), &cone)?,
            weights: device.upload(boundaries.weights.as_flattened())?,
            per_length: boundaries.ring.per_length(),
            slopes: device.kernel(&source, "slopes")?,
            slopes_adjoint: device.kernel(&source, "slopes_adjoint")?,
        })
    }

    /// What both kernels begin with.
    fn ring(&self) -> Vec<Argument> {
        let mut arguments = self.cone.fft.shape_arguments().to_vec();
        arguments.extend(self.per_length.map(Argument::from));
        arguments.push((&self.weights).into());
        arguments
    }
}

impl Operator for DeviceCone {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let mut arguments = self.ring();
        arguments.push(x.into());
        arguments.push(y.into());
        // SAFETY: the kernel's nine parameters; the map has an element for each of the shape, slopes and
        // weights three.
        unsafe { self.slopes.launch(self.cone.fft.launch(), &arguments) }
    }
}

impl LinearOperator for DeviceCone {
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let mut arguments = self.ring();
        arguments.push(y.into());
        arguments.push((&mut *x).into());
        // SAFETY: the kernel's nine parameters; as for the product.
        unsafe { self.slopes_adjoint.launch(self.cone.fft.launch(), &arguments)? };
        self.cone.fft.inverse(&mut self.cone.spectrum(x)?, x)
    }
}

/// As [`AtUnknowns`].
pub(super) struct DeviceAtUnknowns {
    domain: DeviceSpace,
    range: DeviceSpace,
    place: Buffer<u32>,
    at_places: Kernel,
}

impl DeviceAtUnknowns {
    pub(super) fn new(
        host: &AtUnknowns<'_, '_>,
        device: &Device,
    ) -> Result<Self, DeviceOperatorError> {
        Ok(Self {
            domain: DeviceSpace::new(device, host.domain().len())?,
            range: DeviceSpace::new(device, host.range().len())?,
            place: device.upload(host.places)?,
            at_places: device.kernel(&filters_source(), "at_places")?,
        })
    }
}

impl Operator for DeviceAtUnknowns {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let n = y.len();
        let arguments = [(n as u64).into(), (&self.place).into(), x.into(), y.into()];
        // SAFETY: the kernel's four parameters; lists have n entries, places lie in the volume.
        unsafe { self.at_places.launch(Launch::items(n), &arguments) }
    }
}
