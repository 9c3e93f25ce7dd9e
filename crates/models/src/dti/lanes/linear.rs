//! OLS, WLS and IWLS, one voxel per lane.

use fimbria_compute::math::exp_finite;
use fimbria_compute::{LaneMask, Lanes, Real};
use pulp::Simd;

use super::bundle::{Bundle, Params, predict};
use super::normal::Normal;
use super::scratch::Arrays;
use crate::dti::recipe::{FirstWeights, N_PARAMS, Recipe};
use crate::dti::tables::Tables;

/// The estimate after all linear passes, and the lanes where a pass was singular.
///
/// Each weighted pass solves for the correction of the estimate before it: the residual is small
/// and exact to rounding, so that the error of an `f32` solution is that of the correction. This
/// is iterative refinement for free.
#[inline(always)]
pub(super) fn fit<S: Simd>(
    bundle: &Bundle<S>,
    tables: &Tables,
    recipe: &Recipe,
    arrays: &mut Arrays<'_>,
) -> (Params<S>, LaneMask<S>) {
    let mut p = bundle.ordinary(tables, arrays);
    let zero = bundle.splat(0.0);
    let mut singular = zero.less(zero);
    let measured = usize::from(recipe.first != FirstWeights::Unit);
    for pass in 0..measured + recipe.reweighted_passes {
        if pass < measured {
            weigh_by_measured(bundle, tables, recipe.first, &p, arrays);
        } else {
            weigh_by_predicted(bundle, tables, &p, arrays);
        }
        let normal = Normal::new(bundle.simd, tables, arrays.weights, arrays.residuals);
        let (step, now) = normal.solve(zero);
        for k in 0..N_PARAMS {
            p[k] = p[k] + step[k];
        }
        singular = singular | now;
    }
    (p, singular)
}

#[inline(always)]
fn weigh_by_predicted<S: Simd>(
    bundle: &Bundle<S>,
    tables: &Tables,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) {
    let n = Lanes::<S>::LANES;
    let volumes = tables.rows.iter().zip(arrays.logs.chunks_exact(n));
    let out = arrays.weights.chunks_exact_mut(n).zip(arrays.residuals.chunks_exact_mut(n));
    for ((x, y), (w, r)) in volumes.zip(out) {
        let log = predict(x, p);
        let predicted = exp_finite(log);
        let weight = predicted * predicted;
        weight.store(w);
        (weight * (Lanes::load(bundle.simd, y) - log)).store(r);
    }
}

#[inline(always)]
fn weigh_by_measured<S: Simd>(
    bundle: &Bundle<S>,
    tables: &Tables,
    which: FirstWeights,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) {
    let n = Lanes::<S>::LANES;
    let zero = bundle.splat(0.0);
    let volumes =
        tables.rows.iter().zip(arrays.logs.chunks_exact(n)).zip(arrays.samples.chunks_exact(n));
    let out = arrays.weights.chunks_exact_mut(n).zip(arrays.residuals.chunks_exact_mut(n));
    for (((x, y), s), (w, r)) in volumes.zip(out) {
        let s = Lanes::load(bundle.simd, s);
        let s = match which {
            // A weight of 1 in input units.
            FirstWeights::MeasuredRaw => Lanes::select(zero.less(s), s, bundle.scale),
            _ => bundle.raise(s),
        };
        let weight = s * s;
        weight.store(w);
        (weight * (Lanes::load(bundle.simd, y) - predict(x, p))).store(r);
    }
}
