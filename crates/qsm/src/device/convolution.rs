//! Convolution with the spherical kernel on a device.

use fimbria_compute::Workers;
use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, Launch};
use fimbria_compute::fft::{Complex32, DeviceRealFft};

use super::{DeviceOperatorError, vectors_source};
use crate::FieldModel;
use crate::convolution::{padded, place, sphere_spectrum};

/// Convolution with the spherical kernel, as [`Convolution`](crate::convolution::Convolution).
pub(super) struct DeviceConvolution {
    fft: DeviceRealFft,
    /// Half of the kernel's.
    spectrum: Buffer<f32>,
    sources: Places,
    receivers: Places,
    scatter: Kernel,
    multiply: Kernel,
    gather: Kernel,
}

/// Where the elements of a vector lie in a volume.
pub(crate) struct Places {
    pub(crate) place: Buffer<u32>,
    pub(crate) index: Buffer<u32>,
    ones: Buffer<f32>,
}

impl Places {
    pub(crate) fn new(device: &Device, place: &[u32], index: &[u32]) -> Result<Self, DeviceError> {
        let ones = vec![1.0; place.len()];
        Ok(Self {
            place: device.upload(place)?,
            index: device.upload(index)?,
            ones: device.upload(&ones)?,
        })
    }
}

impl DeviceConvolution {
    pub(super) fn new(
        model: &FieldModel,
        spheres: &[u32],
        device: &Device,
        workers: &Workers,
    ) -> Result<Self, DeviceOperatorError> {
        let geometry = &model.geometry;
        let shape = padded(geometry.dims)?;
        let (_, spectrum) = sphere_spectrum(geometry, model.support, shape, workers)?;
        let spectrum: Vec<f32> = spectrum.into_iter().map(|value| value as f32).collect();
        let place = |voxel: u32| place(geometry, shape, voxel);
        let sources: Vec<u32> =
            spheres.iter().map(|&i| place(model.unknowns[i as usize])).collect();
        let receivers: Vec<u32> = model.receivers.iter().map(|&v| place(v)).collect();
        let every: Vec<u32> = (0..receivers.len() as u32).collect();
        let source = vectors_source();
        Ok(Self {
            fft: DeviceRealFft::new(device, shape)?,
            spectrum: device.upload(&spectrum)?,
            sources: Places::new(device, &sources, spheres)?,
            receivers: Places::new(device, &receivers, &every)?,
            scatter: device.kernel(&source, "scatter_plain")?,
            multiply: device.kernel(&source, "multiply_spectrum")?,
            gather: device.kernel(&source, "gather_plain")?,
        })
    }

    /// Bytes that a product takes while it is made: a volume and its spectrum.
    pub(super) fn bytes_of_product(&self) -> u64 {
        let (reals, complex) = (self.fft.elements(), self.fft.spectrum_elements());
        (size_of::<f32>() * reals + size_of::<Complex32>() * complex) as u64
    }

    pub(super) fn field(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.convolve((&self.sources, x), (&self.receivers, y))
    }

    pub(super) fn gather(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.convolve((&self.receivers, y), (&self.sources, x))
    }

    fn convolve(
        &self,
        (from, x): (&Places, &Buffer<f32>),
        (to, y): (&Places, &mut Buffer<f32>),
    ) -> Result<(), DeviceError> {
        let device = self.spectrum.device();
        let mut volume = device.zeros::<f32>(self.fft.elements())?;
        let mut spectrum = device.allocate::<Complex32>(self.spectrum.len())?;
        let n = from.place.len();
        let arguments = [
            (n as u64).into(),
            (&from.place).into(),
            (&from.index).into(),
            (&from.ones).into(),
            x.into(),
            (&mut volume).into(),
        ];
        // SAFETY: the kernel's six parameters; places lie in the volume, indices in x.
        unsafe { self.scatter.launch(Launch::items(n), &arguments)? };
        self.fft.forward(&volume, &mut spectrum)?;
        let elements = spectrum.len();
        let arguments = [(elements as u64).into(), (&self.spectrum).into(), (&mut spectrum).into()];
        // SAFETY: the kernel's three parameters; both have as many elements.
        unsafe { self.multiply.launch(Launch::items(elements), &arguments)? };
        self.fft.inverse(&mut spectrum, &mut volume)?;
        let n = to.place.len();
        let arguments =
            [(n as u64).into(), (&to.place).into(), (&to.index).into(), (&volume).into(), y.into()];
        // SAFETY: the kernel's five parameters; places lie in the volume, indices in y.
        unsafe { self.gather.launch(Launch::items(n), &arguments) }
    }
}
