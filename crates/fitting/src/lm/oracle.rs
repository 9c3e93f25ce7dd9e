//! One problem in `f64`, in the words of [`rules`]: what the lanes and kernels are
//! held to, and the path of double precision.

use fimbria_compute::dense::cholesky;

use super::likelihood::{Likelihood, ln_i0e_and_ratio_f64, rician_mean_f64};
use super::problems::LmStatus;
use super::rules::{self, Rules};
use super::{LmOptions, Model, Parameter, trust, with_prepared};

/// One problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The samples y.
    pub samples: &'a [f64],
    /// The weights w of the squared residuals; empty where all are 1.
    pub weights: &'a [f64],
    /// `[sample][covariate]`.
    pub covariates: &'a [f64],
    /// The constants.
    pub constants: &'a [f64],
    /// σ of the likelihood.
    pub sigma: f64,
}

/// The answer to one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution<const P: usize> {
    /// The parameters.
    pub parameters: [f64; P],
    /// √(Σ w (f - y)² / Σ w).
    pub residual: f64,
    /// Iterations taken.
    pub iterations: u32,
    /// What became of it.
    pub status: LmStatus,
    /// See [`Rows::covariance`](super::Rows::covariance).
    pub covariance: [[f64; P]; P],
}

/// Cost, gradient and Gauss-Newton matrix at a point.
#[derive(Clone, Copy)]
pub(super) struct Point<const P: usize> {
    pub(super) cost: f64,
    /// Σ w (f - y)², which is not 2 `cost` for a Rician likelihood.
    pub(super) squares: f64,
    pub(super) gradient: [f64; P],
    pub(super) matrix: [[f64; P]; P],
}

impl<const P: usize> Point<P> {
    /// Whether cost and matrix are numbers.
    pub(super) fn is_usable(&self) -> bool {
        (self.cost + (0..P).map(|j| self.matrix[j][j]).sum::<f64>()).is_finite()
    }

    /// Parameters that do not move from `p`: fixed, without influence, or pushed against a bound.
    pub(super) fn held(
        &self,
        parameters: &[Parameter; P],
        p: &[f64; P],
        no_influence: f64,
    ) -> [bool; P] {
        std::array::from_fn(|j| {
            let Parameter { lower, upper, fixed, .. } = parameters[j];
            fixed
                || self.matrix[j][j] <= no_influence
                || p[j] <= lower && self.gradient[j] > 0.0
                || p[j] >= upper && self.gradient[j] < 0.0
        })
    }

    /// By how much `step` should lower the cost.
    pub(super) fn predicted(&self, step: &[f64; P]) -> f64 {
        let mut predicted = 0.0;
        for j in 0..P {
            let curvature: f64 = (0..P).map(|k| self.matrix[j][k] * step[k]).sum();
            predicted -= step[j] * (self.gradient[j] + 0.5 * curvature);
        }
        predicted
    }
}

pub(super) fn evaluate<const P: usize, M: Model<P>>(
    model: &M,
    problem: &Problem<'_>,
    likelihood: Likelihood,
    p: &[f64; P],
) -> Point<P> {
    let n = model.n_covariates();
    let constants = with_prepared(model, p, problem.constants);
    let sigma = problem.sigma;
    let mut at = Point { cost: 0.0, squares: 0.0, gradient: [0.0; P], matrix: [[0.0; P]; P] };
    for (i, &y) in problem.samples.iter().enumerate() {
        let w = problem.weights.get(i).copied().unwrap_or(1.0);
        let covariates = &problem.covariates[i * n..][..n];
        let (mut f, mut slope) = model.signal_and_slope(p, covariates, &constants);
        if likelihood == Likelihood::OffsetGaussian {
            let with_offset = f.hypot(sigma);
            slope = slope.map(|s| s * f / with_offset);
            f = with_offset;
        }
        if likelihood == Likelihood::RicianMean {
            let (mean, by) = rician_mean_f64(f, sigma);
            slope = slope.map(|s| s * by);
            f = mean;
        }
        at.squares += w * (f - y).powi(2);
        at.cost += 0.5 * w * (f - y).powi(2);
        let mut expected = y;
        if likelihood == Likelihood::Rician && sigma > 0.0 {
            let (ln_i0e, ratio) = ln_i0e_and_ratio_f64(y.abs() * f.abs() / sigma.powi(2));
            at.cost -= w * sigma.powi(2) * ln_i0e;
            expected = y.abs() * ratio * f.signum();
        }
        for j in 0..P {
            at.gradient[j] += w * slope[j] * (f - expected);
            for k in 0..P {
                at.matrix[j][k] += w * slope[j] * slope[k];
            }
        }
    }
    at
}

