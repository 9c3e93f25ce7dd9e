//! Fits without outliers: what RESTORE (Chang 2005, 2012) does, of log-linear least squares.
//!
//! Samples are searched for outliers from a fit whose weights are the squared smaller one of the measured samples and
//! of what unweighted least squares predict: the logarithm of a sample that was lost would pull any other, and by its
//! own square one that is too bright would be followed. Where a residual of S lies beyond three standard deviations, of the
//! residuals' own robust spread c = 1.4826 √(n / (n - p)) times their median absolute deviation, all samples are
//! fitted again with weights multiplied by those of Geman and McClure, (9c² / (9c² + e²))², until the estimate rests
//! or ten times. What lies beyond three standard deviations then is left out of the fit that is asked for. (Weights of
//! c² instead leave so few samples for the 22 unknowns of kurtosis that the rest are taken for outliers: of 81
//! samples 13 beside two that were lost, with 9c² one.)
//!
//! Whoever fits (lanes, `f64`) sees weighted problems only; residuals and weights are made in `f64`, so that the
//! bits are those of the fits.

use fimbria_compute::SimdLevel;

use super::fit::{LogLinearFit, Outcome, Problems, Rows};
use super::oracle::predict;
use super::recipe::Passes;

/// Reweighted fits at most.
pub const MAX_ROBUST_FITS: usize = 10;
/// Reweighting ends when the unknowns' norm changes by less than this fraction.
pub const ROBUST_CHANGE: f64 = 1e-3;
/// Residuals beyond this many standard deviations are outliers.
pub const OUTLIER_SIGMAS: f64 = 3.0;
/// Standard deviation of a normal distribution over its median absolute deviation.
pub const SIGMA_OF_MAD: f64 = 1.4826;
/// A residual scale is never taken below this fraction of the mean sample: beneath it residuals are those of fits in
/// `f32`, and would all be outliers of each other.
const LEAST_SCALE: f64 = 1e-4;

impl LogLinearFit {
    /// Fits `problems` as [`fit_lanes`](Self::fit_lanes) does, those with outliers without these.
    ///
    /// # Panics
    /// Where a slice is too short, or weights are given.
    pub fn fit_robust_lanes(&self, simd: SimdLevel, problems: Problems<'_>, results: &mut [f32]) {
        self.fit_without_outliers(problems, results, |fit, problems, results| {
            fit.fit_lanes(simd, problems, results);
        });
    }

    /// The same in `f64`, one problem after the other.
    ///
    /// # Panics
    /// Where a slice is too short, or weights are given.
    pub fn fit_robust_in_f64(&self, problems: Problems<'_>, results: &mut [f32]) {
        self.fit_without_outliers(problems, results, Self::fit_in_f64);
    }

