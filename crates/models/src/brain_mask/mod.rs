//! A brain mask for when the user gives none, from intensity and shape alone: no template, no
//! trained weights.
//!
//! 1. Tissue is told from the rest by an image in which the brain is the brightest large thing: the
//!    mean of the weighted volumes of a series (fluid, fat and eyes are dark there) without what noise
//!    adds in air, or a magnitude.
//!    It is compared with the brain's own level around each voxel (`level`), so that coils near
//!    the skin do not matter.
//! 2. The core of the brain is the largest piece of tissue that still hangs together where only
//!    places deeper than 12 to 14 mm are left: eyes, muscle, nose and neck hang on it by
//!    thinner threads. It grows back into shallower tissue, though not far.
//! 3. Furrows and ventricles are closed; of a series the fluid around the brain, bright without
//!    weighting, comes in.
//!
//! Lengths are an adult's and shrink with a smaller head. What leaves 1,100 to 1,700 ml in an adult,
//! or is cut by the field of view, deserves a look.

mod level;

use fimbria_compute::Workers;
use fimbria_image::morphology::{VoxelSet, along_lines};
use fimbria_image::{GradientTable, Grid, Image, Mask, SignalSource};
use rayon::prelude::*;

use crate::otsu::otsu;
use level::Levels;

/// How an image tells the brain from what hangs on it.
#[derive(Clone, Copy)]
struct Contrast {
    /// Tissue begins at this share of the brain's level.
    cut: f32,
    /// Half the width, mm, of what holds the brain together, and nothing with it.
    core_depth: f64,
}

/// Of weighted volumes: half-way, on a scale of logarithms, to the level of air and fluid. What is
/// as bright in the foramen magnum, the medulla, is narrower than the midbrain.
const WEIGHTED: Contrast = Contrast { cut: 0.4, core_depth: 12.0 };
/// Of a magnitude: bone, thinner than two voxels, is no darker than half of the brain's level, and
/// fluid about as bright as the brain, so that the foramen magnum is wider.
const MAGNITUDE: Contrast = Contrast { cut: 0.7, core_depth: 14.0 };
/// Fluid and tissue without weighting.
const WET_CUT: f32 = 0.4;
/// Fluid at the rim of the brain without weighting.
const FLUID_CUT: f32 = 0.8;
/// How far beyond the core, and how thin, tissue may be: temporal poles and the medulla.
const GROWTH_MM: f64 = 8.0;
const LIMB_DEPTH_MM: f64 = 5.0;
/// Cortex on top of the limbs' middle.
const CORTEX_MM: f64 = 1.5;
/// Vessels and nerves are thinner than twice this.
const THREAD_MM: f64 = 2.0;
/// Furrows and the space between the lobes.
const FURROW_MM: f64 = 10.0;
/// Roughness of the rim that is smoothed.
const RIM_MM: f64 = 3.0;
/// The radius of a ball as large as a head whose lengths are those above.
const ADULT_RADIUS_MM: f64 = 65.0;
/// Weighting from which fluid is dark, and up to which brain stands above the noise, s/mm².
const CLEAR_WEIGHTING: std::ops::RangeInclusive<f64> = 500.0..=3500.0;

/// The brain in a diffusion series, by the mean of its weighted volumes and that of its unweighted
/// ones; without weighting that darkens fluid, by the latter alone.
pub fn brain_mask(
    signals: &dyn SignalSource,
    gradients: &GradientTable,
    workers: &Workers,
) -> Mask {
    let unweighted = unweighted(gradients);
    let mut weighted: Vec<usize> = (0..gradients.len())
        .filter(|v| CLEAR_WEIGHTING.contains(&gradients.b_s_per_mm2[*v]))
        .collect();
    weighted.retain(|v| !unweighted.contains(v));
    let [bright, tissue] = mean_volumes(signals, [&unweighted, &weighted], workers);
    workers.install(|| {
        let bright = smoothed(bright);
        if !weighted.is_empty() {
            let mask = brain(&without_air(smoothed(tissue)), WEIGHTED, Some(&bright));
            // Where air is as bright as the brain, the weighted volumes tell nothing.
            if mask.len() < bright.grid.len() {
                return mask;
            }
        }
        brain(&bright, MAGNITUDE, None)
    })
}

/// The brain in a magnitude: a gradient echo, or any image in which it is bright and bone is dark.
pub fn magnitude_mask(magnitude: Image, workers: &Workers) -> Mask {
    workers.install(|| brain(&smoothed(magnitude), MAGNITUDE, None))
}

/// The mean over the unweighted volumes, or over those of the lowest b; NaN counts as 0.
pub fn mean_unweighted(
    signals: &dyn SignalSource,
    gradients: &GradientTable,
    workers: &Workers,
) -> Image {
    let [mean] = mean_volumes(signals, [&unweighted(gradients)], workers);
    mean
}

fn unweighted(gradients: &GradientTable) -> Vec<usize> {
    let lowest = gradients.b_s_per_mm2.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = lowest.max(gradients.b0_threshold);
    (0..gradients.len()).filter(|&v| gradients.b_s_per_mm2[v] <= limit).collect()
}