/// Solves M x = b by Cholesky's factorisation, or says that a pivot is at most `least` of the
/// diagonal.
pub(super) fn solve<const P: usize>(
    m: &[[f64; P]; P],
    b: &[f64; P],
    least: f64,
) -> Option<[f64; P]> {
    let l = cholesky::factor_array(m, least)?;
    // Unlike `cholesky::solve` this takes each sum from x at once; the results of double precision rest
    // on that to the bit.
    let mut x = *b;
    for j in 0..P {
        x[j] = (x[j] - (0..j).map(|k| l[j][k] * x[k]).sum::<f64>()) / l[j][j];
    }
    for j in (0..P).rev() {
        x[j] = (x[j] - (j + 1..P).map(|i| l[i][j] * x[i]).sum::<f64>()) / l[j][j];
    }
    Some(x)
}

/// The matrix with rows and columns of `held` parameters replaced by the identity's.
pub(super) fn without<const P: usize>(m: &[[f64; P]; P], held: &[bool; P]) -> [[f64; P]; P] {
    let mut out = *m;
    for j in 0..P {
        for k in 0..P {
            if held[j] || held[k] {
                out[j][k] = if j == k { 1.0 } else { 0.0 };
            }
        }
    }
    out
}

/// Minimises the cost of `problem` from `start`, by [`rules`]; where these give up, from where steps of
/// bounded length lead, and keeps what is lower.
pub fn fit<const P: usize, M: Model<P>>(
    model: &M,
    parameters: &[Parameter; P],
    problem: &Problem<'_>,
    start: &[f64; P],
    options: &LmOptions,
) -> Solution<P> {
    let by_damping = fit_by(&Rules::DOUBLE, model, parameters, problem, start, options);
    if by_damping.status != LmStatus::NotConverged {
        return by_damping;
    }
    let near = trust::approach(model, parameters, problem, start, options);
    let by_length = fit_by(&Rules::DOUBLE, model, parameters, problem, &near, options);
    let arrived = by_length.status != LmStatus::NotConverged;
    if arrived && by_length.residual <= by_damping.residual { by_length } else { by_damping }
}

