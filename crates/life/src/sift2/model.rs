//! The objective and its derivatives.

use rayon::prelude::*;

use super::tracks::BLOCK;
use super::{FixelLengths, Sift2Options, Sift2Step};

/// What is minimised.
pub(super) struct Model<'a> {
    tracks: &'a FixelLengths,
    density: &'a [f32],
    /// PM, 0 for what is left out.
    white: Vec<f32>,
    pub(super) mu: f64,
    pub(super) unfilled: usize,
    /// Σ PM FD² of what is not left out, and the factors of F² and of a share of a length times (F - F̄)².
    scale: f64,
    tikhonov: f64,
    variation: f64,
    /// 1/ℓ of each streamline, 0 where it is nowhere in white matter.
    per_length: Vec<f32>,
}

/// The objective at a point; its gradient and a curvature for each streamline, times [`Model::scale`].
pub(super) struct Slope {
    pub(super) step: Sift2Step,
    pub(super) gradient: Vec<f32>,
    pub(super) curvature: Vec<f32>,
}

impl<'a> Model<'a> {
    /// `None` where no streamline passes any density.
    pub(super) fn new(
        tracks: &'a FixelLengths,
        density: &'a [f32],
        white: &[f32],
        options: &Sift2Options,
    ) -> Option<Self> {
        assert_eq!((density.len(), white.len()), (tracks.fixels(), tracks.fixels()), "fixels");
        let lengths = tracks.sums(|_| [1.0]);
        let all = white;
        let mu = sum_of(all, &|l| f64::from(density[l])) / sum_of(all, &|l| lengths[l][0]);
        if !(mu.is_finite() && mu > 0.0) {
            return None;
        }
        let mut unfilled = 0;
        let mut white = all.to_vec();
        for l in 0..white.len() {
            let filled = mu * lengths[l][0] / f64::from(density[l]);
            if white[l] > 0.0 && filled < options.least_filled {
                (white[l], unfilled) = (0.0, unfilled + 1);
            }
        }
        let size = |white: &[f32]| sum_of(white, &|l| f64::from(density[l]).powi(2));
        let (scale, of_all) = (size(&white), size(all));
        let n = tracks.streamlines();
        let per_length = (0..n).into_par_iter().map(|s| {
            let length = |&(l, length): &(u32, f32)| white[l as usize] * length;
            let length: f32 = tracks.lengths_of(s).iter().map(length).sum();
            if length > 0.0 { 1.0 / length } else { 0.0 }
        });
        let per_length = per_length.collect();
        let tikhonov = options.tikhonov * of_all / n as f64;
        let variation = options.total_variation * of_all / n as f64;
        Some(Self { tracks, density, white, mu, unfilled, scale, tikhonov, variation, per_length })
    }

    pub(super) fn streamlines(&self) -> usize {
        self.tracks.streamlines()
    }

    /// What a gradient is multiplied by to be that of [`Sift2Step::objective`].
    pub(super) fn per_scale(&self) -> f64 {
        1.0 / self.scale
    }

    /// The objective at factors F, and how it changes with each.
    pub(super) fn slope(&self, factors: &[f32]) -> Slope {
        let sums = self.tracks.sums(|s| {
            let (f, share) = (f64::from(factors[s]), f64::from(self.per_length[s]));
            [f.exp(), f * share, share]
        });
        // Of each fixel what streamlines meet there: PM (μ TD - FD), PM μ TD, F̄.
        let (mut misfit, mut spread_of_fixels) = (0.0, 0.0);
        let met: Vec<[f64; 3]> = (0..sums.len())
            .map(|l| {
                let [weighted, factors, shares] = sums[l];
                let pm = f64::from(self.white[l]);
                let excess = self.mu * weighted - f64::from(self.density[l]);
                misfit += pm * excess * excess;
                let mean = if shares > 0.0 { factors / shares } else { 0.0 };
                spread_of_fixels -= pm * shares * mean * mean;
                [pm * excess, pm * self.mu * weighted, mean]
            })
            .collect();
        let n = self.streamlines();
        let (mut gradient, mut curvature) = (vec![0.0; n], vec![0.0; n]);
        let blocks = gradient.par_chunks_mut(BLOCK).zip(curvature.par_chunks_mut(BLOCK));
        let sums: Vec<[f64; 2]> = blocks
            .enumerate()
            .map(|(block, (gradient, curvature))| {
                let mut sums = [0.0; 2];
                for (i, (gradient, curvature)) in gradient.iter_mut().zip(curvature).enumerate() {
                    let s = block * BLOCK + i;
                    let f = f64::from(factors[s]);
                    let (weight, share) = (self.mu * f.exp(), f64::from(self.per_length[s]));
                    let mut slope = 2.0 * self.tikhonov * f;
                    let mut curved = 2.0 * self.tikhonov;
                    for &(l, length) in self.tracks.lengths_of(s) {
                        let (length, pm) = (f64::from(length), f64::from(self.white[l as usize]));
                        let [excess, held, mean] = met[l as usize];
                        let held_back = 2.0 * self.variation * pm * length * share;
                        slope += 2.0 * weight * length * excess + held_back * (f - mean);
                        curved += 2.0 * weight * length * held + held_back;
                        sums[1] += pm * length * share * f * f;
                    }
                    sums[0] += f * f;
                    (*gradient, *curvature) = (slope as f32, curved as f32);
                }
                sums
            })
            .collect();
        let [squares, spread] = sums.iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        // Σ c (F - F̄)² = Σ c F² - F̄² Σ c, c being |S|/ℓ.
        let penalty =
            self.tikhonov * squares + self.variation * (spread + spread_of_fixels).max(0.0);
        let step = Sift2Step {
            objective: (misfit + penalty) / self.scale,
            error: (misfit / self.scale).sqrt(),
        };
        Slope { step, gradient, curvature }
    }
}

/// Σ PM of what `of` says of a fixel.
fn sum_of(white: &[f32], of: &dyn Fn(usize) -> f64) -> f64 {
    white.iter().enumerate().map(|(l, pm)| f64::from(*pm) * of(l)).sum()
}

/// Σ aᵢ bᵢ in f64, the same for any number of threads.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let block = |(a, b): (&[f32], &[f32])| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let sums: Vec<f64> = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).map(block).collect();
    sums.iter().sum()
}
