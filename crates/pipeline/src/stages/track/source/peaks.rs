//! Samples from peaks: each peak a fibre, as it is or scattered.

use fimbria_compute::Workers;
use fimbria_compute::philox::{Philox, normals};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, Image, Mask};
use rayon::prelude::*;

use super::{N_SAMPLES, SourceError, room, turned};

/// How directions are scattered around peaks.
#[derive(Clone, Copy)]
pub(in super::super) struct Scatter {
    /// By this angle, degrees; 0 for none.
    pub(super) deg: f64,
    pub(super) rng_seed: u64,
}

impl Scatter {
    pub(in super::super) const NONE: Self = Self { deg: 0.0, rng_seed: 0 };

    /// A direction near `v`: both its components across are normal.
    fn around(self, v: [f64; 3], voxel: u32, sample: usize, fibre: usize) -> [f64; 3] {
        if self.deg == 0.0 {
            return v;
        }
        let words = Philox::new(self.rng_seed)
            .stream(u32::MAX - fibre as u32)
            .at(u64::from(voxel), sample as u32);
        let [a, b, ..] = normals::<f32>(words).map(|x| f64::from(x) * self.deg.to_radians());
        let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
        let v = v.map(|x| x / length);
        // Any two directions across.
        let least = (0..3).fold(0, |m, k| if v[k].abs() < v[m].abs() { k } else { m });
        let mut axis = [0.0; 3];
        axis[least] = 1.0;
        let p = cross(v, axis);
        let scale = 1.0 / (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
        let p = p.map(|x| x * scale);
        let q = cross(v, p);
        std::array::from_fn(|k| v[k] + a * p[k] + b * q[k])
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Fractions are lengths as parts of the longest in the image.
pub(in super::super) fn from_peaks(
    peaks: &Image,
    frame: BvecFrame,
    mask: Option<Mask>,
    scatter: Scatter,
    workers: &Workers,
) -> Result<Option<StickSamples>, SourceError> {
    let n_fibres = peaks.n_volumes / 3;
    let peak = |voxel: usize, fibre: usize| -> [f64; 3] {
        std::array::from_fn(|k| f64::from(peaks.volume(3 * fibre + k)[voxel]))
    };
    let length = |v: [f64; 3]| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let amplitude = |voxel, fibre| {
        let amplitude = length(peak(voxel, fibre));
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
