//! Samples from peaks: each peak a fibre, as it is or scattered.

use fimbria_compute::Workers;
use fimbria_compute::dense::vec3::{cross, norm, scale};
use fimbria_compute::philox::{Philox, normals};
use fimbria_image::frames::turned;
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, Image, Mask};
use rayon::prelude::*;

use super::{N_SAMPLES, SamplesError, room};

/// How directions are scattered around peaks.
#[derive(Clone, Copy)]
pub struct Scatter {
    /// By this angle, degrees; 0 for none.
    pub deg: f64,
    /// Keys the random numbers.
    pub rng_seed: u64,
}

impl Scatter {
    /// None.
    pub const NONE: Self = Self { deg: 0.0, rng_seed: 0 };

    /// A direction near `v`: both its components across are normal.
    fn around(self, v: [f64; 3], voxel: u32, sample: usize, fibre: usize) -> [f64; 3] {
        if self.deg == 0.0 {
            return v;
        }
        let words = Philox::new(self.rng_seed)
            .stream(u32::MAX - fibre as u32)
            .at(u64::from(voxel), sample as u32);
        let [a, b, ..] = normals::<f32>(words).map(|x| f64::from(x) * self.deg.to_radians());
        let length = norm(v);
        let v = v.map(|x| x / length);
        // Any two directions across.
        let least = (0..3).fold(0, |m, k| if v[k].abs() < v[m].abs() { k } else { m });
        let mut axis = [0.0; 3];
        axis[least] = 1.0;
        let p = cross(v, axis);
        let p = scale(p, 1.0 / norm(p));
        let q = cross(v, p);
        std::array::from_fn(|k| v[k] + a * p[k] + b * q[k])
    }
}

/// Samples of `peaks`, three volumes for each in axes of `frame`, in the voxels of the mask that have one;
/// `None` where none has. Fractions are lengths as parts of the longest in the image.
///
/// # Errors
/// Where there is no memory.
pub fn from_peaks(
    peaks: &Image,
    frame: BvecFrame,
    mask: Option<Mask>,
    scatter: Scatter,
    workers: &Workers,
) -> Result<Option<StickSamples>, SamplesError> {
    let n_fibres = peaks.n_volumes / 3;
    let peak = |voxel: usize, fibre: usize| -> [f64; 3] {
        std::array::from_fn(|k| f64::from(peaks.volume(3 * fibre + k)[voxel]))
    };
    let amplitude = |voxel, fibre| {
        let amplitude = norm(peak(voxel, fibre));
        if amplitude.is_finite() { amplitude } else { 0.0 }
    };
    let has = |voxel| (0..n_fibres).any(|fibre| amplitude(voxel, fibre) > 0.0);
    let mask = mask.unwrap_or_else(|| Mask::full(peaks.grid));
    let n_samples = if scatter.deg == 0.0 { 1 } else { N_SAMPLES };
    let Some(mut samples) = room(mask, has, n_fibres, n_samples)? else { return Ok(None) };
    let longest = samples
        .mask
        .voxels
        .iter()
        .flat_map(|voxel| (0..n_fibres).map(|fibre| amplitude(*voxel as usize, fibre)));
    let longest = longest.fold(0.0, f64::max);
    let turn = frame.ras_from_frame(&peaks.grid.ras_from_vox);
    let voxel_len = samples.voxel_len();
    let (voxels, sticks) = (&samples.mask.voxels, &mut samples.sticks);
    workers.install(|| {
        voxels.par_iter().zip(sticks.par_chunks_mut(voxel_len)).for_each(|(voxel, sticks)| {
            for (at, stick) in sticks.iter_mut().enumerate() {
                let (sample, fibre) = (at / n_fibres, at % n_fibres);
                let amplitude = amplitude(*voxel as usize, fibre);
                if amplitude > 0.0 {
                    let v = turned(&turn, peak(*voxel as usize, fibre));
                    let v = scatter.around(v, *voxel, sample, fibre);
                    *stick = PackedStick::new(v, amplitude / longest);
                }
            }
        });
    });
    Ok(Some(samples))
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;

    fn along_x(lengths: &[f32]) -> Image {
        let grid = Grid { dims: [lengths.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
        let mut peaks = Image::zeros(grid, 3);
        peaks.data[..lengths.len()].copy_from_slice(lengths);
        peaks
    }

    fn drawn(peaks: &Image, deg: f64) -> Option<StickSamples> {
        let workers = Workers::new(1).unwrap();
        let scatter = Scatter { deg, rng_seed: 3 };
        from_peaks(peaks, BvecFrame::Scanner, None, scatter, &workers).unwrap()
    }

    #[test]
    fn a_peak_is_one_sample_as_strong_as_it_is_long() {
        let samples = drawn(&along_x(&[2.0, 0.0, 1.0]), 0.0).unwrap();
        assert_eq!((samples.n_samples, samples.mask.voxels.clone()), (1, vec![0, 2]));
        // Fractions are stored in 16 bits or less.
        assert!((samples.mean_fraction(1, 0) / samples.mean_fraction(0, 0) - 0.5).abs() < 1e-2);
        assert!(drawn(&along_x(&[0.0, f32::NAN]), 0.0).is_none());
    }

    #[test]
    fn scatter_is_as_wide_as_asked_for_in_both_directions_across() {
        let v = [0.6, 0.0, 0.8];
        let scatter = Scatter { deg: 5.0, rng_seed: 1 };
        let (mut across, mut count) = ([0.0; 2], 0.0);
        for sample in 0..4000 {
            let drawn = scatter.around(v, 7, sample, 0);
            across[0] += drawn[1].powi(2);
            across[1] += (0.8 * drawn[0] - 0.6 * drawn[2]).powi(2);
            count += 1.0;
        }
        for squares in across {
            let deg = f64::sqrt(squares / count).to_degrees();
            // 4000 normal numbers: 1.1 % of the deviation; four times that.
            assert!((deg / 5.0 - 1.0).abs() < 0.045, "{deg}");
        }
    }
}
