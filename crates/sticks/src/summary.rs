//! What is kept of the samples of one voxel.

use std::f64::consts::TAU;

use fimbria_image::sticks::PackedStick;

use crate::slots::{
    DIFFUSIVITY, FIBRES, OFFSET, PRECISION, RATIO, S0, SPREAD, fraction, phi, theta,
};

/// Samples of one voxel: `[sample][sampled slot]`.
pub(crate) struct VoxelSamples<'a> {
    pub(crate) sampled: &'a [usize],
    pub(crate) values: &'a [f32],
}

/// Numbers of a voxel beside its sticks, means over the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scalars {
    /// mm²/s.
    pub(crate) d: f32,
    /// Standard deviation over the samples, mm²/s.
    pub(crate) d_deviation: f32,
    /// In units of the input.
    pub(crate) s0: f32,
    /// mm²/s.
    pub(crate) spread: f32,
    pub(crate) ratio: f32,
    pub(crate) offset: f32,
    /// 1/σ², σ in units of the input.
    pub(crate) precision: f32,
    /// The least effective number of samples of S0, d and the fraction of the first fibre.
    pub(crate) effective: f32,
}

impl Scalars {
    /// False where signals are so large or small that a number in their units is beyond `f32`.
    pub(crate) fn are_finite(&self) -> bool {
        let Self { d, d_deviation, s0, spread, ratio, offset, precision, effective } = *self;
        [d, d_deviation, s0, spread, ratio, offset, precision, effective]
            .iter()
            .all(|value| value.is_finite())
    }
}

impl VoxelSamples<'_> {
    fn n_samples(&self) -> usize {
        self.values.len() / self.sampled.len()
    }

    /// All samples of a slot; none where it is not sampled.
    fn samples(&self, slot: usize) -> impl Iterator<Item = f64> + '_ {
        let place = self.sampled.iter().position(|&s| s == slot);
        let from = place.unwrap_or(self.values.len());
        self.values.iter().skip(from).step_by(self.sampled.len()).map(|&v| f64::from(v))
    }

    fn mean(&self, slot: usize) -> f64 {
        self.samples(slot).sum::<f64>() / self.n_samples() as f64
    }

    fn n_fibres(&self) -> usize {
        self.sampled.iter().filter(|&&slot| slot >= FIBRES).count() / 3
    }

    /// Fibres in the order of their mean fractions, largest first.
    pub(crate) fn order(&self) -> Vec<usize> {
        let means: Vec<f64> = (0..self.n_fibres()).map(|k| self.mean(fraction(k))).collect();
        let mut order: Vec<usize> = (0..means.len()).collect();
        order.sort_by(|&a, &b| means[b].total_cmp(&means[a]));
        order
    }

    /// Writes `[sample][fibre]`, fibres in order of mean fraction.
    pub(crate) fn pack(&self, sticks: &mut [PackedStick]) {
        let n_fibres = self.n_fibres();
        for (place, fibre) in self.order().into_iter().enumerate() {
            let angles = self.samples(theta(fibre)).zip(self.samples(phi(fibre)));
            for (k, ((theta, phi), f)) in angles.zip(self.samples(fraction(fibre))).enumerate() {
                let (sin_theta, cos_theta) = (TAU * theta).sin_cos();
                let (sin_phi, cos_phi) = (TAU * phi).sin_cos();
                let dir = [sin_theta * cos_phi, sin_theta * sin_phi, cos_theta];
                sticks[k * n_fibres + place] = PackedStick::new(dir, f);
            }
        }
    }

    /// Means in the units of files, for signals that were divided by `scale`.
    pub(crate) fn scalars(&self, scale: f32) -> Scalars {
        const MM2_PER_S: f64 = 1e-3;
        let scale = f64::from(scale);
        let mean_d = self.mean(DIFFUSIVITY);
        let n = self.n_samples() as f64;
        let squares: f64 = self.samples(DIFFUSIVITY).map(|d| (d - mean_d).powi(2)).sum();
        let first = self.order().first().map_or(FIBRES, |&fibre| fraction(fibre));
        let effective = [S0, DIFFUSIVITY, first]
            .into_iter()
            .map(|slot| effective_samples(&self.samples(slot).collect::<Vec<_>>()))
            .fold(f64::INFINITY, f64::min);
        Scalars {
            d: (mean_d * MM2_PER_S) as f32,
            d_deviation: ((squares / (n - 1.0).max(1.0)).sqrt() * MM2_PER_S) as f32,
            s0: (self.mean(S0) * scale) as f32,
            spread: (self.mean(SPREAD) * MM2_PER_S) as f32,
            ratio: self.mean(RATIO) as f32,
            offset: self.mean(OFFSET) as f32,
            precision: (self.mean(PRECISION) / (scale * scale)) as f32,
            effective: effective as f32,
        }
    }
}

