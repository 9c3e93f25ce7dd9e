//! Fields of tensors on a device: each component of the magnetisation in a transform of a real volume.

use fimbria_compute::Workers;
use fimbria_compute::device::{
    Argument, Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceRealFft};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use super::operator::{components, fibres_of, spectrum_of_component};
use crate::convolution::{padded, place};
use crate::device::{DeviceOperatorError, Places, vectors_source};
use crate::operator::check_weights;
use crate::{FieldModel, Share};

/// The text of the kernels of tensors.
pub(crate) fn tensors_source() -> KernelSource {
    KernelSource::new("qsm tensors", include_str!("../device/tensors.cl"))
}

/// The fields of tensors on a device, as [`TensorOperator`](super::TensorOperator) makes them on
/// threads.
pub struct DeviceTensors {
    domain: DeviceSpace,
    range: DeviceSpace,
    fft: DeviceRealFft,
    components: Vec<Component>,
    /// Of each unknown.
    place: Buffer<u32>,
    /// Which of the fibres it has, or `u32::MAX`.
    fibre: Buffer<u32>,
    /// M of anisotropy 1, three numbers a fibre.
    m: Buffer<f32>,
    receivers: Places,
    /// Of each receiver, 1 without.
    weights: Buffer<f32>,
    kernels: Kernels,
}

/// A component of the magnetisation.
struct Component {
    axis: usize,
    /// Part of B0 along it.
    b0: f32,
    /// Half of its kernel's spectrum.
    spectrum: Buffer<f32>,
}

struct Kernels {
    magnetise: Kernel,
    magnetise_adjoint: Kernel,
    add_field: Kernel,
    component_of: Kernel,
    scatter: Kernel,
    gather: Kernel,
    multiply_weights: Kernel,
}

impl DeviceTensors {
    /// The components that belong to one of several; `workers` prepare them.
    ///
    /// # Errors
    /// [`DeviceOperatorError`].
    pub fn of_share(
        model: &FieldModel,
        device: &Device,
        workers: &Workers,
        share: Share,
    ) -> Result<Self, DeviceOperatorError> {
        let geometry = &model.geometry;
        let shape = padded(geometry.dims)?;
        let component = |axis: usize| -> Result<Component, DeviceOperatorError> {
            let spectrum = spectrum_of_component(model, shape, axis, workers)?;
            let b0 = geometry.b0[axis] as f32;
            Ok(Component { axis, b0, spectrum: device.upload(&spectrum)? })
        };
        let fibres: Vec<(u32, [f64; 3])> = fibres_of(model).collect();
        let mut fibre = vec![u32::MAX; model.unknowns.len()];
        (0..).zip(&fibres).for_each(|(f, (unknown, _))| fibre[*unknown as usize] = f);
        let m: Vec<f32> = fibres.iter().flat_map(|(_, m)| m.map(|m| m as f32)).collect();
        let places = |voxels: &[u32]| -> Vec<u32> {
            voxels.iter().map(|&voxel| place(geometry, shape, voxel)).collect()
        };
        let receivers = places(&model.receivers);
        let every: Vec<u32> = (0..receivers.len() as u32).collect();
        let (own, vectors) = (tensors_source(), vectors_source());
        Ok(Self {
            domain: DeviceSpace::new(device, model.unknowns.len() + fibres.len())?,
            range: DeviceSpace::new(device, model.receivers.len())?,
            fft: DeviceRealFft::new(device, shape)?,
            components: components(share).into_iter().map(component).collect::<Result<_, _>>()?,
            place: device.upload(&places(&model.unknowns))?,
            fibre: device.upload(&fibre)?,
            m: device.upload(&m)?,
            receivers: Places::new(device, &receivers, &every)?,
            weights: device.upload(&vec![1.0; model.receivers.len()])?,
            kernels: Kernels {
                magnetise: device.kernel(&own, "magnetise")?,
                magnetise_adjoint: device.kernel(&own, "magnetise_adjoint")?,
                add_field: device.kernel(&own, "add_field")?,
                component_of: device.kernel(&own, "component_of")?,
                scatter: device.kernel(&vectors, "scatter_plain")?,
                gather: device.kernel(&vectors, "gather_plain")?,
                multiply_weights: device.kernel(&vectors, "multiply_weights")?,
            },
        })
    }

