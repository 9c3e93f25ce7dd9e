//! How bright the brain is around each voxel.
//!
//! Receive coils make a brain brighter at its rim than in its middle, by a factor of three with
//! many of them, so that no one cut tells it from the rest. A first guess of the coils is the mean
//! of logarithms over whatever is bright within some 25 mm. Without it, the level is the mean over
//! the brain's core within some 12 mm; the core is what is above a share of the level; each follows
//! from the other in a few rounds, on a grid of a few millimetres, since the level is smooth.

use fimbria_image::morphology::{VoxelSet, along_lines};
use fimbria_image::{Affine, Grid, Image};
use rayon::prelude::*;

use super::{Contrast, brighter, core};

/// Standard deviation of the weights around a voxel: of the level, and of the guess at the coils.
const LEVEL_MM: f64 = 12.0;
const COILS_MM: f64 = 25.0;
/// Edge of the grid's voxels.
const COARSE_MM: f64 = 4.0;
/// Weight of the mean of the whole core beside what of it is near.
const FAR_WEIGHT: f32 = 1e-3;
/// Rounds at most; they end where the core stays as it is.
const ROUNDS: usize = 20;

/// The brain's level in images on one grid.
pub(super) struct Levels {
    fine: Grid,
    /// How many voxels along each axis make one of the coarse grid.
    factors: [usize; 3],
    /// On the coarse grid: the brain's core, and how much more the coils make of a signal there.
    core: VoxelSet,
    coils: Vec<f32>,
    /// Length of an adult's millimetre.
    mm: f64,
}

impl Levels {
    /// Of the brain in `tissue`; lengths are an adult's times `mm`.
    pub(super) fn fit(tissue: &Image, contrast: Contrast, mm: f64) -> Self {
        let spacing = tissue.grid.ras_from_vox.spacing();
        let factors = spacing.map(|edge| ((COARSE_MM * mm / edge) as usize).max(1));
        let coarse = shrunk(tissue, factors);
        let coils = coils(&coarse, COILS_MM * mm);
        let above = |level: &[f32], cut: f32| {
            let bright = VoxelSet::above(&coarse, level, cut);
            core(coarse.grid, &bright.depth_mm(), contrast.core_depth * mm)
        };
        let core = above(&coils, 0.7);
        let mut levels = Self { fine: tissue.grid, factors, core, coils, mm };
        for _ in 0..ROUNDS {
            let next = above(&levels.on_coarse(&coarse), contrast.cut);
            let changed = next.without(&levels.core).count() + levels.core.without(&next).count();
            levels.core = next;
            if changed * 1000 <= levels.core.count() {
                break;
            }
        }
        levels
    }

    /// The level of the brain in another image on the grid, a value for each voxel.
    pub(super) fn in_image(&self, image: &Image) -> Vec<f32> {
        let coarse = shrunk(image, self.factors);
        let level = Image { data: self.on_coarse(&coarse), ..coarse };
        let centre =
            |voxel: usize, axis: usize| (voxel as f32 + 0.5) / self.factors[axis] as f32 - 0.5;
        (0..self.fine.len())
            .into_par_iter()
            .map(|voxel| {
                let at = self.fine.voxel(voxel);
                between_voxels(&level, std::array::from_fn(|axis| centre(at[axis], axis)))
            })
            .collect()
    }

    /// The mean of an image over the core near each voxel, the coils apart.
    fn on_coarse(&self, image: &Image) -> Vec<f32> {
        let inside = |voxel: usize| if self.core.inside()[voxel] { 1.0 } else { 0.0 };
        let even = |voxel: usize| image.data[voxel] / self.coils[voxel] * inside(voxel);
        let (evens, weights): (Vec<f32>, Vec<f32>) =
            (0..image.data.len()).map(|voxel| (even(voxel), inside(voxel))).unzip();
        let total = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
        let mean = (total(&evens) / total(&weights).max(1.0)) as f32;
        let [evens, weights] =
            [evens, weights].map(|values| blurred(values, &image.grid, LEVEL_MM * self.mm));
        let pairs = evens.iter().zip(&weights).zip(&self.coils);
        pairs
            .map(|((even, weight), coils)| {
                coils * (even + FAR_WEIGHT * mean) / (weight + FAR_WEIGHT)
            })
            .collect()
    }
}

/// How bright an image is around each voxel: the mean of logarithms over what is bright, which is
/// then what is about as bright as that.
fn coils(image: &Image, sigma_mm: f64) -> Vec<f32> {
    let is_bright = brighter(&image.data);
    let mut weights: Vec<f32> =
        image.data.iter().map(|value| f32::from(u8::from(is_bright(value)))).collect();
    let n = weights.iter().sum::<f32>().max(1.0);
    let all =
        image.data.iter().zip(&weights).map(|(value, weight)| value * weight).sum::<f32>() / n;
    let mut coils = vec![all.max(f32::MIN_POSITIVE); image.data.len()];
    for _ in 0..3 {
        let logs = image.data.iter().zip(&weights);
        let logs = logs.map(|(value, weight)| if *weight > 0.0 { value.ln() } else { 0.0 });
        let logs = blurred(logs.collect(), &image.grid, sigma_mm);
        let near = blurred(weights, &image.grid, sigma_mm);
        for (coils, (log, near)) in coils.iter_mut().zip(logs.iter().zip(&near)) {
            // Where next to nothing is bright within reach, as elsewhere.
            *coils = if *near > FAR_WEIGHT { (log / near).exp() } else { all };
            *coils = coils.max(f32::MIN_POSITIVE);
        }
        let shares = image.data.iter().zip(&coils).map(|(value, coils)| value / coils);
        weights = shares.map(|share| f32::from(u8::from((0.6..1.6).contains(&share)))).collect();
    }
    coils
}

