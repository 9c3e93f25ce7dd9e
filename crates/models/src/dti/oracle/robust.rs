//! RESTORE: non-linear least squares that finds and drops outliers (Chang 2005, with
//! Geman-McClure weights and the per-voxel noise estimate of Chang 2012).

use fimbria_fitting::linear::robust::spread;

use super::{nonlinear, predict};
use crate::dti::design::Design;
use crate::dti::recipe::{
    MAX_ROBUST_FITS, MIN_RELATIVE_SCALE, N_PARAMS, OUTLIER_SIGMAS, ROBUST_CHANGE,
};

/// The robust estimate from `start`, and whether its last non-linear fit came to rest.
pub(super) fn fit(
    samples: &[f64],
    mean: f64,
    sigma: Option<f64>,
    own_scale_in_weights: bool,
    design: &Design,
    start: [f64; N_PARAMS],
) -> ([f64; N_PARAMS], bool) {
    let n = samples.len();
    let least = MIN_RELATIVE_SCALE * mean;
    let scale = |r: &[f64]| sigma.unwrap_or_else(|| own_scale(r)).max(least);
    let all = vec![1.0; n];
    let (mut p, mut converged) = nonlinear::fit(samples, &all, design, start);
    let mut r = residuals(samples, design, &p);
    let mut c = scale(&r);
    if !r.iter().any(|r| r.abs() > OUTLIER_SIGMAS * c) {
        return (p, converged);
    }
    for _ in 0..MAX_ROBUST_FITS {
        c = if own_scale_in_weights { own_scale(&r).max(least) } else { scale(&r) };
        let omega: Vec<f64> = r.iter().map(|r| (c * c / (c * c + r * r)).powi(2)).collect();
        let before = p;
        (p, converged) = nonlinear::fit(samples, &omega, design, before);
        r = residuals(samples, design, &p);
        let moved: f64 = (0..N_PARAMS).map(|k| (p[k] - before[k]).powi(2)).sum();
        // ln S0 counts from the mean signal, so that the unit of the signal does not matter.
        let size = (p[0] - mean.ln()).powi(2) + p[1..].iter().map(|d| d * d).sum::<f64>();
        if moved < ROBUST_CHANGE.powi(2) * size {
            break;
        }
    }
    let keep: Vec<f64> =
        r.iter().map(|r| if r.abs() > OUTLIER_SIGMAS * c { 0.0 } else { 1.0 }).collect();
    if keep != all {
        (p, converged) = nonlinear::fit(samples, &keep, design, p);
    }
    (p, converged)
}

fn residuals(samples: &[f64], design: &Design, p: &[f64; N_PARAMS]) -> Vec<f64> {
    design.rows.iter().zip(samples).map(|(x, s)| s - predict(x, p).exp()).collect()
}

/// The noise level that the residuals imply.
fn own_scale(residuals: &[f64]) -> f64 {
    spread(residuals, residuals.len() as f64 - N_PARAMS as f64)
}