/// [`fit`] by other constants: with those of single precision it stops where the lanes stop.
pub fn fit_by<const P: usize, M: Model<P>>(
    rules: &Rules,
    model: &M,
    parameters: &[Parameter; P],
    problem: &Problem<'_>,
    start: &[f64; P],
    options: &LmOptions,
) -> Solution<P> {
    let mut solution = Solution {
        parameters: [0.0; P],
        residual: 0.0,
        iterations: 0,
        status: LmStatus::BadProblem,
        covariance: [[0.0; P]; P],
    };
    let finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
    let inputs = [problem.samples, problem.weights, problem.constants, start];
    let square = weighted_square(problem);
    if !inputs.into_iter().all(finite) || !problem.sigma.is_finite() || square == 0.0 {
        return solution;
    }
    let clamp = |k: usize, x: f64| x.clamp(parameters[k].lower, parameters[k].upper);
    let at = |p: &[f64; P]| evaluate(model, problem, options.likelihood, p);
    let floor = 0.5 * rules.rounding.powi(2) * square;

    let mut p: [f64; P] = std::array::from_fn(|k| clamp(k, start[k]));
    let mut here = at(&p);
    if !here.is_usable() {
        return solution;
    }
    let mut scale: [f64; P] = std::array::from_fn(|j| here.matrix[j][j]);
    let (mut damping, mut growth) = (rules::FIRST_DAMPING, 2.0);
    let mut converged = false;
    while !converged
        && damping <= rules::MOST_DAMPING
        && solution.iterations < options.max_iterations
    {
        solution.iterations += 1;
        let held = here.held(parameters, &p, rules.no_influence);
        let mut damped = here.matrix;
        for j in 0..P {
            damped[j][j] += damping * scale[j];
        }
        let rhs = std::array::from_fn(|j| if held[j] { 0.0 } else { -here.gradient[j] });
        let Some(step) = solve(&without(&damped, &held), &rhs, rules.pivot) else {
            damping *= growth;
            growth *= 2.0;
            continue;
        };
        let next: [f64; P] =
            std::array::from_fn(|k| if held[k] { p[k] } else { clamp(k, p[k] + step[k]) });
        let step: [f64; P] = std::array::from_fn(|k| next[k] - p[k]);
        let predicted = here.predicted(&step);
        let remaining = solve(&without(&here.matrix, &held), &rhs, rules.pivot)
            .map_or(f64::INFINITY, |x| 0.5 * (0..P).map(|j| x[j] * rhs[j]).sum::<f64>());
        let there = at(&next);
        let rounding = rules.flat * here.cost + 2.0 * (here.cost * floor).sqrt() + floor;
        let flat = predicted <= rounding;
        let limit = here.cost + rounding;
        let accept = there.is_usable() && (there.cost < here.cost || flat && there.cost <= limit);
        let length = |x: &[f64; P]| (0..P).map(|j| scale[j] * x[j] * x[j]).sum::<f64>();
        let still = length(&step) <= rules.step.powi(2) * length(&p);
        let last = rules.decrease * here.cost + floor;
        let arrived = 0.0 <= remaining && remaining <= last;
        converged = there.is_usable()
            && predicted >= -floor
            && (arrived || damping <= rules.last_damping && (predicted <= last || still));
        if accept {
            let by_slopes: f64 =
                (0..P).map(|j| -0.5 * step[j] * (here.gradient[j] + there.gradient[j])).sum();
            let gain = match (predicted <= floor, flat) {
                (true, _) => 1.0,
                (_, true) => (by_slopes / predicted).clamp(-1.0, 1.0),
                _ => (here.cost - there.cost) / predicted,
            };
            let factor = (1.0 - (2.0 * gain - 1.0).powi(3)).max(rules::SHRINK);
            damping = (damping * factor).max(rules::LEAST_DAMPING);
            growth = 2.0;
            (p, here) = (next, there);
            for j in 0..P {
                scale[j] = scale[j].max(here.matrix[j][j]);
            }
        } else {
            damping *= growth;
            growth *= 2.0;
        }
    }

    let sum_of_weights = match problem.weights {
        [] => problem.samples.len() as f64,
        weights => weights.iter().sum(),
    };
    solution.parameters = p;
    solution.residual = (here.squares / sum_of_weights).sqrt();
    solution.status = LmStatus::NotConverged;
    if converged {
        let at_bound: [bool; P] =
            std::array::from_fn(|j| p[j] <= parameters[j].lower || p[j] >= parameters[j].upper);
        let bound = (0..P).any(|j| at_bound[j] && !parameters[j].fixed);
        solution.status = if bound { LmStatus::AtBound } else { LmStatus::Converged };
        let held = std::array::from_fn(|j| parameters[j].fixed || at_bound[j]);
        match inverse(&here.matrix, &scale, &held, rules) {
            Some(inverse) => {
                let free = held.iter().filter(|&&h| !h).count();
                let variance = match options.likelihood {
                    Likelihood::Rician if problem.sigma > 0.0 => problem.sigma.powi(2),
                    // Without a sample to spare residuals are rounding.
                    _ if problem.samples.len() <= free => 0.0,
                    _ => here.squares / (problem.samples.len() - free) as f64,
                };
                if options.covariance {
                    solution.covariance = inverse.map(|row| row.map(|x| x * variance));
                }
            }
            None => solution.status = LmStatus::Singular,
        }
    }
    solution
}

/// The inverse of the matrix over the parameters not held (zero elsewhere), where they are
/// determined.
fn inverse<const P: usize>(
    matrix: &[[f64; P]; P],
    scale: &[f64; P],
    held: &[bool; P],
    rules: &Rules,
) -> Option<[[f64; P]; P]> {
    let least = |j: usize| rules.no_influence.max(rules.faded * scale[j]);
    if (0..P).any(|j| !held[j] && matrix[j][j] <= least(j)) {
        return None;
    }
    let free = without(matrix, held);
    let mut out = [[0.0; P]; P];
    for j in 0..P {
        let unit = std::array::from_fn(|k| if k == j { 1.0 } else { 0.0 });
        let column = solve(&free, &unit, rules.singular)?;
        if !held[j] {
            out[j] = column;
        }
    }
    Some(out)
}

/// Σ w y².
fn weighted_square(problem: &Problem<'_>) -> f64 {
    let weight = |i: usize| problem.weights.get(i).copied().unwrap_or(1.0);
    problem.samples.iter().enumerate().map(|(i, y)| weight(i) * y * y).sum()
}
