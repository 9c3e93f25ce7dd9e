//! Levenberg and Marquardt's method, one voxel per lane.

use fimbria_compute::math::exp_finite;
use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::Simd;

use super::arrays::{add, select};
use super::batch::{Batch, Params, predict};
use super::normal::Normal;
use super::scratch::Arrays;
use crate::dti::recipe::N_PARAMS;
use crate::dti::tables::Tables;

const FIRST_DAMPING: f32 = 1e-3;
/// Beyond this damping no step is left that would lower the sum in `f32`.
const LAST_DAMPING: f32 = 1e6;
/// A step that is predicted to lower the sum of squares by less than this fraction is the last.
/// The prediction is good far below the rounding of the sum itself: before that step the estimate
/// is within 3e-4 standard errors of the minimum, after it closer still.
const LAST_DECREASE: f32 = 1e-9;
/// A step predicted to lower the sum by less than this fraction cannot be judged by the rounded
/// sum; it is taken unless the sum rises by more than rounding explains.
const SMALL_DECREASE: f32 = 1e-4;
const ROUNDING_OF_SUM: f32 = 1e-5;
/// Squared rounding of one sample of mean 1.
const ROUNDING: f32 = 4e-14;
const MAX_STEPS: usize = 60;

/// Minimises Σ ω (s - exp(x·p))² over the samples in `arrays` from `start`; ω is `arrays.omega`
/// where `WEIGHTED`, else 1. Lanes outside `wanted` keep `start`. Also says which lanes came to
/// rest.
#[inline(always)]
pub(super) fn fit<S: Simd, const WEIGHTED: bool>(
    batch: &Batch<S>,
    tables: &Tables,
    start: &Params<S>,
    wanted: LaneFlags<S>,
    arrays: &mut Arrays<'_>,
) -> (Params<S>, LaneFlags<S>) {
    let rounding = batch.splat(ROUNDING * tables.n_volumes() as f32);
    let mut p = *start;
    let mut damping = batch.splat(FIRST_DAMPING);
    let mut sum = evaluate::<S, WEIGHTED>(batch, tables, &p, arrays);
    let mut equations = Normal::new(batch.simd, tables, arrays.weights, arrays.residuals);
    let mut active = wanted;
    let mut rested = !wanted;
    for _ in 0..MAX_STEPS {
        let factor = equations.factor(damping);
        let (step, singular) = (factor.solve(equations.rhs), factor.singular);
        let mut decrease = batch.splat(0.0);
        for k in 0..N_PARAMS {
            decrease = step[k].mul_add(equations.rhs[k], decrease);
        }
        let next = add(p, step);
        let next_sum = evaluate::<S, WEIGHTED>(batch, tables, &next, arrays);
        let last = decrease.at_most(sum.mul_add(sum.splat(LAST_DECREASE), rounding)) & !singular;
        let small = decrease.at_most(sum.mul_add(sum.splat(SMALL_DECREASE), rounding));
        let limit = sum.mul_add(sum.splat(1.0 + ROUNDING_OF_SUM), rounding);
        let better = next_sum.at_most(Lanes::select(small, limit, sum)) & active & !singular;
        p = select(better, next, p);
        sum = Lanes::select(better, next_sum, sum);
        damping = damping * Lanes::select(better, damping.splat(0.1), damping.splat(10.0));
        let done = last | damping.splat(LAST_DAMPING).less(damping) & !singular;
        rested = rested | active & done;
        active = active & !done;
        if !active.any() {
            break;
        }
        if better.any() {
            let there = Normal::new(batch.simd, tables, arrays.weights, arrays.residuals);
            equations = Normal::select(better, &there, &equations);
        }
    }
    (p, rested)
}

/// Σ ω (s - ŝ)² at `p`; leaves the weights ω ŝ² and the right-hand side ω ŝ (s - ŝ) of the
/// Gauss-Newton step from there.
#[inline(always)]
fn evaluate<S: Simd, const WEIGHTED: bool>(
    batch: &Batch<S>,
    tables: &Tables,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) -> Lanes<S> {
    let n = Lanes::<S>::LANES;
    let mut sum = batch.splat(0.0);
    let volumes =
        tables.rows.iter().zip(arrays.samples.chunks_exact(n)).zip(arrays.omega.chunks_exact(n));
    let out = arrays.weights.chunks_exact_mut(n).zip(arrays.residuals.chunks_exact_mut(n));
    for (((x, s), omega), (w, r)) in volumes.zip(out) {
        let predicted = exp_finite(predict(x, p));
        let residual = Lanes::load(batch.simd, s) - predicted;
        let (mut weighted, mut weighted_residual) = (predicted, residual);
        if WEIGHTED {
            let omega = Lanes::load(batch.simd, omega);
            weighted = weighted * omega;
            weighted_residual = weighted_residual * omega;
        }
        sum = residual.mul_add(weighted_residual, sum);
        (predicted * weighted).store(w);
        (predicted * weighted_residual).store(r);
    }
    sum
}
