//! Weighted non-linear least squares of S by Levenberg and Marquardt.

use self::steps::{FIRST_DAMPING, LAST_DAMPING, MAX_STEPS, SMALLEST_DECREASE};
use super::{Normal, predict};
use crate::dti::design::Design;
use crate::dti::recipe::N_PARAMS;

/// What ends the iteration, for kernels too.
pub(crate) mod steps {
    pub(crate) const FIRST_DAMPING: f64 = 1e-3;
    /// Beyond this damping no step is left that would lower the sum in `f64`.
    pub(crate) const LAST_DAMPING: f64 = 1e12;
    /// A predicted decrease of the sum below this fraction of it is rounding.
    pub(crate) const SMALLEST_DECREASE: f64 = 1e-14;
    pub(crate) const MAX_STEPS: usize = 200;
}

/// Minimises Σ ω (S - exp(x·p))² from `p`; the minimiser, and whether the iteration came to rest.
pub(super) fn fit(
    samples: &[f64],
    omega: &[f64],
    design: &Design,
    mut p: [f64; N_PARAMS],
) -> ([f64; N_PARAMS], bool) {
    let rounding =
        f64::EPSILON.powi(2) * omega.iter().zip(samples).map(|(w, s)| w * s * s).sum::<f64>();
    let mut damping = FIRST_DAMPING;
    let mut sum = sum_of_squares(samples, omega, design, &p);
    for _ in 0..MAX_STEPS {
        let terms = design.rows.iter().zip(samples).zip(omega).map(|((x, s), w)| {
            let predicted = predict(x, &p).exp();
            (x, w * predicted * predicted, w * predicted * (s - predicted))
        });
        let normal = Normal::new(terms);
        let Some(step) = normal.solve(damping) else {
            if damping > LAST_DAMPING {
                break;
            }
            damping *= 10.0;
            continue;
        };
        let decrease: f64 = step.iter().zip(&normal.rhs).map(|(d, g)| d * g).sum();
        let next = std::array::from_fn(|k| p[k] + step[k]);
        let next_sum = sum_of_squares(samples, omega, design, &next);
        let settled = decrease <= SMALLEST_DECREASE * sum + rounding;
        if next_sum <= sum {
            (p, sum) = (next, next_sum);
            damping *= 0.1;
        } else {
            damping *= 10.0;
        }
        if settled || damping > LAST_DAMPING {
            return (p, true);
        }
    }
    (p, false)
}

fn sum_of_squares(samples: &[f64], omega: &[f64], design: &Design, p: &[f64; N_PARAMS]) -> f64 {
    let terms = design.rows.iter().zip(samples).zip(omega);
    terms.map(|((x, s), w)| w * (s - predict(x, p).exp()).powi(2)).sum()
}