    /// Each receiver's field times its weight.
    ///
    /// # Errors
    /// Where there is not one finite weight for each receiver, or the device refuses.
    pub fn weighted(mut self, weights: &[f32]) -> Result<Self, DeviceOperatorError> {
        check_weights(weights, self.range.len())?;
        self.weights = self.range.device().upload(weights)?;
        Ok(self)
    }

    /// A volume of zeros.
    fn volume(&self) -> Result<Buffer<f32>, DeviceError> {
        self.range.device().zeros(self.fft.elements())
    }

    /// Room for half a spectrum.
    fn spectrum(&self) -> Result<Buffer<Complex32>, DeviceError> {
        self.range.device().allocate(self.fft.spectrum_elements())
    }

    /// What both kernels of magnetisation begin with.
    fn of_unknowns(&self, component: &Component) -> Vec<Argument> {
        vec![
            (self.place.len() as u32).into(),
            (component.axis as u32).into(),
            component.b0.into(),
            (&self.place).into(),
            (&self.fibre).into(),
            (&self.m).into(),
        ]
    }
}

impl Operator for DeviceTensors {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let half = self.fft.spectrum_elements();
        let (mut volume, mut spectrum) = (self.volume()?, self.spectrum()?);
        let mut field = self.range.device().zeros::<Complex32>(half)?;
        for component in &self.components {
            let mut arguments = self.of_unknowns(component);
            arguments.extend::<[Argument; 2]>([x.into(), (&mut volume).into()]);
            let launch = Launch::items(self.place.len());
            // SAFETY: the kernel's eight parameters; places lie in the volume, the fibres' numbers in x
            // and m.
            unsafe { self.kernels.magnetise.launch(launch, &arguments)? };
            self.fft.forward(&volume, &mut spectrum)?;
            let arguments = [
                (half as u64).into(),
                (&component.spectrum).into(),
                (&spectrum).into(),
                (&mut field).into(),
            ];
            // SAFETY: the kernel's four parameters; all have an element for each of the half spectrum.
            unsafe { self.kernels.add_field.launch(Launch::items(half), &arguments)? };
        }
        self.fft.inverse(&mut field, &mut volume)?;
        let n = self.range.len();
        let arguments = [
            (n as u64).into(),
            (&self.receivers.place).into(),
            (&self.receivers.index).into(),
            (&volume).into(),
            (&mut *y).into(),
        ];
        // SAFETY: the kernel's five parameters; places lie in the volume, indices in y.
        unsafe { self.kernels.gather.launch(Launch::items(n), &arguments)? };
        let arguments = [(n as u64).into(), (&self.weights).into(), y.into()];
        // SAFETY: the kernel's three parameters; both vectors have n elements.
        unsafe { self.kernels.multiply_weights.launch(Launch::items(n), &arguments) }
    }
}

impl LinearOperator for DeviceTensors {
    /// The kernels are even: the same convolutions the other way.
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let (n, half) = (self.range.len(), self.fft.spectrum_elements());
        let (mut volume, mut field) = (self.volume()?, self.spectrum()?);
        let arguments = [
            (n as u64).into(),
            (&self.receivers.place).into(),
            (&self.receivers.index).into(),
            (&self.weights).into(),
            y.into(),
            (&mut volume).into(),
        ];
        // SAFETY: the kernel's six parameters; places lie in the volume, indices in y.
        unsafe { self.kernels.scatter.launch(Launch::items(n), &arguments)? };
        self.fft.forward(&volume, &mut field)?;
        x.fill_zero()?;
        let mut spectrum = self.spectrum()?;
        for component in &self.components {
            let arguments = [
                (half as u64).into(),
                (&component.spectrum).into(),
                (&field).into(),
                (&mut spectrum).into(),
            ];
            // SAFETY: as for the product.
            unsafe { self.kernels.component_of.launch(Launch::items(half), &arguments)? };
            self.fft.inverse(&mut spectrum, &mut volume)?;
            let mut arguments = self.of_unknowns(component);
            arguments.extend::<[Argument; 2]>([(&volume).into(), (&mut *x).into()]);
            let launch = Launch::items(self.place.len());
            // SAFETY: as for the product.
            unsafe { self.kernels.magnetise_adjoint.launch(launch, &arguments)? };
        }
        Ok(())
    }
}
