//! The same operators on a device: vectors stay there, a solver moves only its scalars.

mod convolution;
mod error;
mod gain;
mod laplacian;
mod lists;
mod pairs;
mod tiles;

use fimbria_compute::Workers;
use fimbria_compute::device::{
    Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};

use self::convolution::DeviceConvolution;
pub(crate) use self::convolution::Places;
pub use self::error::DeviceOperatorError;
pub(crate) use self::error::Ended;
pub use self::gain::gains;
pub(crate) use self::gain::where_it_gains;
pub use self::laplacian::DeviceLaplacian;
pub(crate) use self::laplacian::laplacian_source;
use self::pairs::DevicePairs;
pub(crate) use self::pairs::pairs_source;
use crate::operator::{Inside, Sources, check_weights};
use crate::{FieldModel, Products, Share};

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
            Self::Convolution(convolution) => convolution.bytes_of_product(),
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
/// How edges come and go there, after neighbours and mathematics.
pub(crate) const EDGES: &str = include_str!("edges.cl");
/// A volume at a list of its places, likewise.
pub(crate) const PLACES: &str = include_str!("places.cl");

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

    /// How many pairs of a cylinder and a tile the lists have, of the product and of the adjoint; `None` of those
    /// that there are not.
    pub(crate) fn listed(&self) -> [Option<usize>; 2] {
        self.cylinders.lists().map(|list| list.map(|list| list.hits.len()))
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
