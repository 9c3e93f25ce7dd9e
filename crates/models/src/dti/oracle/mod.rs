//! The tensor fit of one voxel in `f64`, written to be read: the truth the fast versions are held
//! to, and the path of `Precision::Double`.
//!
//! `fit` goes from samples to [`Parameters`], `TensorMaps::new` from the tensor to what the
//! maps show.

mod linear;
mod maps;
mod nonlinear;
mod robust;

pub(crate) use maps::TensorMaps;
pub(crate) use nonlinear::steps;

use fimbria_compute::dense::cholesky;
use fimbria_image::Status;

use super::design::{Design, SMALLEST_PIVOT};
use super::recipe::{N_PARAMS, Recipe, Refinement};

/// What a fit says about one voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameters {
    /// Signal without weighting, input units.
    pub(crate) s0: f64,
    /// xx xy xz yy yz zz in scanner RAS axes, µm²/ms.
    pub(crate) tensor: [f64; 6],
    /// Root mean square of S - Ŝ, input units.
    pub(crate) residual: f64,
    /// What became of the voxel; all numbers are zero where it could not be fitted.
    pub(crate) status: Status,
}

impl Parameters {
    /// A voxel that could not be fitted.
    pub(crate) fn none(status: Status) -> Self {
        Self { s0: 0.0, tensor: [0.0; 6], residual: 0.0, status }
    }
}

/// Fits the samples of one voxel; also how many of them were raised to have a logarithm.
pub(crate) fn fit(samples: &[f64], design: &Design, recipe: &Recipe) -> (Parameters, usize) {
    let largest = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    if !(mean.is_finite() && largest > 0.0 && mean > 0.0) {
        return (Parameters::none(Status::BadSignal), 0);
    }
    let raised = linear::raise(samples, mean, design, recipe.floor);
    let n_raised = samples.iter().zip(&raised).filter(|(s, r)| s < r).count();
    let Some(p) = linear::fit(samples, &raised, design, recipe) else {
        return (Parameters::none(Status::Singular), n_raised);
    };
    let target = if recipe.floor_nonlinear { &raised } else { samples };
    let (p, converged) = match recipe.refinement {
        Refinement::None => (p, true),
        Refinement::Nonlinear => nonlinear::fit(target, &vec![1.0; target.len()], design, p),
        Refinement::Robust { sigma, own_scale_in_weights } => {
            robust::fit(target, mean, sigma, own_scale_in_weights, design, p)
        }
    };
    let rss: f64 =
        design.rows.iter().zip(samples).map(|(x, s)| (s - predict(x, &p).exp()).powi(2)).sum();
    let intercept = p[0].exp();
    let parameters = Parameters {
        s0: if recipe.s0_at_least_mean { intercept.max(mean) } else { intercept },
        tensor: std::array::from_fn(|k| p[k + 1]),
        residual: (rss / samples.len() as f64).sqrt(),
        status: if converged { Status::Fitted } else { Status::NotConverged },
    };
    (parameters, n_raised)
}

/// One element of X p: the predicted logarithm of one sample.
fn predict(x: &[f64; N_PARAMS], p: &[f64; N_PARAMS]) -> f64 {
    x.iter().zip(p).map(|(x, p)| x * p).sum()
}

/// The normal equations of Σ w (r - x·q)²: the matrix Σ w x xᵀ and the right-hand side Σ w r x,
/// from (row, weight, w r) triples.
struct Normal {
    matrix: [[f64; N_PARAMS]; N_PARAMS],
    rhs: [f64; N_PARAMS],
}

impl Normal {
    fn new<'a>(terms: impl Iterator<Item = (&'a [f64; N_PARAMS], f64, f64)>) -> Self {
        let mut normal = Self { matrix: [[0.0; N_PARAMS]; N_PARAMS], rhs: [0.0; N_PARAMS] };
        for (x, weight, weighted_residual) in terms {
            for i in 0..N_PARAMS {
                for j in 0..=i {
                    normal.matrix[i][j] += weight * x[i] * x[j];
                }
                normal.rhs[i] += weighted_residual * x[i];
            }
        }
        normal
    }

    /// The solution with `damping` times the diagonal added, `None` where it is not unique.
    fn solve(&self, damping: f64) -> Option<[f64; N_PARAMS]> {
        let mut a = self.matrix;
        for i in 0..N_PARAMS {
            a[i][i] *= 1.0 + damping;
        }
        Some(cholesky::solve(&cholesky::factor_array(&a, SMALLEST_PIVOT)?, &self.rhs))
    }
}

#[cfg(test)]
mod tests;
