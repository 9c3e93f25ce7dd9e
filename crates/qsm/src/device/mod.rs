//! The same operators on a device: vectors stay there, a solver moves only its scalars.

mod laplacian;
mod lists;
mod pairs;
mod tiles;

use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceFftError, DeviceRealFft};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};
use fimbria_compute::{Backend, Workers};

pub use self::laplacian::DeviceLaplacian;
pub(crate) use self::laplacian::laplacian_source;
use self::pairs::DevicePairs;
pub(crate) use self::pairs::pairs_source;
use crate::convolution::{padded, place, sphere_spectrum};
use crate::operator::{Inside, Sources, check_weights};
use crate::{FieldModel, Products, QsmError, Share};

/// Why an operator cannot be had on a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceOperatorError {
    /// The problem itself.
    #[error(transparent)]
    Qsm(#[from] QsmError),
    /// There is no transform of its shape.
    #[error(transparent)]
    Fft(#[from] DeviceFftError),
    /// The device refuses.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Voxels of a padded volume from which its transforms gain by a device that nobody named: of smaller ones a
/// map is finished on threads before a device has its kernels.
const PAYS_FROM: usize = 1 << 21;

/// Whether the devices of `on` are expected to gain by the transforms of a volume of `dims`, padded to half as
/// much again: true of any where somebody named them.
pub fn gains(on: &Backend<'_>, dims: [usize; 3]) -> bool {
    let voxels: usize = dims.map(|n| n + n / 2).iter().product();
    !on.devices.is_empty() && (voxels >= PAYS_FROM || !on.only_where_it_pays)
}

/// `on` without its devices where these do not [gain](gains).
pub(crate) fn where_it_gains<'a>(on: &Backend<'a>, dims: [usize; 3]) -> Backend<'a> {
    if gains(on, dims) { *on } else { Backend { devices: &[], ..*on } }
}

/// Why an iteration on a device came to no map.
pub(crate) enum Ended {
    /// It would come to none on threads either.
    Whole(QsmError),
    /// The device failed, or cannot have it.
    Device(DeviceOperatorError),
}

impl<E: Into<DeviceOperatorError>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Device(error.into())
    }
}

/// Vectors over unknowns and over receivers that a solver has, with its penalty's, at most.
const VECTORS: usize = 16;

/// A on a device, as [`HostOperator`](crate::HostOperator) is on threads.
pub struct DeviceOperator {
    domain: DeviceSpace,
    range: DeviceSpace,
    spheres: SphereSum,
    cylinders: DevicePairs,
    inside: InsideArrays,
    weights: Option<Buffer<f32>>,
    kernels: Kernels,
}

/// How the spheres are summed.
enum SphereSum {
    None,
    Convolution(Box<DeviceConvolution>),
    Pairs(Box<DevicePairs>),
}

impl SphereSum {
    /// Bytes that a product takes while it is made.
    fn bytes_of_product(&self) -> u64 {
        match self {
            // A volume and its spectrum.
            Self::Convolution(convolution) => {
                let fft = &convolution.fft;
                (size_of::<f32>() * fft.elements()
                    + size_of::<Complex32>() * fft.spectrum_elements()) as u64
            }
            Self::None | Self::Pairs(_) => 0,
        }
    }
}

/// What sources do in their own voxels.
struct InsideArrays {
    unknown: Buffer<u32>,
    receiver: Buffer<u32>,
    field: Buffer<f32>,
}

/// The kernels around the sums.
struct Kernels {
    add_plain: Kernel,
    add_inside: Kernel,
    multiply_weights: Kernel,
}

/// Places in half spectra, for the texts of kernels that use them.
pub(crate) const SPECTRA: &str = include_str!("spectra.cl");
/// Neighbours in a volume whose ends meet, likewise.
pub(crate) const RING: &str = include_str!("ring.cl");

/// The text of the kernels that move numbers.
pub(crate) fn vectors_source() -> KernelSource {
    laplacian_source(true)
}

impl DeviceOperator {
    /// The whole of A on `device`; `workers` prepare it.
    ///
    /// # Errors
    /// [`DeviceOperatorError`].
    pub fn new(
        model: &FieldModel,
        products: Products,
        device: &Device,
        workers: &Workers,
    ) -> Result<Self, DeviceOperatorError> {
        Self::of_share(model, products, device, workers, Share::WHOLE)
    }

