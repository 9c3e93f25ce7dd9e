//! The steps on a device: the map stays there as half a spectrum. Three transforms of real volumes a step:
//! back for the map and for its field, there for what pulls at it.

use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceRealFft};
use fimbria_compute::math;
use fimbria_compute::operator::VectorSpace as _;

use super::{Descent, Problem};
use crate::device::{DeviceOperatorError, Ended};

/// The text of the kernels of steps downhill.
pub(crate) fn nonlinear_source() -> KernelSource {
    KernelSource::new("qsm nonlinear", include_str!("../device/nonlinear.cl"))
        .after(math::KERNEL_TEXT)
}

/// The map on a device, and where the next step leads.
pub(super) struct OnDevice {
    spectra: DeviceSpace,
    unknowns: DeviceSpace,
    fft: DeviceRealFft,
    radians: f32,
    lambda: f32,
    dipole: Buffer<f32>,
    place: Buffer<u32>,
    field: Buffer<f32>,
    weights: Buffer<f32>,
    /// Half spectra of the map and of the slope.
    chi: Buffer<Complex32>,
    slope: Buffer<Complex32>,
    /// Half spectra on the way to and from volumes: of the map, and of its field or of what pulls at it.
    of_map: Buffer<Complex32>,
    other: Buffer<Complex32>,
    /// The map, its field, and what pulls at it, 0 where nothing is known.
    map: Buffer<f32>,
    map_field: Buffer<f32>,
    pull: Buffer<f32>,
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
        let fft = DeviceRealFft::new(device, problem.space.shape())?;
        let (elements, half) = (fft.elements(), fft.spectrum_elements());
        let n = problem.places.len();
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
            spectra: DeviceSpace::new(device, half)?,
            fft,
            radians: problem.radians,
            lambda: problem.lambda,
            dipole: device.upload(&problem.space.dipole)?,
            place: device.upload(&problem.places)?,
            field: device.upload(problem.field)?,
            weights: device.upload(problem.weights.unwrap_or(&ones))?,
            chi: device.zeros(half)?,
            slope: device.zeros(half)?,
            of_map: device.zeros(half)?,
            other: device.zeros(half)?,
            map: device.zeros(elements)?,
            map_field: device.zeros(elements)?,
            pull: device.zeros(elements)?,
            size: device.zeros(half)?,
            inside: unknowns.zeros()?,
            predicted: unknowns.zeros()?,
            off: unknowns.zeros()?,
            unknowns,
            kernels,
        };
        begun.find_slope_there()?;
        Ok(begun)
    }

    /// Σ x² over the padded volume of a real map with this half spectrum.
    fn square(&mut self, which: Which) -> Result<f64, DeviceError> {
        let half = self.fft.spectrum_elements();
        let [nx, _, _] = self.fft.shape_arguments();
        let spectrum = match which {
            Which::Map => &self.chi,
            Which::Slope => &self.slope,
        };
        let arguments = [(half as u64).into(), nx, spectrum.into(), (&mut self.size).into()];
        // SAFETY: the kernel's four parameters; both have an element for each of the half spectrum.
        unsafe { self.kernels.sizes.launch(Launch::items(half), &arguments)? };
        Ok(self.spectra.dot(&self.size, &self.size)? / self.fft.elements() as f64)
    }

    fn find_slope_there(&mut self) -> Result<(), DeviceError> {
        let (n, half) = (self.place.len(), self.fft.spectrum_elements());
        let arguments = [
            (half as u64).into(),
            (&self.dipole).into(),
            (&self.chi).into(),
            (&mut self.of_map).into(),
            (&mut self.other).into(),
        ];
        // SAFETY: the kernel's five parameters; all have an element for each of the half spectrum.
        unsafe { self.kernels.with_field.launch(Launch::items(half), &arguments)? };
        self.fft.inverse(&mut self.of_map, &mut self.map)?;
        self.fft.inverse(&mut self.other, &mut self.map_field)?;
        let arguments = [
            (n as u64).into(),
            self.radians.into(),
            (&self.place).into(),
            (&self.field).into(),
            (&self.weights).into(),
            (&self.map).into(),
            (&self.map_field).into(),
            (&mut self.pull).into(),
            (&mut self.inside).into(),
            (&mut self.predicted).into(),
            (&mut self.off).into(),
        ];
        // SAFETY: the kernel's eleven parameters; lists have n entries, places lie in the volumes, each once.
        unsafe { self.kernels.explain.launch(Launch::items(n), &arguments)? };
        self.fft.forward(&self.pull, &mut self.other)?;
        let arguments = [
            (half as u64).into(),
            self.lambda.into(),
            (&self.dipole).into(),
            (&self.other).into(),
            (&self.chi).into(),
            (&mut self.slope).into(),
        ];
        // SAFETY: the kernel's six parameters; all have an element for each of the half spectrum.
        unsafe { self.kernels.slope_of.launch(Launch::items(half), &arguments) }
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
        let half = self.fft.spectrum_elements();
        let arguments =
            [(half as u64).into(), step.into(), (&self.slope).into(), (&mut self.chi).into()];
        // SAFETY: the kernel's four parameters; both have an element for each of the half spectrum.
        unsafe { self.kernels.step_down.launch(Launch::items(half), &arguments)? };
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
