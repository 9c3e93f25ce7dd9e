//! Linear least squares of ln S: OLS, WLS, IWLS.

use super::{Normal, predict};
use crate::dti::design::Design;
use crate::dti::recipe::{FirstWeights, Floor, N_PARAMS, Recipe};

/// The samples as they enter the logarithm.
pub(super) fn raise(samples: &[f64], mean: f64, design: &Design, floor: Floor) -> Vec<f64> {
    let at_least = |least: f64| samples.iter().map(|s| s.max(least)).collect();
    match floor {
        Floor::SmallestPositive => {
            let positive = samples.iter().copied().filter(|&s| s > 0.0);
            at_least(positive.fold(f64::INFINITY, f64::min))
        }
        Floor::Absolute(least) => at_least(least),
        Floor::OfLargest(fraction) => {
            at_least(fraction * samples.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        }
        Floor::OfS0(fraction) => {
            let log = |&s: &f64| if s > 0.0 { s.ln() } else { 0.0 };
            let p = ordinary(&samples.iter().map(log).collect::<Vec<_>>(), design);
            at_least(fraction * p[0].exp().max(mean))
        }
    }
}

/// The estimate of ln S0 and the tensor after all linear passes.
pub(super) fn fit(
    samples: &[f64],
    raised: &[f64],
    design: &Design,
    recipe: &Recipe,
) -> Option<[f64; N_PARAMS]> {
    let y: Vec<f64> = raised.iter().map(|s| s.ln()).collect();
    let mut p = match recipe.first {
        FirstWeights::Unit => ordinary(&y, design),
        FirstWeights::Measured => weighted(&y, raised.iter().map(|s| s * s), design)?,
        FirstWeights::MeasuredRaw => {
            weighted(&y, samples.iter().map(|&s| if s > 0.0 { s * s } else { 1.0 }), design)?
        }
    };
    for _ in 0..recipe.reweighted_passes {
        let predicted = design.rows.iter().map(|x| (2.0 * predict(x, &p)).exp());
        p = weighted(&y, predicted, design)?;
    }
    Some(p)
}

fn ordinary(y: &[f64], design: &Design) -> [f64; N_PARAMS] {
    let mut p = [0.0; N_PARAMS];
    for (column, y) in design.pseudo_inverse.iter().zip(y) {
        for k in 0..N_PARAMS {
            p[k] += column[k] * y;
        }
    }
    p
}

fn weighted(
    y: &[f64],
    weights: impl Iterator<Item = f64>,
    design: &Design,
) -> Option<[f64; N_PARAMS]> {
    let terms = design.rows.iter().zip(y).zip(weights);
    Normal::new(terms.map(|((x, y), w)| (x, w, w * y))).solve(0.0)
}
