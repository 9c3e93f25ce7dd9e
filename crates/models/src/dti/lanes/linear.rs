//! OLS, WLS and IWLS, one voxel per lane.

use fimbria_compute::math::exp_finite;
use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::Simd;

use super::arrays::{add, keep};
use super::batch::{Batch, Params, predict};
use super::normal::{Normal, right_hand_side};
use super::scratch::Arrays;
use crate::dti::recipe::{FirstWeights, Recipe};
use crate::dti::tables::Tables;

/// Rounds of refinement of a nearly singular system.
pub(crate) const REFINEMENTS: usize = 2;

/// The estimate after all linear passes, and the lanes where a pass was singular.
///
/// Each weighted pass solves for the correction of the estimate before it: the residual is small
/// and exact to rounding, so that the error of an `f32` solution is that of the correction. This
/// is iterative refinement for free; nearly singular systems get two more rounds of it.
#[inline(always)]
pub(super) fn fit<S: Simd>(
    batch: &Batch<S>,
    tables: &Tables,
    recipe: &Recipe,
    arrays: &mut Arrays<'_>,
) -> (Params<S>, LaneFlags<S>) {
    let mut p = batch.ordinary(tables, arrays);
    let zero = batch.splat(0.0);
    let mut singular = zero.less(zero);
    let measured = usize::from(recipe.first != FirstWeights::Unit);
    for pass in 0..measured + recipe.reweighted_passes {
        if pass < measured {
            weigh_by_measured(batch, tables, recipe.first, &p, arrays);
        } else {
            weigh_by_predicted(batch, tables, &p, arrays);
        }
        let normal = Normal::new(batch.simd, tables, arrays.weights, arrays.residuals);
        let factor = normal.factor(zero);
        p = add(p, factor.solve(normal.rhs));
        singular = singular | factor.singular;
        let doubtful = factor.doubtful & batch.good;
        if doubtful.any() {
            for _ in 0..REFINEMENTS {
                let rest = remainder(batch, tables, &p, arrays);
                p = add(p, keep(doubtful, factor.solve(rest)));
            }
        }
    }
    (p, singular)
}

/// Xᵀ W (y - X p) with the weights there are.
#[inline(always)]
fn remainder<S: Simd>(
    batch: &Batch<S>,
    tables: &Tables,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) -> Params<S> {
    let n = Lanes::<S>::LANES;
    let volumes = tables.rows.iter().zip(arrays.logs.chunks_exact(n));
    let out = arrays.weights.chunks_exact(n).zip(arrays.residuals.chunks_exact_mut(n));
    for ((x, y), (w, r)) in volumes.zip(out) {
        let residual = Lanes::load(batch.simd, y) - predict(x, p);
        (Lanes::load(batch.simd, w) * residual).store(r);
    }
    right_hand_side(batch.simd, tables, arrays.residuals)
}

#[inline(always)]
fn weigh_by_predicted<S: Simd>(
    batch: &Batch<S>,
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
        (weight * (Lanes::load(batch.simd, y) - log)).store(r);
    }
}

#[inline(always)]
fn weigh_by_measured<S: Simd>(
    batch: &Batch<S>,
    tables: &Tables,
    which: FirstWeights,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) {
    let n = Lanes::<S>::LANES;
    let zero = batch.splat(0.0);
    let volumes =
        tables.rows.iter().zip(arrays.logs.chunks_exact(n)).zip(arrays.samples.chunks_exact(n));
    let out = arrays.weights.chunks_exact_mut(n).zip(arrays.residuals.chunks_exact_mut(n));
    for (((x, y), s), (w, r)) in volumes.zip(out) {
        let s = Lanes::load(batch.simd, s);
        let s = match which {
            // A weight of 1 in input units.
            FirstWeights::MeasuredRaw => Lanes::select(zero.less(s), s, batch.scale),
            _ => batch.raise(s),
        };
        let weight = s * s;
        weight.store(w);
        (weight * (Lanes::load(batch.simd, y) - predict(x, p))).store(r);
    }
}
