//! An image laid on another of any contrast.

use fimbria_compute::dense::vec3::{add, sub};
use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::frames::turned;
use fimbria_image::{Affine, Image, Mask};
use rayon::prelude::*;

use crate::place::rotation;
use crate::smooth::smooth;
use crate::spline::Spline;

/// How finely images are compared.
#[derive(Clone, Debug)]
pub struct AlignOptions {
    /// Widths of the Gaussians that both are smoothed by in turn, mm.
    pub fwhm_mm: Vec<f64>,
    /// The first step of the first width, mm and degrees; each width after it starts with a quarter.
    pub first_step: f64,
    /// The last step, mm and degrees.
    pub last_step: f64,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { fwhm_mm: vec![8.0, 4.0, 2.0], first_step: 4.0, last_step: 0.03 }
    }
}

/// Grey values of either image.
const BINS: usize = 48;
/// Voxels of the fixed image that are looked at.
const MOST_POINTS: usize = 40_000;
/// Where fewer of them are in the moving image, nothing is compared.
const LEAST_OVERLAP: f64 = 0.3;

/// The rigid motion, scanner mm of `moving` from scanner mm of `fixed`, at which the first volumes of the two
/// have the largest normalised mutual information over a mask of the fixed one (Studholme, Pattern
/// Recognit 32, 71, 1999), by a search along each parameter in turn with steps that shrink.
///
/// Points outside the moving image do not count, so that it may cover a part only.
///
/// # Errors
/// Where the user stops it.
pub fn align(
    fixed: &Image,
    mask: &Mask,
    moving: &Image,
    options: &AlignOptions,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Affine, Interrupted> {
    let every = mask.len().div_ceil(MOST_POINTS).max(1);
    let voxels: Vec<usize> = mask.voxels.iter().step_by(every).map(|&v| v as usize).collect();
    let place = |&v: &usize| fixed.grid.ras_from_vox.apply(fixed.grid.voxel(v).map(|i| i as f64));
    let points: Vec<[f64; 3]> = voxels.iter().map(place).collect();
    let sum = points.iter().fold([0.0; 3], |sum, p| add(sum, *p));
    let middle = sum.map(|s| s / points.len().max(1) as f64);
    let vox_from_ras = moving.grid.ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
    let mut at = [0.0; 6];
    let mut first = options.first_step;
    for &fwhm in &options.fwhm_mm {
        let smoothed = |image: &Image| {
            let mut samples = image.volume(0).to_vec();
            let spacing = image.grid.ras_from_vox.spacing();
            workers.install(|| smooth(image.grid.dims, spacing, &mut samples, fwhm));
            samples
        };
        let here = smoothed(fixed);
        let samples = smoothed(moving);
        let grey = Grey::new(&samples);
        let of_fixed: Vec<f32> = voxels.iter().map(|&v| here[v]).collect();
        let fixed_grey = Grey::new(&of_fixed);
        let bins: Vec<usize> =
            of_fixed.iter().map(|&v| fixed_grey.bin(v).round() as usize).collect();
        let spline = workers.install(|| Spline::new(moving.grid.dims, &samples));
        let information = |at: &[f64; 6]| {
            let map = vox_from_ras.after(&rigid(at, middle));
            workers.install(|| mutual_information(&points, &bins, &spline, &map, &grey))
        };
        let mut most = information(&at);
        let mut step = first;
        while step >= options.last_step {
            progress.check()?;
            let before = most;
            for parameter in 0..6 {
                let by = if parameter < 3 { step.to_radians() } else { step };
                for sign in [1.0, -1.0] {
                    let mut tried = at;
                    tried[parameter] += sign * by;
                    let information = information(&tried);
                    if information > most {
                        (at, most) = (tried, information);
                        break;
                    }
                }
            }
            if most <= before {
                step *= 0.5;
            }
        }
        first *= 0.25;
    }
    Ok(rigid(&at, middle))
}

/// A rotation vector about `middle`, radians, then a shift, mm.
fn rigid(at: &[f64; 6], middle: [f64; 3]) -> Affine {
    let turn = rotation([at[0], at[1], at[2]]);
    let shift = add(sub(middle, turned(&turn, middle)), [at[3], at[4], at[5]]);
    Affine(std::array::from_fn(|i| [turn[i][0], turn[i][1], turn[i][2], shift[i]]))
}

/// From values to bins: between the first and the last of 200 parts of the values.
struct Grey {
    low: f32,
    per_bin: f32,
}

impl Grey {
    fn new(samples: &[f32]) -> Self {
        let mut sorted: Vec<f32> = samples.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let at = |part: f64| {
            let place = part * sorted.len().saturating_sub(1) as f64;
            sorted.get(place as usize).copied().unwrap_or(0.0)
        };
        let (low, high) = (at(0.005), at(0.995));
        let per_bin = (BINS - 1) as f32 / (high - low).max(f32::MIN_POSITIVE);
        Self { low, per_bin }
    }

    /// From 0 to BINS - 1.
    fn bin(&self, value: f32) -> f32 {
        let bin = (value - self.low) * self.per_bin;
        // NaN is 0 too.
        if bin > 0.0 { bin.min((BINS - 1) as f32) } else { 0.0 }
    }
}

/// (H(fixed) + H(moving)) / H(both), each moving value shared between two bins.
fn mutual_information(
    points: &[[f64; 3]],
    bins: &[usize],
    moving: &Spline,
    vox_from_fixed: &Affine,
    grey: &Grey,
) -> f64 {
    /// Points of one histogram; their sums are added in order, so that threads do not matter.
    const BLOCK: usize = 4096;
    let of_block = |(points, bins): (&[[f64; 3]], &[usize])| {
        let mut joint = vec![0.0f64; BINS * BINS];
        for (point, &bin) in points.iter().zip(bins) {
            if let Some(value) = moving.at(vox_from_fixed.apply(*point)) {
                let at = grey.bin(value);
                let low = (at as usize).min(BINS - 2);
                let part = f64::from(at - low as f32);
                joint[bin * BINS + low] += 1.0 - part;
                joint[bin * BINS + low + 1] += part;
            }
        }
        joint
    };
    let blocks: Vec<Vec<f64>> =
        points.par_chunks(BLOCK).zip(bins.par_chunks(BLOCK)).map(of_block).collect();
    let mut joint = vec![0.0; BINS * BINS];
    for block in blocks {
        joint.iter_mut().zip(block).for_each(|(sum, n)| *sum += n);
    }
    let all: f64 = joint.iter().sum();
    if all < LEAST_OVERLAP * points.len() as f64 || all == 0.0 {
        return 0.0;
    }
    let entropy = |counts: &[f64]| -> f64 {
        let terms = counts.iter().filter(|n| **n > 0.0).map(|n| -(n / all) * (n / all).ln());
        terms.sum()
    };
    let rows: Vec<f64> = joint.chunks(BINS).map(|row| row.iter().sum()).collect();
    let columns: Vec<f64> = (0..BINS).map(|j| joint.iter().skip(j).step_by(BINS).sum()).collect();
    let both = entropy(&joint);
    if both > 0.0 { (entropy(&rows) + entropy(&columns)) / both } else { 0.0 }
}