    fn fit_without_outliers(
        &self,
        problems: Problems<'_>,
        results: &mut [f32],
        fit: impl Fn(&Self, Problems<'_>, &mut [f32]),
    ) {
        assert!(problems.weights.is_none(), "the weights of a robust fit are its own");
        fit(self, problems, results);
        let mut searched = vec![0.0; results.len()];
        fit(&self.with_passes(Passes::OLS), problems, &mut searched);
        let all =
            (0..problems.n).filter_map(|problem| Open::new(self, problems, problem, &searched));
        let mut open: Vec<Open> = all.collect();
        let searching = self.with_passes(Passes::MEASURED_WLS);
        open.iter_mut().for_each(Open::limit);
        searching.fit_again(problems, &open, &mut searched, &fit);
        open.iter_mut().for_each(|one| one.read(self, problems.stride, &searched));
        open.retain(Open::has_outliers);
        let mut resting = Vec::new();
        for _ in 0..MAX_ROBUST_FITS {
            open.iter_mut().for_each(Open::weigh);
            searching.fit_again(problems, &open, &mut searched, &fit);
            let mut moving = Vec::new();
            for mut one in open {
                let has_moved = one.update(self, problems, &searched);
                if has_moved { &mut moving } else { &mut resting }.push(one);
            }
            open = moving;
        }
        resting.append(&mut open);
        resting.retain(Open::has_outliers);
        resting.iter_mut().for_each(Open::leave_out);
        self.fit_again(problems, &resting, results, &fit);
    }

    /// Fits the open problems side by side with their weights; what these do not determine stays as it was.
    fn fit_again(
        &self,
        problems: Problems<'_>,
        open: &[Open],
        results: &mut [f32],
        fit: impl Fn(&Self, Problems<'_>, &mut [f32]),
    ) {
        let (n, rows) = (open.len(), self.rows());
        if n == 0 {
            return;
        }
        let side_by_side = |value: &dyn Fn(&Open, usize) -> f64| -> Vec<f32> {
            let row = |sample| open.iter().map(move |one| value(one, sample) as f32);
            (0..self.design().n_samples()).flat_map(row).collect()
        };
        let samples = side_by_side(&|one, sample| one.samples[sample]);
        let weights = side_by_side(&|one, sample| one.weights[sample]);
        let again = Problems { samples: &samples, weights: Some(&weights), stride: n, n };
        let mut fitted = vec![0.0; rows.count() * n];
        fit(self, again, &mut fitted);
        for (place, one) in open.iter().enumerate() {
            if fitted[rows.outcome() * n + place] == Outcome::Fitted.code() {
                for row in 0..rows.count() {
                    results[row * problems.stride + one.problem] = fitted[row * n + place];
                }
            }
        }
    }
}

/// A problem with outliers.
struct Open {
    problem: usize,
    samples: Vec<f64>,
    mean: f64,
    /// ln A of samples over their mean, and the coefficients.
    unknowns: Vec<f64>,
    /// s - ŝ.
    errors: Vec<f64>,
    /// Their standard deviation, as their median absolute deviation has it.
    scale: f64,
    weights: Vec<f64>,
}

impl Open {
    /// As `results` have it; `None` where it was not fitted.
    fn new(
        fit: &LogLinearFit,
        problems: Problems<'_>,
        problem: usize,
        results: &[f32],
    ) -> Option<Self> {
        let n = fit.design().n_samples();
        let outcome = results[fit.rows().outcome() * problems.stride + problem];
        let sample = |i: usize| f64::from(problems.samples[i * problems.stride + problem]);
        let samples: Vec<f64> = (0..n).map(sample).collect();
        let mean = samples.iter().sum::<f64>() / n as f64;
        let mut one = Self {
            problem,
            samples,
            mean,
            unknowns: Vec::new(),
            errors: Vec::new(),
            scale: 0.0,
            weights: vec![1.0; n],
        };
        (outcome == Outcome::Fitted.code()).then(|| {
            one.read(fit, problems.stride, results);
            one
        })
    }

    /// Takes over what was fitted.
    fn read(&mut self, fit: &LogLinearFit, stride: usize, results: &[f32]) {
        let at = |row: usize| f64::from(results[row * stride + self.problem]);
        let coefficients =
            (0..fit.design().n_unknowns() - 1).map(|k| at(fit.rows().coefficient(k)));
        let amplitude = (at(Rows::AMPLITUDE) / self.mean).ln();
        self.unknowns = std::iter::once(amplitude).chain(coefficients).collect();
        let error = |(x, s): (&Vec<f64>, &f64)| s - self.mean * predict(x, &self.unknowns).exp();
        self.errors = fit.design().rows().iter().zip(&self.samples).map(error).collect();

        let beyond = (self.samples.len() as f64 - self.unknowns.len() as f64).max(1.0);
        self.scale = spread(&self.errors, beyond).max(LEAST_SCALE * self.mean);
    }

    /// Takes over what was fitted again: whether that has moved it.
    fn update(&mut self, fit: &LogLinearFit, problems: Problems<'_>, results: &[f32]) -> bool {
        let before = std::mem::take(&mut self.unknowns);
        self.read(fit, problems.stride, results);
        let change = before.iter().zip(&self.unknowns).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        change >= ROBUST_CHANGE.powi(2) * self.unknowns.iter().map(|a| a * a).sum::<f64>()
    }

    fn is_outlier(&self, error: f64) -> bool {
        error.abs() > OUTLIER_SIGMAS * self.scale
    }

    fn has_outliers(&self) -> bool {
        self.errors.iter().any(|&error| self.is_outlier(error))
    }

    /// Weights that make the square of what was predicted of that of a brighter sample.
    fn limit(&mut self) {
        let weight = |(&s, &e): (&f64, &f64)| if e > 0.0 { (1.0 - e / s).powi(2) } else { 1.0 };
        self.weights = self.samples.iter().zip(&self.errors).map(weight).collect();
    }

    /// The same, times Geman and McClure's weights.
    fn weigh(&mut self) {
        self.limit();
        let square = (OUTLIER_SIGMAS * self.scale).powi(2);
        for (weight, e) in self.weights.iter_mut().zip(&self.errors) {
            *weight *= (square / (square + e * e)).powi(2);
        }
    }

    /// Weights of 1, and of 0 for outliers.
    fn leave_out(&mut self) {
        let weight = |&e: &f64| if self.is_outlier(e) { 0.0 } else { 1.0 };
        self.weights = self.errors.iter().map(weight).collect();
    }
}

/// The standard deviation that the median absolute deviation of residuals implies, of which so many are `free`.
pub fn spread(residuals: &[f64], free: f64) -> f64 {
    let middle = median(residuals.to_vec());
    let deviation = median(residuals.iter().map(|r| (r - middle).abs()).collect());
    SIGMA_OF_MAD * (residuals.len() as f64 / free).sqrt() * deviation
}

fn median(mut values: Vec<f64>) -> f64 {
    let half = values.len() / 2;
    values.sort_by(f64::total_cmp);
    if values.len() % 2 == 1 { values[half] } else { 0.5 * (values[half - 1] + values[half]) }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::philox::{Philox, normals};

    use super::*;
    use crate::linear::testing::{kurtosis_columns, protocol};
    use crate::linear::{Design, Recipe};

    const N: usize = 60;

    fn fit() -> LogLinearFit {
        let covariates = protocol(6, &[(1.0, 30), (2.0, 45)]);
        let design = Design::new(&covariates, &kurtosis_columns()).unwrap();
        LogLinearFit::new(design, Recipe::default())
    }

    /// Whether a sample was lost: 2 in 81, others in each problem.
    fn is_lost(sample: usize, problem: usize) -> bool {
        (sample + 7 * problem) % 40 == 9
    }

    /// Samples of the model with noise, `[sample][N]`, where some have lost most of their signal.
    fn samples(fit: &LogLinearFit, noise: f64, loss: f64) -> Vec<f32> {
        let philox = Philox::new(8);
        let n = fit.design().n_samples();
        let mut samples = vec![0.0; n * N];
        for problem in 0..N {
            let numbers: Vec<f64> = (0..6)
                .flat_map(|step| normals::<f32>(philox.at(problem as u64, 1000 + step)))
                .map(f64::from)
                .collect();
            let mut unknowns = vec![5.0];
            let round = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0].map(|d: f64| 0.8 * d);
            unknowns.extend(round.iter().zip(&numbers).map(|(d, x)| d + 0.05 * x));
            unknowns.extend(numbers[6..21].iter().map(|x| 0.1 + 0.03 * x));
            for (sample, row) in fit.design().rows().iter().enumerate() {
                let [normal, ..] = normals::<f32>(philox.at(problem as u64, sample as u32));
                let kept = if is_lost(sample, problem) { 1.0 - loss } else { 1.0 };
                let signal =
                    kept * predict(row, &unknowns).exp() + 150.0 * noise * f64::from(normal);
                samples[sample * N + problem] = signal as f32;
            }
        }
        samples
    }

    fn results(
        run: impl Fn(Problems<'_>, &mut [f32]),
        fit: &LogLinearFit,
        samples: &[f32],
    ) -> Vec<f32> {
        let mut results = vec![f32::NAN; fit.rows().count() * N];
        run(Problems { samples, weights: None, stride: N, n: N }, &mut results);
        results
    }

    /// The largest difference between estimates, beside their largest entry but that of the amplitude.
    fn difference(fit: &LogLinearFit, one: &[f32], other: &[f32]) -> f32 {
        let entries = N..N * fit.design().n_unknowns();
        let pairs = one[entries.clone()].iter().zip(&other[entries]);
        pairs.fold(0.0, |most, (a, b)| if (a - b).abs() <= most { most } else { (a - b).abs() })
    }

    #[test]
    fn wrong_samples_leave_no_trace_where_nothing_else_is_noise() {
        let fit = fit();
        let simd = SimdLevel::best();
        let truth = results(|p, r| fit.fit_in_f64(p, r), &fit, &samples(&fit, 0.0, 0.0));
        // Lost, and four times as bright.
        for loss in [0.9, -3.0] {
            let wrong = samples(&fit, 0.0, loss);
            let plain = results(|p, r| fit.fit_in_f64(p, r), &fit, &wrong);
            assert!(difference(&fit, &truth, &plain) > 0.1);
            for robust in [
                results(|p, r| fit.fit_robust_in_f64(p, r), &fit, &wrong),
                results(|p, r| fit.fit_robust_lanes(simd, p, r), &fit, &wrong),
            ] {
                let error = difference(&fit, &truth, &robust);
                // Rounding of samples to f32 by the condition of the kurtosis design.
                assert!(error < 1e-4, "{loss}: {error}");
            }
        }
    }

    #[test]
    fn with_noise_what_is_left_is_the_fit_without_the_samples_that_were_lost() {
        what_is_left_is_the_fit_without_the_wrong_samples(0.9);
    }

    #[test]
    fn with_noise_what_is_left_is_the_fit_without_the_samples_that_are_too_bright() {
        what_is_left_is_the_fit_without_the_wrong_samples(-3.0);
    }

    fn what_is_left_is_the_fit_without_the_wrong_samples(loss: f64) {
        let fit = fit();
        let (whole, lost) = (samples(&fit, 0.02, 0.0), samples(&fit, 0.02, loss));
        let weights: Vec<f32> =
            (0..lost.len()).map(|at| if is_lost(at / N, at % N) { 0.0 } else { 1.0 }).collect();
        let mut without = vec![0.0; fit.rows().count() * N];
        let known = Problems { samples: &lost, weights: Some(&weights), stride: N, n: N };
        fit.fit_in_f64(known, &mut without);
        let robust = results(|p, r| fit.fit_robust_in_f64(p, r), &fit, &lost);
        let of_whole = results(|p, r| fit.fit_robust_in_f64(p, r), &fit, &whole);
        let column = |values: &[f32], problem: usize| -> Vec<f32> {
            (0..fit.design().n_unknowns()).map(|row| values[row * N + problem]).collect()
        };
        let same = |problem: &usize| column(&without, *problem) == column(&robust, *problem);
        let agreeing = (0..N).filter(same).count();
        // In the others one or two of 81 samples lie beyond three deviations by chance.
        assert!(agreeing > N / 4, "{agreeing} of {N}");
        let worst = (0..N).map(|problem| {
            let pairs = column(&robust, problem).into_iter().zip(column(&of_whole, problem));
            pairs.skip(1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        });
        let worst = worst.fold(0.0, f32::max);
        // As far as two samples and what goes with them by chance move an entry; plain fits are off by ten times this.
        assert!(worst < 0.5, "{worst}");
    }

    #[test]
    fn lanes_do_what_double_precision_does() {
        let fit = fit();
        let lost = samples(&fit, 0.02, 0.9);
        let lanes = results(|p, r| fit.fit_robust_lanes(SimdLevel::best(), p, r), &fit, &lost);
        let double = results(|p, r| fit.fit_robust_in_f64(p, r), &fit, &lost);
        let column = |values: &[f32], problem: usize| -> Vec<f32> {
            (0..fit.design().n_unknowns()).map(|row| values[row * N + problem]).collect()
        };
        let off = |problem: usize| {
            let pairs = column(&lanes, problem).into_iter().zip(column(&double, problem));
            pairs.skip(1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        // Rounding may take a residual across the limit, in one voxel of some hundred.
        let differing = (0..N).filter(|&problem| off(problem) > 2e-5).count();
        assert!(differing <= 2, "{differing} of {N}");
    }

    #[test]
    fn samples_without_outliers_are_fitted_as_ever_and_what_cannot_be_fitted_says_so() {
        let fit = fit();
        let mut samples = samples(&fit, 0.0, 0.0);
        for row in samples.chunks_exact_mut(N) {
            row[3] = f32::NAN;
            row[4] = 0.0;
        }
        let simd = SimdLevel::best();
        let plain = results(|p, r| fit.fit_lanes(simd, p, r), &fit, &samples);
        let robust = results(|p, r| fit.fit_robust_lanes(simd, p, r), &fit, &samples);
        assert_eq!(plain, robust);
        assert_eq!(robust[fit.rows().outcome() * N + 3], Outcome::BadSignal.code());
    }
}
