//! Total variation. Two transforms an iteration.
//!
//! What diffusion explains needs no spectra: with P = 1 / (D² + μ L + ρ) an image Φ with the number c adds
//! c μ P L Φ to the map, and B with a takes a P D B off; both, and their fields, are volumes that are made
//! once, and the numbers follow from inner products with them.

use fimbria_compute::Progress;
use fimbria_compute::device::{Buffer, Device, DeviceError, Kernel, Launch};
use fimbria_compute::fft::Complex32;
use fimbria_compute::operator::VectorSpace as _;

use super::{Common, Copies, Scene};
use crate::device::{DeviceOperatorError, Ended};
use crate::variation::VariationMap;
use crate::variation::alternating::{Alternating, MU_OF_LAMBDA};
use crate::variation::data::Data;

/// As [`Alternating`] on threads.
pub(in crate::variation) struct TotalOnDevice<'a> {
    host: &'a Alternating<'a>,
    common: Common<'a>,
    /// Half the spectrum of P.
    inverse: Buffer<f32>,
    /// Differences of which no part costs anything, where there are some.
    free: Option<Buffer<f32>>,
    columns: Vec<Column>,
    pull_together: Kernel,
    invert: Kernel,
    add_column: Kernel,
    add_image: Kernel,
    shrink: Kernel,
}

/// What one of the numbers does: an image's, or that of the anisotropy.
struct Column {
    /// The image of every unknown.
    image: Option<Buffer<f32>>,
    /// What it adds to the map besides, and to the map's field.
    of_map: Buffer<f32>,
    of_field: Buffer<f32>,
}

/// What changes from step to step besides the copies.
struct Edges {
    /// y less its multiplier, and the multiplier.
    h: Buffer<f32>,
    u: Buffer<f32>,
    pull: Buffer<f32>,
    /// Right side and copy together, and what they give: the map and its field.
    both: Buffer<Complex32>,
    map: Buffer<Complex32>,
}

impl<'a> TotalOnDevice<'a> {
    pub(in crate::variation) fn new(
        host: &'a Alternating<'a>,
        device: &Device,
    ) -> Result<Self, DeviceOperatorError> {
        let scene = Scene {
            space: &host.space,
            ring: host.ring,
            places: &host.places,
            counted: host.counted.as_deref(),
            variation: host.variation,
        };
        let common = Common::new(scene, device)?;
        let columns = host.explained.responses(&host.space, &host.weights).map(|response| {
            Ok(Column {
                image: response.image.map(|image| device.upload(image)).transpose()?,
                of_map: device.upload(&response.of_map)?,
                of_field: device.upload(&response.of_field)?,
            })
        });
        Ok(Self {
            host,
            inverse: device.upload(&host.weights.inverse)?,
            free: host.free.as_ref().map(|free| device.upload(free.as_flattened())).transpose()?,
            columns: columns.collect::<Result<_, DeviceError>>()?,
            pull_together: common.kernel("pull_together")?,
            invert: common.kernel("invert")?,
            add_column: common.kernel("add_column")?,
            add_image: common.kernel("add_image")?,
            shrink: common.kernel("shrink")?,
            common,
        })
    }

    /// As [`Alternating::run`].
    pub(in crate::variation) fn run(
        &self,
        field: &[f32],
        weights: Option<&[f32]>,
        progress: &dyn Progress,
    ) -> Result<VariationMap, Ended> {
        let host = self.host;
        let data = Data { field, weights, radians: host.radians(), places: &host.places };
        let common = &self.common;
        let mut edges = Edges {
            h: common.of_each(3)?,
            u: common.of_each(3)?,
            pull: common.of_each(1)?,
            both: common.complex()?,
            map: common.complex()?,
        };
        let mut numbers = Vec::new();
        let reached = common.run(&data, progress, |copies| {
            numbers = self.find_map(copies, &mut edges)?;
            self.shrink(copies, &mut edges)?;
            let variation = common.volumes.dot(&copies.work, &common.ones)?;
            for (column, &number) in self.columns.iter().zip(&numbers) {
                if let Some(image) = &column.image {
                    self.add_image(number as f32, image, &mut copies.next)?;
                }
            }
            Ok(variation)
        })?;
        let anisotropy = if host.explained.has_field { numbers.pop().unwrap_or(0.0) } else { 0.0 };
        Ok(reached.into_map(numbers, anisotropy))
    }