/// The mean over each set of volumes, of one pass over the series.
fn mean_volumes<const N: usize>(
    signals: &dyn SignalSource,
    sets: [&[usize]; N],
    workers: &Workers,
) -> [Image; N] {
    const TILE: usize = 64;
    let mut means = vec![[0.0; N]; signals.grid().len()];
    workers.install(|| {
        means.par_chunks_mut(TILE).enumerate().for_each_init(
            || vec![0.0; signals.n_volumes() * TILE],
            |samples, (tile, means)| {
                let first = (tile * TILE) as u32;
                let voxels: Vec<u32> = (first..).take(means.len()).collect();
                signals.gather(&voxels, TILE, samples);
                for (lane, means) in means.iter_mut().enumerate() {
                    for (mean, volumes) in means.iter_mut().zip(sets) {
                        let sum: f32 = volumes.iter().map(|v| samples[v * TILE + lane]).sum();
                        *mean = sum / volumes.len() as f32;
                        if !mean.is_finite() {
                            *mean = 0.0;
                        }
                    }
                }
            },
        );
    });
    std::array::from_fn(|set| Image {
        grid: *signals.grid(),
        n_volumes: 1,
        data: means.iter().map(|means| means[set]).collect(),
    })
}

/// The brain where `tissue` is bright, with the fluid around it where an unweighted image shows it.
fn brain(tissue: &Image, contrast: Contrast, unweighted: Option<&Image>) -> Mask {
    let (grid, Contrast { cut, core_depth }) = (tissue.grid, contrast);
    let head = VoxelSet::where_value(grid, &tissue.data, brighter(&tissue.data));
    let scale = (equal_ball_mm(&head) / ADULT_RADIUS_MM).min(1.0);
    let mm = |adult: f64| adult * scale;
    let levels = Levels::fit(tissue, contrast, mm(1.0));
    let level = levels.in_image(tissue);
    let bright = VoxelSet::above(tissue, &level, cut);

    let depth = bright.depth_mm();
    let core = core(grid, &depth, mm(core_depth));
    let limbs = VoxelSet::where_value(grid, &depth, |&d| f64::from(d) > mm(LIMB_DEPTH_MM));
    let near = core.dilated(mm(core_depth + GROWTH_MM));
    let middle = limbs.and(&near).or(&core).largest_piece();
    let grown = middle.dilated(mm(LIMB_DEPTH_MM + CORTEX_MM)).and(&bright);
    let solid = grown.opened(mm(THREAD_MM)).or(&middle).largest_piece();

    // Air and bone do not come in where furrows are closed.
    let (around, level, wet_cut) = match unweighted {
        Some(image) => (image, levels.in_image(image), WET_CUT),
        None => (tissue, level, 0.5 * cut),
    };
    let wet = VoxelSet::above(around, &level, wet_cut);
    let closed = solid.closed(mm(FURROW_MM)).and(&wet.or(&solid));
    let smooth = closed.opened(mm(THREAD_MM)).largest_piece().closed(mm(RIM_MM)).filled();
    if unweighted.is_none() {
        return smooth.to_mask();
    }
    let fluid = VoxelSet::above(around, &level, FLUID_CUT).without(&bright);
    smooth.or(&smooth.dilated(mm(RIM_MM)).and(&fluid)).filled().to_mask()
}

/// The largest piece that is deeper than `depth_mm`, or than most of what there is.
fn core(grid: Grid, depth: &[f32], depth_mm: f64) -> VoxelSet {
    let deepest = depth.iter().copied().fold(0.0, f32::max);
    let limit = (depth_mm as f32).min(0.6 * deepest);
    VoxelSet::where_value(grid, depth, |&d| d > limit).largest_piece()
}

/// Radius of a ball of the volume of `set`, mm.
fn equal_ball_mm(set: &VoxelSet) -> f64 {
    let voxel_mm3: f64 = set.grid().ras_from_vox.spacing().iter().product();
    (set.count() as f64 * voxel_mm3 * 3.0 / (4.0 * std::f64::consts::PI)).cbrt()
}

/// Whether a value is above the limit between dark and bright ones. Square roots draw
/// what is brightest towards the tissue, so that the limit falls between tissue and air.
fn brighter(values: &[f32]) -> impl Fn(&f32) -> bool + Send + Sync + use<> {
    let roots: Vec<f64> = values.iter().map(|v| f64::from(v.max(0.0)).sqrt()).collect();
    let limit = otsu(&roots).powi(2) as f32;
    // Of equal values all that are above zero are bright.
    let limit = if values.iter().any(|value| *value > limit) { limit } else { 0.0 };
    move |value| *value > limit
}

/// What the noise of magnitudes adds taken off, by its level in air: the median of what is dark. Squares of signal
/// and noise add up.
fn without_air(mut image: Image) -> Image {
    let is_bright = brighter(&image.data);
    let mut dark: Vec<f32> = image.data.iter().copied().filter(|value| !is_bright(value)).collect();
    if !dark.is_empty() {
        let middle = dark.len() / 2;
        let air = dark.select_nth_unstable_by(middle, f32::total_cmp).1.max(0.0);
        image.data.iter_mut().for_each(|value| {
            *value = (*value * value.abs() - air * air).max(0.0).sqrt();
        });
    }
    image
}

/// The median of each voxel and its two neighbours along one axis after the other; at an end, of
/// the voxel, its neighbour and the voxel again.
fn smoothed(mut image: Image) -> Image {
    image.data = along_lines(image.data, image.grid.dims, |_, line, out| {
        for (place, out) in out.iter_mut().enumerate() {
            let centre = line[place];
            let before = if place > 0 { line[place - 1] } else { centre };
            let after = line.get(place + 1).copied().unwrap_or(centre);
            *out = before.min(after).max(before.max(after).min(centre));
        }
    });
    image
}

#[cfg(test)]
mod tests;
