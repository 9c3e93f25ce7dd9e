//! Lobes of many voxels, each in a few numbers.

use fimbria_compute::dense::vec3::unit;
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::SignalSource;

use super::summits::Summits;
use super::{Lobe, LobeOptions, Sphere};
use crate::sh::{ShBasis, ShError};

/// The lobes of many voxels, each in a few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fixels {
    /// Of voxel k of those that were asked for, fixels are `first[k] .. first[k + 1]`, in the order of their maxima.
    pub first: Vec<u32>,
    /// The integral of each lobe, both of its ends, over the sphere, in units of the density.
    pub integrals: Vec<f32>,
    /// The density in its maximum.
    pub peaks: Vec<f32>,
    /// Unit direction of the maximum, in the axes of the coefficients.
    pub peak_dirs: Vec<[f32; 3]>,
    /// Unit mean direction of the lobe, each direction counted by its density.
    pub mean_dirs: Vec<[f32; 3]>,
}

impl Fixels {
    /// Those of harmonics, as [`Lobes::find`](super::Lobes::find) takes them; maxima are found to rounding.
    ///
    /// # Errors
    /// [`FixelsError`].
    ///
    /// # Panics
    /// Where the field has another number of volumes than `lmax` has coefficients.
    pub fn find(
        field: &(dyn SignalSource + Send + Sync),
        voxels: &[u32],
        (basis, lmax): (ShBasis, usize),
        options: LobeOptions,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, FixelsError> {
        let summits = Some(Summits::new(basis, lmax)?);
        let sphere = Sphere { summits, ..Sphere::new(Some(basis), lmax, options) };
        let mut found = Self { first: vec![0], ..Self::default() };
        sphere.each_voxel(field, voxels, workers, progress, |voxel| {
            for Lobe { integral, peak, peak_dir, mean } in voxel.lobes {
                found.integrals.push(integral as f32);
                found.peaks.push(peak as f32);
                found.peak_dirs.push(peak_dir.map(|x| x as f32));
                found.mean_dirs.push(unit(mean).unwrap_or(peak_dir).map(|x| x as f32));
            }
            found.first.push(found.integrals.len() as u32);
        })?;
        Ok(found)
    }
}

/// Why there are no fixels.
#[derive(Debug, thiserror::Error)]
pub enum FixelsError {
    /// Harmonics of this degree have no form whose maxima could be found.
    #[error(transparent)]
    Degree(#[from] ShError),
    /// The user stopped it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