/// How many independent samples would determine the mean as well: n / (1 + 2 Σ ρ_k), the sum over
/// pairs of neighbouring lags until a pair is no longer positive (Geyer 1992, initial positive
/// sequence). n where the chain never moved: there is nothing to determine.
pub(crate) fn effective_samples(x: &[f64]) -> f64 {
    let n = x.len();
    let mean = x.iter().sum::<f64>() / n as f64;
    let covariance = |lag: usize| {
        (0..n - lag).map(|i| (x[i] - mean) * (x[i + lag] - mean)).sum::<f64>() / n as f64
    };
    let variance = covariance(0);
    if variance <= 1e-12 * mean * mean {
        return n as f64;
    }
    let mut sum = -1.0;
    for lag in (0..n.saturating_sub(1)).step_by(2) {
        let pair = (covariance(lag) + covariance(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        sum += 2.0 * pair;
    }
    (n as f64 / sum.max(1.0)).min(n as f64)
}

#[cfg(test)]
mod tests {
    use fimbria_compute::philox::{Philox, normals};

    use super::*;

    fn noise(n: usize) -> Vec<f64> {
        (0..n as u64).map(|i| f64::from(normals::<f32>(Philox::new(5).at(i, 0))[0])).collect()
    }

    #[test]
    fn independent_samples_count_in_full() {
        let n = effective_samples(&noise(2000));
        // Correlations of 2000 numbers are ±0.02, a few of which are summed.
        assert!(n > 1700.0, "{n}");
    }

    #[test]
    fn samples_of_a_slow_chain_count_as_theory_says() {
        let mut x = 0.0;
        let chain: Vec<f64> = noise(20_000)
            .into_iter()
            .map(|e| {
                x = 0.9 * x + e;
                x
            })
            .collect();
        // (1 - ρ)/(1 + ρ) of them; the estimate of a sum of 40 correlations is off by a fifth.
        let expected = 20_000.0 * 0.1 / 1.9;
        let found = effective_samples(&chain);
        assert!((found / expected - 1.0).abs() < 0.3, "{found} {expected}");
    }

    #[test]
    fn a_chain_that_never_moved_is_certain() {
        assert_eq!(effective_samples(&[0.4; 50]), 50.0);
    }

    #[test]
    fn fibres_are_ordered_by_mean_fraction() {
        let sampled: Vec<usize> = [DIFFUSIVITY, S0].into_iter().chain(FIBRES..FIBRES + 6).collect();
        let sample = |f1: f32, f2: f32| vec![1.0, 1.0, 0.25, 0.0, f1, 0.25, 0.25, f2];
        let values = [sample(0.1, 0.5), sample(0.45, 0.4)].concat();
        let voxel = VoxelSamples { sampled: &sampled, values: &values };
        let mut sticks = [PackedStick::NONE; 4];
        voxel.pack(&mut sticks);
        // The second fibre has the larger mean, 0.45 against 0.275, and points along y.
        for (stick, axis) in sticks.iter().zip([1, 0, 1, 0]) {
            assert!(stick.dir_ras()[axis] > 0.999, "{sticks:?}");
        }
        assert_eq!(sticks[0].fraction(), 0.5);
    }
}
