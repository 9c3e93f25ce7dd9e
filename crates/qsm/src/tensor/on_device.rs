//! Fields of tensors on a device: two components of the magnetisation in one transform.

use fimbria_compute::Workers;
use fimbria_compute::device::{
    Argument, Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceFft};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use super::operator::{components, fibres_of, model_of_fibres, spectrum_of_component};
use crate::convolution::{padded, place};
use crate::device::{DeviceLaplacian, DeviceOperatorError, Places, SPECTRA, vectors_source};
use crate::operator::check_weights;
use crate::{Edges, FieldModel, Share};

/// The text of the kernels of tensors.
pub(crate) fn tensors_source() -> KernelSource {
    KernelSource::new("qsm tensors", include_str!("../device/tensors.cl")).after(SPECTRA)
}

/// The fields of tensors on a device, as [`TensorOperator`](super::TensorOperator) makes them on
/// threads.
pub struct DeviceTensors {
    domain: DeviceSpace,
    range: DeviceSpace,
    fft: DeviceFft,
    pairs: Vec<Pair>,
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

/// One or two components of the magnetisation; of one both axes are the same.
struct Pair {
    axes: [usize; 2],
    has_second: bool,
    /// Parts of B0 along both.
    b0: [f32; 2],
    /// Half of each kernel's spectrum; a second one only where it is another.
    first: Buffer<f32>,
    second: Option<Buffer<f32>>,
}

impl Pair {
    fn second(&self) -> &Buffer<f32> {
        self.second.as_ref().unwrap_or(&self.first)
    }
}

struct Kernels {
    magnetise: Kernel,
    magnetise_adjoint: Kernel,
    field_of_both: Kernel,
    both_of_field: Kernel,
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
        let upload = |a: usize| -> Result<_, DeviceOperatorError> {
            Ok(device.upload(&spectrum_of_component(model, shape, a, workers)?)?)
        };
        let mut pairs = Vec::new();
        for axes in components(share).chunks(2) {
            let [a, b] = [axes[0], axes[axes.len() - 1]];
            pairs.push(Pair {
                axes: [a, b],
                has_second: axes.len() > 1,
                b0: [a, b].map(|axis| geometry.b0[axis] as f32),
                first: upload(a)?,
                second: if axes.len() > 1 { Some(upload(b)?) } else { None },
            });
        }
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
            fft: DeviceFft::new(device, shape, &[0, 1, 2])?,
            pairs,
            place: device.upload(&places(&model.unknowns))?,
            fibre: device.upload(&fibre)?,
            m: device.upload(&m)?,
            receivers: Places::new(device, &receivers, &every)?,
            weights: device.upload(&vec![1.0; model.receivers.len()])?,
            kernels: Kernels {
                magnetise: device.kernel(&own, "magnetise")?,
                magnetise_adjoint: device.kernel(&own, "magnetise_adjoint")?,
                field_of_both: device.kernel(&own, "field_of_both")?,
                both_of_field: device.kernel(&own, "both_of_field")?,
                scatter: device.kernel(&vectors, "scatter_complex")?,
                gather: device.kernel(&vectors, "gather_complex")?,
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
    fn volume(&self) -> Result<Buffer<Complex32>, DeviceError> {
        self.range.device().zeros(self.fft.elements())
    }

    /// What both kernels of magnetisation begin with.
    fn of_unknowns(&self, pair: &Pair) -> Vec<Argument> {
        vec![
            (self.place.len() as u32).into(),
            (pair.axes[0] as u32).into(),
            (pair.axes[1] as u32).into(),
            u32::from(pair.has_second).into(),
            pair.b0[0].into(),
            pair.b0[1].into(),
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
        let elements = self.fft.elements();
        let mut field = self.volume()?;
        for pair in &self.pairs {
            let mut both = self.volume()?;
            let mut arguments = self.of_unknowns(pair);
            arguments.extend::<[Argument; 2]>([x.into(), (&mut both).into()]);
            let launch = Launch::items(self.place.len());
            // SAFETY: the kernel's eleven parameters; places lie in the volume, the fibres' numbers in x
            // and m.
            unsafe { self.kernels.magnetise.launch(launch, &arguments)? };
            self.fft.forward(&mut both)?;
            let mut arguments = self.fft.shape_arguments().to_vec();
            arguments.extend::<[Argument; 4]>([
                (&pair.first).into(),
                pair.second().into(),
                (&both).into(),
                (&mut field).into(),
            ]);
            // SAFETY: the kernel's seven parameters; the volumes have an element for each of the shape,
            // the kernels half as many.
            unsafe { self.kernels.field_of_both.launch(Launch::items(elements), &arguments)? };
        }
        self.fft.inverse(&mut field)?;
        let n = self.range.len();
        let arguments = [
            (n as u64).into(),
            (&self.receivers.place).into(),
            (&self.receivers.index).into(),
            (&field).into(),
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
        let (n, elements) = (self.range.len(), self.fft.elements());
        let mut field = self.volume()?;
        let arguments = [
            (n as u64).into(),
            (&self.receivers.place).into(),
            (&self.receivers.index).into(),
            (&self.weights).into(),
            y.into(),
            (&mut field).into(),
        ];
        // SAFETY: the kernel's six parameters; places lie in the volume, indices in y.
        unsafe { self.kernels.scatter.launch(Launch::items(n), &arguments)? };
        self.fft.forward(&mut field)?;
        x.fill_zero()?;
        for pair in &self.pairs {
            let mut both = self.range.device().allocate::<Complex32>(elements)?;
            let mut arguments = self.fft.shape_arguments().to_vec();
            arguments.extend::<[Argument; 4]>([
                (&pair.first).into(),
                pair.second().into(),
                (&field).into(),
                (&mut both).into(),
            ]);
            // SAFETY: as for the product.
            unsafe { self.kernels.both_of_field.launch(Launch::items(elements), &arguments)? };
            self.fft.inverse(&mut both)?;
            let mut arguments = self.of_unknowns(pair);
            arguments.extend::<[Argument; 2]>([(&both).into(), (&mut *x).into()]);
            let launch = Launch::items(self.place.len());
            // SAFETY: as for the product.
            unsafe { self.kernels.magnetise_adjoint.launch(launch, &arguments)? };
        }
        Ok(())
    }
}

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
