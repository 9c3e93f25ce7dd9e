//! Two sets of errors of the same voxels.

/// How the errors of a model without some streamlines (`lesioned`) differ from those with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Strength of evidence: the difference of the means over the root of the sum of their
    /// variances (d' of the bootstrapped means, of which this is the limit); NaN of fewer than two
    /// voxels.
    pub strength: f64,
    /// Earth mover's distance, in the unit of the errors: how far errors must be moved, on average.
    pub earth_mover: f64,
    /// Kullback-Leibler divergence of the lesioned errors' histogram from the other, bits.
    pub kullback_leibler: f64,
    /// Jeffreys' divergence of both from their mean, bits.
    pub jeffreys: f64,
}

/// Bins of the histograms, from the smallest error to the largest.
const BINS: usize = 60;

/// Compares errors by voxel.
///
/// ENCODE draws 5 x 5000 bootstrap samples for the strength and solves a transport problem on a
/// histogram for the distance. Both have closed forms: the mean of n samples drawn with replacement
/// has variance s²/n, and in one dimension the distance between samples of one size is the mean
/// difference of the sorted ones.
pub fn compare(intact: &[f32], lesioned: &[f32]) -> Comparison {
    let n = intact.len() as f64;
    let mean = |x: &[f32]| x.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let variance = |x: &[f32]| {
        let mean = mean(x);
        x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / (n - 1.0)
    };
    let spread = ((variance(intact) + variance(lesioned)) / n).sqrt();
    let sorted = |x: &[f32]| {
        let mut x = x.to_vec();
        x.sort_by(f32::total_cmp);
        x
    };
    let (a, b) = (sorted(intact), sorted(lesioned));
    let moved: f64 = a.iter().zip(&b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs()).sum();
    let (p, q) = histograms(lesioned, intact);
    let divergence = |p: &[f64], q: &[f64]| -> f64 {
        let terms = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
        terms.map(|(p, q)| p * (p / (q + f64::EPSILON)).log2()).sum()
    };
    let between: Vec<f64> = p.iter().zip(&q).map(|(p, q)| 0.5 * (p + q)).collect();
    Comparison {
        strength: (mean(lesioned) - mean(intact)) / spread,
        earth_mover: moved / n,
        kullback_leibler: divergence(&p, &q),
        jeffreys: divergence(&p, &between) + divergence(&q, &between),
    }
}

/// Shares of each of [`BINS`] bins that span both.
fn histograms(a: &[f32], b: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let all = || a.iter().chain(b).copied();
    let (low, high) = (all().fold(f32::INFINITY, f32::min), all().fold(0.0, f32::max));
    let count = a.len() as f64;
    let share = |x: &[f32]| {
        let mut bins = vec![0.0; BINS];
        for &x in x {
            let at = f64::from((x - low) / (high - low).max(f32::MIN_POSITIVE)) * BINS as f64;
            bins[(at as usize).min(BINS - 1)] += 1.0 / count;
        }
        bins
    };
    (share(a), share(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::philox::{Philox, normals};

    fn errors(seed: u64, n: usize, mean: f32, spread: f32) -> Vec<f32> {
        let philox = Philox::new(seed);
        (0..n as u64).map(|i| mean + spread * normals::<f32>(philox.at(i, 0))[0]).collect()
    }

    #[test]
    fn the_same_errors_are_no_evidence() {
        let errors = errors(1, 500, 5.0, 1.0);
        let same = compare(&errors, &errors);
        assert_eq!((same.strength, same.earth_mover), (0.0, 0.0));
        assert!(same.kullback_leibler.abs() < 1e-12 && same.jeffreys.abs() < 1e-12);
    }

    #[test]
    fn a_shift_is_moved_by_its_size() {
        let intact = errors(1, 500, 5.0, 1.0);
        let lesioned: Vec<f32> = intact.iter().map(|e| e + 0.25).collect();
        assert!((compare(&intact, &lesioned).earth_mover - 0.25).abs() < 1e-6);
    }

    #[test]
    fn the_strength_is_the_limit_of_the_bootstrap() {
        let (intact, lesioned) = (errors(1, 200, 5.0, 1.0), errors(2, 200, 5.5, 1.2));
        let means = |x: &[f32], seed: u64| -> Vec<f64> {
            let philox = Philox::new(seed);
            let draw = |boot: u64| {
                let drawn = (0..200).map(|k| x[philox.at(boot, k)[0] as usize % 200]);
                drawn.map(f64::from).sum::<f64>() / 200.0
            };
            (0..5000).map(draw).collect()
        };
        let (a, b) = (means(&intact, 3), means(&lesioned, 4));
        let mean = |x: &[f64]| x.iter().sum::<f64>() / 5000.0;
        let variance = |x: &[f64]| x.iter().map(|v| (v - mean(x)).powi(2)).sum::<f64>() / 5000.0;
        let bootstrapped = (mean(&b) - mean(&a)) / (variance(&a) + variance(&b)).sqrt();
        let closed = compare(&intact, &lesioned).strength;
        // The standard deviation of 5000 draws is known to 1 %, and n - 1 for n is 0.3 %.
        assert!((closed / bootstrapped - 1.0).abs() < 0.03, "{closed} {bootstrapped}");
    }

    #[test]
    fn histograms_that_do_not_meet_differ_by_two_bits() {
        let far = compare(&errors(1, 100, 1.0, 0.01), &errors(2, 100, 9.0, 0.01));
        assert!((far.jeffreys - 2.0).abs() < 1e-9, "{far:?}");
    }
}