    /// The part of A that belongs to the sources of one of several: their sum is A.
    ///
    /// # Errors
    /// [`DeviceOperatorError`].
    pub fn of_share(
        model: &FieldModel,
        products: Products,
        device: &Device,
        workers: &Workers,
        share: Share,
    ) -> Result<Self, DeviceOperatorError> {
        let cull = products == Products::Fast;
        let sources = Sources::of_share(model, products, share);
        let spheres = if sources.spheres.is_empty() {
            SphereSum::None
        } else if cull {
            let convolution = DeviceConvolution::new(model, &sources.spheres, device, workers)?;
            SphereSum::Convolution(Box::new(convolution))
        } else {
            SphereSum::Pairs(Box::new(DevicePairs::spheres(model, &sources.spheres, device)?))
        };
        // Vectors of solvers.
        let vectors = VECTORS * (model.unknowns.len() + model.receivers.len()) * size_of::<f32>();
        let later = spheres.bytes_of_product() + vectors as u64;
        let source = vectors_source();
        let inside = sources.inside(model);
        let of = |part: fn(&Inside) -> u32| inside.iter().map(part).collect::<Vec<u32>>();
        let field: Vec<f32> = inside.iter().map(|inside| inside.field as f32).collect();
        Ok(Self {
            domain: DeviceSpace::new(device, model.unknowns.len())?,
            range: DeviceSpace::new(device, model.receivers.len())?,
            spheres,
            cylinders: DevicePairs::cylinders(model, &sources, device, cull, later)?,
            inside: InsideArrays {
                unknown: device.upload(&of(|inside| inside.unknown))?,
                receiver: device.upload(&of(|inside| inside.receiver))?,
                field: device.upload(&field)?,
            },
            weights: None,
            kernels: Kernels {
                add_plain: device.kernel(&source, "add_plain")?,
                add_inside: device.kernel(&source, "add_inside")?,
                multiply_weights: device.kernel(&source, "multiply_weights")?,
            },
        })
    }

    /// How many pairs of a cylinder and a tile the lists have, of the product and of the adjoint.
    pub(crate) fn listed(&self) -> [usize; 2] {
        self.cylinders.lists().map(|list| list.map_or(0, |list| list.hits.len()))
    }

    /// The same where memory had been too short for lists.
    pub(crate) fn without_lists(mut self) -> Self {
        self.cylinders.forget_lists();
        self
    }

    /// W A: each receiver's field times its weight.
    ///
    /// # Errors
    /// Where there is not one finite weight for each receiver, or the device refuses.
    pub fn weighted(mut self, weights: &[f32]) -> Result<Self, DeviceOperatorError> {
        check_weights(weights, self.range.len())?;
        self.weights = Some(self.range.device().upload(weights)?);
        Ok(self)
    }

    fn add_inside(
        &self,
        (from, x): (&Buffer<u32>, &Buffer<f32>),
        (to, y): (&Buffer<u32>, &mut Buffer<f32>),
    ) -> Result<(), DeviceError> {
        let field = &self.inside.field;
        let n = field.len();
        let arguments =
            [(n as u64).into(), from.into(), to.into(), field.into(), x.into(), y.into()];
        // SAFETY: the kernel's six parameters; the lists have n entries, indices of their vectors,
        // each voxel once.
        unsafe { self.kernels.add_inside.launch(Launch::items(n), &arguments) }
    }
}

impl Operator for DeviceOperator {
    fimbria_compute::between!(DeviceSpace => DeviceSpace);

    fn apply(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        y.fill_zero()?;
        let n = self.range.len();
        match &self.spheres {
            SphereSum::None => {}
            SphereSum::Convolution(sum) => sum.field(x, y)?,
            SphereSum::Pairs(sum) => sum.add_field(x, y, &self.kernels.add_plain)?,
        }
        self.cylinders.add_field(x, y, &self.kernels.add_plain)?;
        self.add_inside((&self.inside.unknown, x), (&self.inside.receiver, y))?;
        if let Some(weights) = &self.weights {
            let arguments = [(n as u64).into(), weights.into(), y.into()];
            // SAFETY: the kernel's three parameters; both vectors have n elements.
            unsafe { self.kernels.multiply_weights.launch(Launch::items(n), &arguments)? };
        }
        Ok(())
    }
}

impl LinearOperator for DeviceOperator {
    fn adjoint(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.domain.check(x)?;
        self.range.check(y)?;
        let n = self.range.len();
        let weighted: Buffer<f32>;
        let y = match &self.weights {
            None => y,
            Some(weights) => {
                let mut copy = self.range.zeros()?;
                self.range.copy(y, &mut copy)?;
                let arguments = [(n as u64).into(), weights.into(), (&mut copy).into()];
                // SAFETY: the kernel's three parameters; both vectors have n elements.
                unsafe { self.kernels.multiply_weights.launch(Launch::items(n), &arguments)? };
                weighted = copy;
                &weighted
            }
        };
        x.fill_zero()?;
        match &self.spheres {
            SphereSum::None => {}
            SphereSum::Convolution(sum) => sum.gather(y, x)?,
            SphereSum::Pairs(sum) => sum.gather(y, x)?,
        }
        self.cylinders.gather(y, x)?;
        self.add_inside((&self.inside.receiver, y), (&self.inside.unknown, x))
    }
}

/// Convolution with the spherical kernel, as [`Convolution`](crate::convolution::Convolution).
struct DeviceConvolution {
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
    fn new(
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

    fn field(&self, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.convolve((&self.sources, x), (&self.receivers, y))
    }

    fn gather(&self, y: &Buffer<f32>, x: &mut Buffer<f32>) -> Result<(), DeviceError> {
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