    /// The map less its images, its field, and the numbers that agree best with the copies.
    fn find_map(&self, copies: &mut Copies, edges: &mut Edges) -> Result<Vec<f64>, DeviceError> {
        let (common, w) = (&self.common, &self.host.weights);
        let mut arguments = common.ring();
        arguments.extend([w.mu, w.rho].map(fimbria_compute::device::Argument::from));
        arguments.push((&copies.p).into());
        arguments.push((&copies.q).into());
        arguments.push((&edges.h).into());
        arguments.push((&mut edges.pull).into());
        arguments.push((&mut edges.both).into());
        // SAFETY: the kernel's thirteen parameters; all volumes have an element for each of the shape, that of
        // differences three.
        unsafe { self.pull_together.launch(common.fft.launch(), &arguments)? };
        let numbers = self.numbers(copies, edges)?;
        common.fft.forward(&mut edges.both)?;
        let [nx, ny, nz] = common.fft.shape_arguments();
        let arguments = [
            nx,
            ny,
            nz,
            (&common.dipole).into(),
            (&self.inverse).into(),
            (&edges.both).into(),
            (&mut edges.map).into(),
        ];
        // SAFETY: the kernel's seven parameters; the volumes have an element for each of the shape, the
        // spectra half as many.
        unsafe { self.invert.launch(common.fft.launch(), &arguments)? };
        common.fft.inverse(&mut edges.map)?;
        for (column, &number) in self.columns.iter().zip(&numbers) {
            let arguments = [
                (common.fft.elements() as u64).into(),
                (number as f32).into(),
                (&column.of_map).into(),
                (&column.of_field).into(),
                (&mut edges.map).into(),
            ];
            // SAFETY: the kernel's five parameters; the volumes have as many elements.
            unsafe { self.add_column.launch(common.fft.launch(), &arguments)? };
        }
        common.split(&edges.map, copies)?;
        Ok(numbers)
    }

    /// The numbers that agree best with the copies.
    fn numbers(&self, copies: &mut Copies, edges: &Edges) -> Result<Vec<f64>, DeviceError> {
        if self.columns.is_empty() {
            return Ok(Vec::new());
        }
        let (common, rho) = (&self.common, f64::from(self.host.weights.rho));
        common.gather(&copies.q, &mut copies.inside)?;
        let wanted = self.columns.iter().map(|column| {
            let of_copies = common.volumes.dot(&column.of_map, &edges.pull)?
                + common.volumes.dot(&column.of_field, &copies.p)?;
            Ok(match &column.image {
                Some(image) => of_copies + rho * common.unknowns.dot(image, &copies.inside)?,
                None => of_copies,
            })
        });
        Ok(self.host.explained.solved(&wanted.collect::<Result<Vec<f64>, DeviceError>>()?))
    }

    /// The step of the edges; lengths go to `work`.
    fn shrink(&self, copies: &mut Copies, edges: &mut Edges) -> Result<(), DeviceError> {
        let mut arguments = self.common.ring();
        arguments.push(MU_OF_LAMBDA.recip().into());
        arguments.push(u32::from(self.host.each).into());
        arguments.push((&self.common.bits).into());
        arguments.push(u32::from(self.free.is_some()).into());
        // Without them any volume, which is not read.
        arguments.push(self.free.as_ref().unwrap_or(&self.common.ones).into());
        arguments.push((&copies.next).into());
        arguments.push((&mut edges.u).into());
        arguments.push((&mut edges.h).into());
        arguments.push((&mut copies.work).into());
        // SAFETY: the kernel's fifteen parameters; all volumes have an element for each of the shape, those
        // of differences three.
        unsafe { self.shrink.launch(self.common.fft.launch(), &arguments) }
    }

    fn add_image(
        &self,
        number: f32,
        image: &Buffer<f32>,
        volume: &mut Buffer<f32>,
    ) -> Result<(), DeviceError> {
        let n = image.len();
        let place = &self.common.place;
        let arguments =
            [(n as u64).into(), number.into(), place.into(), image.into(), volume.into()];
        // SAFETY: the kernel's five parameters; lists have n entries, places lie in the volume.
        unsafe { self.add_image.launch(Launch::items(n), &arguments) }
    }
}
