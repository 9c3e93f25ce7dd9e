//! Fibre densities: their peaks, and tracking through them.

use std::path::Path;

use fimbria_image::{Image, Mask};
use fimbria_pipeline::options::from_values;
use fimbria_pipeline::stages::load_orientations::OrientationField;
use fimbria_pipeline::stages::peaks::{FindPeaks, PeaksParameters};
use fimbria_pipeline::stages::track::{
    AnatomyOptions, Directions, RegionFrom, Regions, TrackInMemory, TrackParameters, TracksFound,
};
use fimbria_pipeline::{Logbook, MapStyle, Products, Stage as _, StageError};
use fimbria_tensors::peaks::Peaks;
use fimbria_tensors::sh::ShBasis;
use ndarray::{ArrayView3, CowArray, Ix4};

use crate::series::{image, masked};
use crate::{Affine, Engine, Error, Frame, Maps, Options, Streamlines};

/// What messages call the densities.
const NAME: &str = "the densities";

/// The real spherical harmonics that densities are sums of; even orders only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// MRtrix3's; what [`Engine::fit`] gives as `fod`.
    Mrtrix,
    /// DIPY's `descoteaux07` with `legacy=False`.
    Dipy,
    /// DIPY's `descoteaux07` with `legacy=True`.
    DipyLegacy,
}

/// A function on the sphere in each voxel.
pub struct Densities {
    coefficients: Image,
    basis: ShBasis,
    frame: Frame,
    mask: Mask,
}

impl Densities {
    /// Coefficients with the axes x, y, z, coefficient, of functions in the axes of `frame`; in all voxels.
    ///
    /// # Errors
    /// Where the affine has no inverse.
    pub fn new<'a>(
        coefficients: impl Into<CowArray<'a, f32, Ix4>>,
        affine: Affine,
        basis: Basis,
        frame: Frame,
    ) -> Result<Self, Error> {
        let coefficients = image(coefficients.into(), affine)?;
        let basis = match basis {
            Basis::Mrtrix => ShBasis::Mrtrix,
            Basis::Dipy => ShBasis::Dipy,
            Basis::DipyLegacy => ShBasis::DipyLegacy,
        };
        Ok(Self { mask: Mask::full(coefficients.grid), coefficients, basis, frame })
    }

    /// The same, where `mask` is true.
    ///
    /// # Errors
    /// Where it has another shape, or no voxel.
    pub fn with_mask(self, mask: ArrayView3<'_, bool>) -> Result<Self, Error> {
        Ok(Self { mask: masked(mask, &self.coefficients.grid)?, ..self })
    }

    fn field(&self, log: &Logbook<'_>) -> Result<OrientationField, StageError> {
        let (basis, frame) = (Some(self.basis), Some(self.frame.bvec_frame()));
        let (source, workers) = (Box::new(self.coefficients.clone()), log.session().on.workers);
        let (name, mask) = (Path::new(NAME), self.mask.clone());
        Ok(OrientationField::in_memory(name, source, basis, frame, mask, workers)?)
    }
}

impl Engine {
    /// The maxima in each voxel, as `fimbria peaks` finds them: `peaks` (three components for each, scanner
    /// axes, as long as the density is high, NaN where there is none), `values`, `count` and `status`.
    ///
    /// # Errors
    /// Where the number of coefficients is that of no order, where there is no such option, and where an
    /// observer cancels.
    pub fn peaks(&self, densities: &Densities, options: &Options) -> Result<Maps, Error> {
        let Peaks { peaks, values, count, status, .. } = self.run(|log| {
            let parameters: PeaksParameters = from_values(options.values())?;
            parameters.check()?;
            let stage =
                FindPeaks { parameters, style: MapStyle::default(), entities: String::new() };
            let mut products = Products::default();
            products.put(densities.field(log)?);
            stage.compute(&mut products, log)?;
            Ok(products.take::<Peaks>()?)
        })?;
        let maps = [("peaks", peaks), ("values", values), ("count", count), ("status", status)];
        Ok(Maps::new(maps.map(|(name, image)| (name.to_owned(), image))))
    }

    /// Streamlines that start where `seeds` is true, as `fimbria track` makes them. `seeds` has the shape of
    /// the densities.
    ///
    /// # Errors
    /// As [`peaks`](Self::peaks), and where `seeds` has another shape or no voxel.
    pub fn track(
        &self,
        densities: &Densities,
        seeds: ArrayView3<'_, bool>,
        options: &Options,
    ) -> Result<Streamlines, Error> {
        let seeds = masked(seeds, &densities.coefficients.grid)?;
        let starts = seeds.to_image();
        let tracks = self.run(|log| {
            let parameters: TrackParameters = from_values(options.values())?;
            let directions = Directions::of_field(&densities.field(log)?, log)?;
            let through = directions.through();
            parameters.check(through)?;
            let seeds = vec![RegionFrom::Voxels("the seeds".into(), starts)];
            let stage = TrackInMemory {
                regions: Regions { seeds, ..Regions::default() },
                anatomy: AnatomyOptions::default(),
                tissues: None,
                parameters,
                through,
            };
            let mut products = Products::default();
            products.put(directions);
            stage.compute(&mut products, log)?;
            Ok(products.take::<TracksFound>()?)
        })?;
        Ok(Streamlines::from(tracks))
    }
}
