//! The iterations on a device: volumes stay there, their numbers come back. Transforms take two real volumes
//! each, as real and imaginary part.

mod generalised;
mod total;

use std::f32::consts::TAU;

use fimbria_compute::Progress;
use fimbria_compute::device::{
    Argument, Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceFft};
use fimbria_compute::math;
use fimbria_compute::operator::VectorSpace as _;

pub(super) use self::generalised::GeneralisedOnDevice;
pub(super) use self::total::TotalOnDevice;
use super::data::{Data, SETTLED, STEPS};
use super::edges::Ring;
use super::step::Step;
use super::{Variation, VariationMap};
use crate::device::{DeviceOperatorError, EDGES, Ended, PLACES, RING, SPECTRA};
use crate::fourier::KSpace;

/// The text of the kernels of variation.
pub(crate) fn variation_source() -> KernelSource {
    let text =
        [include_str!("../../device/variation.cl"), include_str!("../../device/generalised.cl")];
    KernelSource::new("qsm variation", text.join("\n"))
        .after(PLACES)
        .after(EDGES)
        .after(RING)
        .after(SPECTRA)
        .after(math::KERNEL_TEXT)
        .with_f32("TURN", TAU)
        .with_f32("SETTLED", SETTLED)
        .with("STEPS", STEPS)
}

/// What the padded volume and its unknowns are.
struct Scene<'a> {
    space: &'a KSpace<'a>,
    ring: Ring,
    places: &'a [u32],
    /// Which differences count.
    counted: Option<&'a [u8]>,
    variation: Variation,
}

/// What stays the same from step to step, of both iterations.
struct Common<'a> {
    scene: Scene<'a>,
    source: KernelSource,
    volumes: DeviceSpace,
    unknowns: DeviceSpace,
    fft: DeviceFft,
    /// Half the spectrum of D.
    dipole: Buffer<f32>,
    place: Buffer<u32>,
    /// Which differences count, and what is inside.
    bits: Buffer<u32>,
    ones: Buffer<f32>,
    split_parts: Kernel,
    at_places: Kernel,
    data_step: Kernel,
    outside_step: Kernel,
}

/// What changes from step to step, of both iterations.
struct Copies {
    /// z less its multiplier, and the map's copy less its multiplier.
    p: Buffer<f32>,
    q: Buffer<f32>,
    of_field: Buffer<f32>,
    /// The map, and the one that comes after.
    chi: Buffer<f32>,
    next: Buffer<f32>,
    work: Buffer<f32>,
    /// The data and their weights.
    field: Buffer<f32>,
    weights: Buffer<f32>,
    /// Of the unknowns: the field of the map, what it is off by, and any.
    predicted: Buffer<f32>,
    off: Buffer<f32>,
    inside: Buffer<f32>,
}

/// Where an iteration came to.
struct Reached {
    chi: Vec<f32>,
    field: Vec<f32>,
    log: Vec<Step>,
    has_settled: bool,
}

impl Reached {
    /// The map, which these explain a part of.
    fn into_map(self, coefficients: Vec<f64>, anisotropy: f64) -> VariationMap {
        let Self { chi, field, log, has_settled } = self;
        VariationMap { chi, coefficients, anisotropy, field, log, has_settled }
    }
}

impl<'a> Common<'a> {
    fn new(scene: Scene<'a>, device: &Device) -> Result<Self, DeviceOperatorError> {
        let elements = scene.space.elements();
        let mut bits = match scene.counted {
            None => vec![7; elements],
            Some(counted) => counted.iter().map(|&bits| u32::from(bits)).collect(),
        };
        scene.places.iter().for_each(|&place| bits[place as usize] |= 8);
        let source = variation_source();
        Ok(Self {
            volumes: DeviceSpace::new(device, elements)?,
            unknowns: DeviceSpace::new(device, scene.places.len())?,
            fft: DeviceFft::new(device, scene.space.shape(), &[0, 1, 2])?,
            dipole: device.upload(&scene.space.dipole)?,
            place: device.upload(scene.places)?,
            bits: device.upload(&bits)?,
            ones: device.upload(&vec![1.0; elements])?,
            split_parts: device.kernel(&source, "split_parts")?,
            at_places: device.kernel(&source, "at_places")?,
            data_step: device.kernel(&source, "data_step")?,
            outside_step: device.kernel(&source, "outside_step")?,
            scene,
            source,
        })
    }

    fn device(&self) -> &Device {
        self.volumes.device()
    }

    fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        self.device().kernel(&self.source, name)
    }

    fn complex(&self) -> Result<Buffer<Complex32>, DeviceError> {
        self.device().zeros(self.fft.elements())
    }

    /// So many numbers a voxel.
    fn of_each(&self, numbers: usize) -> Result<Buffer<f32>, DeviceError> {
        self.device().zeros(numbers * self.fft.elements())
    }

    /// Six: the shape, and how many voxels there are to a unit of length.
    fn ring(&self) -> Vec<Argument> {
        let per_length = self.scene.ring.per_length.map(Argument::from);
        self.fft.shape_arguments().into_iter().chain(per_length).collect()
    }

    /// Steps to the end: each makes from the copies the map `next` and its field `p`, brings the copies of the
    /// edges up to date, and returns the variation.
    fn run(
        &self,
        data: &Data<'_>,
        progress: &dyn Progress,
        mut step: impl FnMut(&mut Copies) -> Result<f64, DeviceError>,
    ) -> Result<Reached, Ended> {
        let Variation { iterations: most, tolerance, .. } = self.scene.variation;
        let mut copies = self.begin(data)?;
        let (mut log, mut has_settled) = (Vec::<Step>::new(), false);
        progress.start("inverting the field", most as u64);
        while log.len() < most {
            progress.check().map_err(|stop| Ended::Whole(stop.into()))?;
            let variation = step(&mut copies)?;
            let told = self.tell(&mut copies, data.radians, variation)?;
            log.push(told);
            progress.advance(1);
            has_settled = told.relative_change <= tolerance;
            if has_settled {
                break;
            }
            self.step_outside(&mut copies)?;
        }
        let n = self.place.len();
        let (mut chi, mut field) = (vec![0.0; n], vec![0.0; n]);
        self.gather(&copies.chi, &mut copies.inside)?;
        self.unknowns.download(&copies.inside, &mut chi)?;
        self.unknowns.download(&copies.predicted, &mut field)?;
        Ok(Reached { chi, field, log, has_settled })
    }

    fn begin(&self, data: &Data<'_>) -> Result<Copies, DeviceError> {
        let device = self.device();
        let mut p = vec![0.0_f32; self.fft.elements()];
        data.places.iter().zip(data.field).for_each(|(&place, &b)| p[place as usize] = b);
        let ones = vec![1.0; data.field.len()];
        let (volume, list) = (|| self.volumes.zeros(), || self.unknowns.zeros());
        Ok(Copies {
            p: device.upload(&p)?,
            q: volume()?,
            of_field: list()?,
            chi: volume()?,
            next: volume()?,
            work: volume()?,
            field: device.upload(data.field)?,
            weights: device.upload(data.weights.unwrap_or(&ones))?,
            predicted: list()?,
            off: list()?,
            inside: list()?,
        })
    }

    /// Goes on to the next map, takes the step of its field, and says how it went.
    fn tell(
        &self,
        copies: &mut Copies,
        radians: Option<f32>,
        variation: f64,
    ) -> Result<Step, DeviceError> {
        self.volumes.copy(&copies.next, &mut copies.work)?;
        self.volumes.axpy(-1.0, &copies.chi, &mut copies.work)?;
        let change = self.volumes.dot(&copies.work, &copies.work)?;
        let size = self.volumes.dot(&copies.next, &copies.next)?;
        std::mem::swap(&mut copies.chi, &mut copies.next);
        let n = self.place.len();
        let arguments = [
            (n as u64).into(),
            radians.unwrap_or(0.0).into(),
            (&self.place).into(),
            (&copies.field).into(),
            (&copies.weights).into(),
            (&mut copies.of_field).into(),
            (&mut copies.p).into(),
            (&mut copies.predicted).into(),
            (&mut copies.off).into(),
        ];
        // SAFETY: the kernel's nine parameters; lists have n entries, places lie in the volume, each once.
        unsafe { self.data_step.launch(Launch::items(n), &arguments)? };
        self.gather(&copies.chi, &mut copies.inside)?;
        let square = self.unknowns.dot(&copies.inside, &copies.inside)?;
        Ok(Step {
            rms: (square / n.max(1) as f64).sqrt(),
            relative_change: if size > 0.0 { (change / size).sqrt() } else { 0.0 },
            data: self.unknowns.dot(&copies.off, &copies.off)?,
            variation,
        })
    }

    fn step_outside(&self, copies: &mut Copies) -> Result<(), DeviceError> {
        let [before, sum] = self.scene.variation.outside.factors();
        let arguments = [
            (self.fft.elements() as u64).into(),
            before.into(),
            sum.into(),
            (&self.bits).into(),
            (&copies.chi).into(),
            (&mut copies.q).into(),
        ];
        // SAFETY: the kernel's six parameters; the volumes have as many elements.
        unsafe { self.outside_step.launch(self.fft.launch(), &arguments) }
    }

    /// The map and its field apart.
    fn split(&self, both: &Buffer<Complex32>, copies: &mut Copies) -> Result<(), DeviceError> {
        let arguments = [
            (self.fft.elements() as u64).into(),
            both.into(),
            (&mut copies.next).into(),
            (&mut copies.p).into(),
        ];
        // SAFETY: the kernel's four parameters; the volumes have as many elements.
        unsafe { self.split_parts.launch(self.fft.launch(), &arguments) }
    }

    fn gather(&self, volume: &Buffer<f32>, to: &mut Buffer<f32>) -> Result<(), DeviceError> {
        let n = to.len();
        let arguments = [(n as u64).into(), (&self.place).into(), volume.into(), to.into()];
        // SAFETY: the kernel's four parameters; lists have n entries, places lie in the volume.
        unsafe { self.at_places.launch(Launch::items(n), &arguments) }
    }
}
