//! The mean directions of samples, as peaks.

use rayon::prelude::*;

use super::maps::FibreMeans;
use crate::sticks::StickSamples;
use crate::{Affine, Image};

/// What samples come to, per voxel and fibre.
#[derive(Clone, Debug, PartialEq)]
pub struct Dyads {
    /// Three volumes per fibre: the dyad in scanner RAS axes, as long as the mean fraction; NaN
    /// where that is below the threshold, and outside the mask.
    pub peaks_ras: Image,
    /// A volume per fibre: 1 - largest eigenvalue of the mean of v vᵀ; NaN as above.
    pub dispersion: Image,
}

impl Dyads {
    /// Of fibres with a mean fraction of `least_fraction` or more. Runs on the threads of the
    /// current rayon pool.
    pub fn from_samples(samples: &StickSamples, least_fraction: f64) -> Self {
        let (grid, n_fibres) = (samples.mask.grid, samples.n_fibres);
        let nowhere =
            |n_volumes| Image { grid, n_volumes, data: vec![f32::NAN; n_volumes * grid.len()] };
        let (mut peaks_ras, mut dispersion) = (nowhere(3 * n_fibres), nowhere(n_fibres));
        let identity = Affine::IDENTITY.linear();
        for fibre in 0..n_fibres {
            let means: Vec<_> = (0..samples.mask.len())
                .into_par_iter()
                .map(|slot| FibreMeans::from_samples(samples, slot, fibre, &identity))
                .collect();
            for (means, &voxel) in means.iter().zip(&samples.mask.voxels) {
                if means.fraction < least_fraction || means.dyad == [0.0; 3] {
                    continue;
                }
                let voxel = voxel as usize;
                for (k, c) in means.dyad.iter().enumerate() {
                    let value = (c * means.fraction) as f32;
                    peaks_ras.data[(3 * fibre + k) * grid.len() + voxel] = value;
                }
                dispersion.data[fibre * grid.len() + voxel] = means.dispersion as f32;
            }
        }
        Self { peaks_ras, dispersion }
    }
}