/// Means over blocks of voxels; the last ones of an axis may be smaller.
fn shrunk(image: &Image, factors: [usize; 3]) -> Image {
    let fine = image.grid;
    let dims: [usize; 3] = std::array::from_fn(|k| fine.dims[k].div_ceil(factors[k]));
    let spacing = fine.ras_from_vox.spacing();
    let spacing = std::array::from_fn(|k| spacing[k] * factors[k] as f64);
    let grid = Grid { dims, ras_from_vox: Affine::from_spacing(spacing) };
    let mut sums = vec![(0.0_f64, 0_u32); grid.len()];
    for (voxel, &value) in image.data.iter().enumerate() {
        let at = fine.voxel(voxel);
        let (sum, n) = &mut sums[grid.index(std::array::from_fn(|k| at[k] / factors[k]))];
        *sum += f64::from(value);
        *n += 1;
    }
    Image {
        grid,
        n_volumes: 1,
        data: sums.iter().map(|(sum, n)| (sum / f64::from(*n)) as f32).collect(),
    }
}

/// Trilinear between voxel centres, as at the nearest face beyond them.
fn between_voxels(image: &Image, place: [f32; 3]) -> f32 {
    let dims = image.grid.dims;
    let ends: [[(usize, f32); 2]; 3] = std::array::from_fn(|k| {
        let place = place[k].clamp(0.0, (dims[k] - 1) as f32);
        let low = place as usize;
        let share = place - low as f32;
        [(low, 1.0 - share), ((low + 1).min(dims[k] - 1), share)]
    });
    let mut value = 0.0;
    for (z, z_weight) in ends[2] {
        for (y, y_weight) in ends[1] {
            for (x, x_weight) in ends[0] {
                value += image.data[image.grid.index([x, y, z])] * x_weight * y_weight * z_weight;
            }
        }
    }
    value
}

/// Convolution with a Gaussian, by three running means along each axis (Kovesi, DICTA 2010) over
/// what is in the grid.
fn blurred(values: Vec<f32>, grid: &Grid, sigma_mm: f64) -> Vec<f32> {
    const PASSES: usize = 3;
    let spacing = grid.ras_from_vox.spacing();
    along_lines(values, grid.dims, |axis, line, out| {
        let variance = (sigma_mm / spacing[axis]).powi(2);
        let ideal = (12.0 * variance / PASSES as f64 + 1.0).sqrt();
        let low = (((ideal - 1.0) / 2.0).floor() * 2.0 + 1.0) as usize;
        // Variances of the passes add up: so many of the narrower width come closest.
        let (n, w) = (PASSES as f64, low as f64);
        let narrow = (12.0 * variance - n * w * w - 4.0 * n * w - 3.0 * n) / (-4.0 * w - 4.0);
        let mut buffer = line.to_vec();
        for pass in 0..PASSES {
            let width = if pass < narrow.round() as usize { low } else { low + 2 };
            running_mean(&buffer, width / 2, out);
            buffer.copy_from_slice(out);
        }
    })
}

/// Mean over each place and up to `reach` ones on both sides.
fn running_mean(line: &[f32], reach: usize, out: &mut [f32]) {
    let mut sum: f64 = line.iter().take(reach).map(|value| f64::from(*value)).sum();
    for (place, out) in out.iter_mut().enumerate() {
        sum += line.get(place + reach).map_or(0.0, |value| f64::from(*value));
        let width = (place + reach + 1).min(line.len()) - place.saturating_sub(reach);
        *out = (sum / width as f64) as f32;
        sum -= place.checked_sub(reach).map_or(0.0, |gone| f64::from(line[gone]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_means_have_the_spread_of_the_gaussian() {
        let grid = Grid { dims: [101, 1, 1], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let mut values = vec![0.0; 101];
        values[50] = 1.0;
        let values = blurred(values, &grid, 12.0);
        let moment = |power: i32| -> f64 {
            let terms = values.iter().enumerate();
            terms.map(|(i, v)| f64::from(*v) * (2.0 * (i as f64 - 50.0)).powi(power)).sum()
        };
        // Two widths, here 11 and 13 voxels, come within half a step of the variance: 2 of 36.
        let deviation_mm = moment(2).sqrt();
        assert!((moment(0) - 1.0).abs() < 1e-5, "{}", moment(0));
        assert!((deviation_mm - 12.0).abs() < 0.35, "{deviation_mm}");
    }
}
