//! Fits that outliers do not pull: least squares with weights made of the residuals, repeated.
//!
//! Each round takes the standardised residuals u = √w (f - y) / s of a problem, its own scale
//! s = 1.4826 median|√w (f - y)| √(n / (n - p)) for n samples and p free parameters, and fits again
//! from where it stands with every weight multiplied by ψ(u)/u. A problem is done once no factor
//! changes by more than a thousandth. Whoever fits (lanes, the oracle, a device) sees weighted
//! problems only; scales and factors are made in `f64`, so that the bits are those of the fits.
//!
//! Huber, "Robust Estimation of a Location Parameter" (1964); Beaton & Tukey (1974); constants for
//! 95 % efficiency under normal noise: Holland & Welsch (1977).

use super::likelihood::rician_mean_f64;
use super::problems::{LmOptions, LmStatus, Problems, Rows, Sigma, Starts, Weights};
use super::{Likelihood, Parameter};

/// How the pull of a sample is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Robust {
    /// Residuals beyond 1.345 s pull as if they were 1.345 s: a convex problem, some pull is left.
    Huber,
    /// Residuals beyond 4.685 s do not pull at all; begins with Huber's.
    Tukey,
}

const HUBER: f64 = 1.345;
const TUKEY: f64 = 4.685;
/// Rounds with Huber's factors before Tukey's, which need a fair start.
const FAIR: usize = 3;
const MOST_ROUNDS: usize = 20;
/// Change of a factor below which it has settled.
const SETTLED: f64 = 1e-3;
/// The median of |x| times this is the deviation of normal x.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;
/// Residuals below this fraction of the largest sample are rounding: nothing is an outlier then.
const ROUNDING: f64 = 1e-6;

impl Robust {
    /// ψ(u)/u in a round.
    fn factor(self, u: f64, round: usize) -> f64 {
        match self {
            Self::Tukey if round >= FAIR => (1.0 - (u / TUKEY).powi(2)).max(0.0).powi(2),
            _ => (HUBER / u.abs()).min(1.0),
        }
    }
}

/// Fits again and again what `fit` fitted to `results`, until outliers have lost their pull.
///
/// `signal` is the model's signal of (parameters, covariates of a sample, constants of a problem).
/// Iterations are summed over the rounds; residual and covariance are those of the last weights.
///
/// # Errors
/// Those of `fit`.
pub fn refit<E>(
    robust: Robust,
    parameters: &[Parameter],
    problems: &Problems<'_>,
    options: &LmOptions,
    signal: impl Fn(&[f64], &[f64], &[f64]) -> f64,
    mut fit: impl FnMut(&Problems<'_>, &mut [f32]) -> Result<(), E>,
    results: &mut [f32],
) -> Result<(), E> {
    let rows = Rows::new(parameters.len(), options);
    let mut open: Vec<Open> = (0..problems.n).map(|problem| Open::new(problem, problems)).collect();
    for round in 0..MOST_ROUNDS {
        open.retain_mut(|one| {
            let status = results[rows.status() * problems.stride + one.problem];
            let fitted = status < LmStatus::BadProblem.code();
            fitted && one.weigh(robust, round, parameters, problems, options, &signal, results)
        });
        if open.is_empty() {
            break;
        }
        // The open problems, side by side.
        let n = open.len();
        let gather = |array: &[f32], count: usize| -> Vec<f32> {
            let row = |r: usize| open.iter().map(move |o| array[r * problems.stride + o.problem]);
            (0..count).flat_map(row).collect()
        };
        let n_constants = problems.constants.len() / problems.stride;
        let samples = gather(problems.samples, problems.n_samples());
        let constants = gather(problems.constants, n_constants);
        let starts = gather(results, parameters.len());
        let weights: Vec<f32> = (0..problems.n_samples())
            .flat_map(|i| open.iter().map(move |o| (o.base[i] * o.factors[i]) as f32))
            .collect();
        let again = Problems {
            n,
            stride: n,
            samples: &samples,
            covariates: problems.covariates,
            constants: &constants,
            weights: Weights::PerProblem(&weights),
            starts: Starts::PerProblem(&starts),
        };
        let mut found = vec![0.0; rows.count() * n];
        fit(&again, &mut found)?;
        for (place, one) in open.iter().enumerate() {
            for row in 0..rows.count() {
                let result = &mut results[row * problems.stride + one.problem];
                let before = if row == rows.iterations() { *result } else { 0.0 };
                *result = found[row * n + place] + before;
            }
        }
    }
    Ok(())
}

/// A problem whose factors have not settled.
struct Open {
    problem: usize,
    /// The weights of the samples as they were given.
    base: Vec<f64>,
    /// What each is multiplied by.
    factors: Vec<f64>,
}

impl Open {
    fn new(problem: usize, problems: &Problems<'_>) -> Self {
        let n = problems.n_samples();
        let base = (0..n).map(|i| f64::from(problems.weight(i, problem))).collect();
        Self { problem, base, factors: vec![1.0; n] }
    }

    /// New factors from the residuals; false where they have settled.
    #[expect(clippy::too_many_arguments, reason = "what a problem is made of")]
    fn weigh(
        &mut self,
        robust: Robust,
        round: usize,
        parameters: &[Parameter],
        problems: &Problems<'_>,
        options: &LmOptions,
        signal: &impl Fn(&[f64], &[f64], &[f64]) -> f64,
        results: &[f32],
    ) -> bool {
        let column = |array: &[f32], count: usize| -> Vec<f64> {
            (0..count).map(|row| f64::from(problems.at(array, row, self.problem))).collect()
        };
        let p = column(results, parameters.len());
        let constants = column(problems.constants, problems.constants.len() / problems.stride);
        let samples = column(problems.samples, problems.n_samples());
        let sigma = match (options.likelihood, options.sigma) {
            (Likelihood::Gaussian, _) => 0.0,
            (_, Sigma::Shared(sigma)) => f64::from(sigma),
            (_, Sigma::Constant(row)) => constants[row],
        };
        let n_covariates = problems.covariates.len() / samples.len().max(1);
        let residuals: Vec<f64> = (0..samples.len())
            .map(|i| {
                let known = &problems.covariates[i * n_covariates..][..n_covariates];
                let known: Vec<f64> = known.iter().map(|&c| f64::from(c)).collect();
                let f = signal(&p, &known, &constants);
                let expected = match options.likelihood {
                    Likelihood::RicianMean => rician_mean_f64(f, sigma).0,
                    _ => f.hypot(sigma),
                };
                self.base[i].sqrt() * (expected - samples[i])
            })
            .collect();

        let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
        let middle = sizes.len() / 2;
        let median = *sizes.select_nth_unstable_by(middle, f64::total_cmp).1;
        let free = parameters.iter().filter(|parameter| !parameter.fixed).count();
        let beyond = samples.len().saturating_sub(free).max(1) as f64;
        let scale = DEVIATION_OF_MEDIAN * median * (samples.len() as f64 / beyond).sqrt();
        let largest = samples.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        let scale = scale.max(ROUNDING * largest);

        let factors: Vec<f64> = residuals.iter().map(|r| robust.factor(r / scale, round)).collect();
        let change = self.factors.iter().zip(&factors).map(|(a, b)| (a - b).abs());
        let settled = change.fold(0.0, f64::max) <= SETTLED;
        self.factors = factors;
        // Tukey's begin where Huber's end.
        !settled || (robust == Robust::Tukey && round < FAIR)
    }
}
