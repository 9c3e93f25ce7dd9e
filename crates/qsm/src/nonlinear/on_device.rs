//! The steps on a device: the map stays there as a spectrum. Two transforms a step, the map and its field
//! coming back as real and imaginary part of one.

use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceFft};
use fimbria_compute::math;
use fimbria_compute::operator::VectorSpace as _;

use super::{Descent, Problem};
use crate::device::{DeviceOperatorError, Ended, SPECTRA};

/// The text of the kernels of steps downhill.
pub(crate) fn nonlinear_source() -> KernelSource {
    KernelSource::new("qsm nonlinear", include_str!("../device/nonlinear.cl"))
        .after(SPECTRA)
        .after(math::KERNEL_TEXT)
}

/// The map on a device, and where the next step leads.
pub(super) struct OnDevice {
    volumes: DeviceSpace,
    unknowns: DeviceSpace,
    fft: DeviceFft,
    radians: f32,
    lambda: f32,
    dipole: Buffer<f32>,
    place: Buffer<u32>,
    field: Buffer<f32>,
    weights: Buffer<f32>,
    /// Spectra of the map and of the slope.
    chi: Buffer<Complex32>,
    slope: Buffer<Complex32>,
    both: Buffer<Complex32>,
    /// What pulls at the map, and its spectrum.
    pull: Buffer<Complex32>,
    /// Sizes of the elements of a spectrum.
    size: Buffer<f32>,
    /// Of the unknowns: the map, its field, and what that leaves of the phase.
    inside: Buffer<f32>,
    predicted: Buffer<f32>,
    off: Buffer<f32>,
    kernels: Kernels,
}

struct Kernels {
    step_down: Kernel,
    sizes: Kernel,
    with_field: Kernel,
    explain: Kernel,
    slope_of: Kernel,
}

impl OnDevice {
    /// At a map of zeros.
    pub(super) fn new(problem: &Problem<'_>, device: &Device) -> Result<Self, DeviceOperatorError> {
        let (elements, n) = (problem.space.elements(), problem.places.len());
        let source = nonlinear_source();
        let kernels = Kernels {
            step_down: device.kernel(&source, "step_down")?,
            sizes: device.kernel(&source, "sizes")?,
            with_field: device.kernel(&source, "with_field")?,
            explain: device.kernel(&source, "explain")?,
            slope_of: device.kernel(&source, "slope_of")?,
        };
        let ones = vec![1.0; n];
        let unknowns = DeviceSpace::new(device, n)?;
        let mut begun = Self {
            volumes: DeviceSpace::new(device, elements)?,
            fft: DeviceFft::new(device, problem.space.shape(), &[0, 1, 2])?,
            radians: problem.radians,
            lambda: problem.lambda,
            dipole: device.upload(&problem.space.dipole)?,
            place: device.upload(&problem.places)?,
            field: device.upload(problem.field)?,
            weights: device.upload(problem.weights.unwrap_or(&ones))?,
            chi: device.zeros(elements)?,
            slope: device.zeros(elements)?,
            both: device.zeros(elements)?,
            pull: device.zeros(elements)?,
            size: device.zeros(elements)?,
            inside: unknowns.zeros()?,
            predicted: unknowns.zeros()?,
            off: unknowns.zeros()?,
            unknowns,
            kernels,
        };
        begun.find_slope_there()?;
        Ok(begun)
    }

    /// Σ x² over the padded volume of a real map with this spectrum.
    fn square(&mut self, which: Which) -> Result<f64, DeviceError> {
        let elements = self.fft.elements();
        let spectrum = match which {
            Which::Map => &self.chi,
            Which::Slope => &self.slope,
        };
        let arguments = [(elements as u64).into(), spectrum.into(), (&mut self.size).into()];
        // SAFETY: the kernel's three parameters; both have as many elements.
        unsafe { self.kernels.sizes.launch(self.fft.launch(), &arguments)? };
        Ok(self.volumes.dot(&self.size, &self.size)? / elements as f64)
    }

    fn find_slope_there(&mut self) -> Result<(), DeviceError> {
        let [nx, ny, nz] = self.fft.shape_arguments();
        let n = self.place.len();
        let arguments =
            [nx, ny, nz, (&self.dipole).into(), (&self.chi).into(), (&mut self.both).into()];
        // SAFETY: the kernel's six parameters; spectra have an element for each of the shape, D half as
        // many.
        unsafe { self.kernels.with_field.launch(self.fft.launch(), &arguments)? };
        self.fft.inverse(&mut self.both)?;
        self.pull.fill_zero()?;
        let arguments = [
            (n as u64).into(),
            self.radians.into(),
            (&self.place).into(),
            (&self.field).into(),
            (&self.weights).into(),
            (&self.both).into(),
            (&mut self.pull).into(),
            (&mut self.inside).into(),
            (&mut self.predicted).into(),
            (&mut self.off).into(),
        ];
        // SAFETY: the kernel's ten parameters; lists have n entries, places lie in the volumes, each once.
        unsafe { self.kernels.explain.launch(Launch::items(n), &arguments)? };
        self.fft.forward(&mut self.pull)?;
        let arguments = [
            nx,
            ny,
            nz,
            self.lambda.into(),
            (&self.dipole).into(),
            (&self.pull).into(),
            (&self.chi).into(),
            (&mut self.slope).into(),
        ];
        // SAFETY: the kernel's eight parameters; as above.
        unsafe { self.kernels.slope_of.launch(self.fft.launch(), &arguments) }
    }
}

/// Which spectrum.
#[derive(Clone, Copy)]
enum Which {
    Map,
    Slope,
}

impl Descent for OnDevice {
    fn step_down(&mut self, step: f32) -> Result<(), Ended> {
        let arguments = [
            (self.fft.elements() as u64).into(),
            step.into(),
            (&self.slope).into(),
            (&mut self.chi).into(),
        ];
        // SAFETY: the kernel's four parameters; both have as many elements.
        unsafe { self.kernels.step_down.launch(self.fft.launch(), &arguments)? };
        Ok(())
    }

    fn find_slope(&mut self) -> Result<(), Ended> {
        self.find_slope_there()?;
        Ok(())
    }

    fn square_of_map(&mut self) -> Result<f64, Ended> {
        Ok(self.square(Which::Map)?)
    }

    fn square_of_slope(&mut self) -> Result<f64, Ended> {
        Ok(self.square(Which::Slope)?)
    }

    fn misfit(&self) -> Result<f64, Ended> {
        Ok(self.unknowns.dot(&self.off, &self.off)?)
    }

    fn rms(&self) -> Result<f64, Ended> {
        let n = self.unknowns.len().max(1) as f64;
        Ok((self.unknowns.dot(&self.inside, &self.inside)? / n).sqrt())
    }

    fn map_and_field(&self) -> Result<[Vec<f32>; 2], Ended> {
        Ok([self.inside.to_vec()?, self.predicted.to_vec()?])
    }
}
