//! RESTORE, one voxel per lane; see the oracle for the method.

use fimbria_compute::math::exp_finite;
use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use pulp::Simd;

use super::batch::{Batch, Params, predict};
use super::nonlinear;
use super::scratch::Arrays;
use crate::dti::recipe::{
    MAX_ROBUST_FITS, MIN_RELATIVE_SCALE, N_PARAMS, OUTLIER_SIGMAS, ROBUST_CHANGE, SIGMA_OF_MAD,
};
use crate::dti::tables::Tables;

/// Halvings of the interval that holds a median: what remains is rounding of its ends.
const HALVINGS: usize = 24;

/// Where the scale of the residuals comes from.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// The noise level in input units, if known.
    pub(super) sigma: Option<f64>,
    /// The weights use the residuals' own scale all the same.
    pub(super) own_scale_in_weights: bool,
}

/// The lanes in which the fit `p` leaves an outlier.
#[inline(always)]
pub(super) fn has_outliers<S: Simd>(
    batch: &Batch<S>,
    tables: &Tables,
    scale: Scale,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) -> LaneFlags<S> {
    write_errors(batch, tables, p, arrays);
    let limit = error_scale(batch, scale.sigma, arrays) * OUTLIER_SIGMAS as f32;
    let mut largest = batch.splat(0.0);
    for e in arrays.errors.chunks_exact(Lanes::<S>::LANES) {
        largest = Lanes::load(batch.simd, e).abs().max(largest);
    }
    limit.less(largest)
}

/// The robust estimate from the plain one, and the lanes whose last fit came to rest.
#[inline(always)]
pub(super) fn fit<S: Simd>(
    batch: &Batch<S>,
    tables: &Tables,
    scale: Scale,
    start: &Params<S>,
    arrays: &mut Arrays<'_>,
) -> (Params<S>, LaneFlags<S>) {
    let mut p = *start;
    let mut rested = batch.good;
    let mut active = batch.good;
    let mut c = batch.splat(1.0);
    let sigma = if scale.own_scale_in_weights { None } else { scale.sigma };
    write_errors(batch, tables, &p, arrays);
    for _ in 0..MAX_ROBUST_FITS {
        c = Lanes::select(active, error_scale(batch, sigma, arrays), c);
        write_geman_mcclure(batch, c, arrays);
        let (next, now) = nonlinear::fit::<S, true>(batch, tables, &p, active, arrays);
        rested = rested & !active | now & active;
        let (mut moved, mut size) = (batch.splat(0.0), batch.splat(0.0));
        for k in 0..N_PARAMS {
            let change = next[k] - p[k];
            moved = change.mul_add(change, moved);
            size = next[k].mul_add(next[k], size);
        }
        p = next;
        write_errors(batch, tables, &p, arrays);
        active = active & !moved.less(size * (ROBUST_CHANGE * ROBUST_CHANGE) as f32);
        if !active.any() {
            break;
        }
    }
    let dropped = write_kept(batch, c * OUTLIER_SIGMAS as f32, arrays) & batch.good;
    if dropped.any() {
        let (clean, now) = nonlinear::fit::<S, true>(batch, tables, &p, dropped, arrays);
        p = clean;
        rested = rested & !dropped | now & dropped;
    }
    (p, rested)
}

#[inline(always)]
fn write_errors<S: Simd>(
    batch: &Batch<S>,
    tables: &Tables,
    p: &Params<S>,
    arrays: &mut Arrays<'_>,
) {
    let n = Lanes::<S>::LANES;
    let volumes = tables.rows.iter().zip(arrays.samples.chunks_exact(n));
    for ((x, s), e) in volumes.zip(arrays.errors.chunks_exact_mut(n)) {
        (Lanes::load(batch.simd, s) - exp_finite(predict(x, p))).store(e);
    }
}

/// ω = (c² / (c² + e²))².
#[inline(always)]
fn write_geman_mcclure<S: Simd>(batch: &Batch<S>, c: Lanes<S>, arrays: &mut Arrays<'_>) {
    let n = Lanes::<S>::LANES;
    let c2 = c * c;
    for (e, omega) in arrays.errors.chunks_exact(n).zip(arrays.omega.chunks_exact_mut(n)) {
        let e = Lanes::load(batch.simd, e);
        let root = c2 / e.mul_add(e, c2);
        (root * root).store(omega);
    }
}

/// ω = 1 where |e| is within `limit`, else 0; the lanes that lose a sample.
#[inline(always)]
fn write_kept<S: Simd>(batch: &Batch<S>, limit: Lanes<S>, arrays: &mut Arrays<'_>) -> LaneFlags<S> {
    let n = Lanes::<S>::LANES;
    let (zero, one) = (limit.splat(0.0), limit.splat(1.0));
    let mut lost = zero;
    for (e, omega) in arrays.errors.chunks_exact(n).zip(arrays.omega.chunks_exact_mut(n)) {
        let outlier = limit.less(Lanes::load(batch.simd, e).abs());
        Lanes::select(outlier, zero, one).store(omega);
        lost = Lanes::select(outlier, one, lost);
    }
    zero.less(lost)
}

/// Sigma, or what the errors' median absolute deviation says it is; over the mean signal.
#[inline(always)]
fn error_scale<S: Simd>(batch: &Batch<S>, sigma: Option<f64>, arrays: &mut Arrays<'_>) -> Lanes<S> {
    let least = batch.splat(MIN_RELATIVE_SCALE as f32);
    if let Some(sigma) = sigma {
        return (batch.scale * sigma as f32).max(least);
    }
    let n_lanes = Lanes::<S>::LANES;
    let n = (arrays.errors.len() / n_lanes) as f64;
    let middle = median(batch.simd, arrays.errors);
    let volumes = arrays.errors.chunks_exact(n_lanes);
    for (e, deviation) in volumes.zip(arrays.weights.chunks_exact_mut(n_lanes)) {
        (Lanes::load(batch.simd, e) - middle).abs().store(deviation);
    }
    let of_deviation = SIGMA_OF_MAD * (n / (n - N_PARAMS as f64)).sqrt();
    (median(batch.simd, arrays.weights) * of_deviation as f32).max(least)
}

/// The median over the volumes of `[volume][lane]`, by halving the interval that holds the lower
/// middle value.
#[inline(always)]
fn median<S: Simd>(simd: S, values: &[f32]) -> Lanes<S> {
    let n = Lanes::<S>::LANES;
    let (zero, one) = (Lanes::new(simd, 0.0), Lanes::new(simd, 1.0));
    let infinity = Lanes::new(simd, f32::INFINITY);
    let n_volumes = values.len() / n;
    let (mut low, mut high) = (infinity, -infinity);
    for v in values.chunks_exact(n) {
        let v = Lanes::load(simd, v);
        low = v.min(low);
        high = v.max(high);
    }
    let below_middle = Lanes::new(simd, n_volumes.div_ceil(2) as f32);
    for _ in 0..HALVINGS {
        let middle = (low + high) * 0.5;
        let mut count = zero;
        for v in values.chunks_exact(n) {
            count = count + Lanes::select(Lanes::load(simd, v).at_most(middle), one, zero);
        }
        let enough = below_middle.at_most(count);
        high = Lanes::select(enough, middle, high);
        low = Lanes::select(enough, low, middle);
    }
    let (mut count, mut lower, mut upper) = (zero, -infinity, infinity);
    for v in values.chunks_exact(n) {
        let v = Lanes::load(simd, v);
        let below = v.at_most(high);
        count = count + Lanes::select(below, one, zero);
        lower = Lanes::select(below, v, lower).max(lower);
        upper = Lanes::select(below, upper, v).min(upper);
    }
    if n_volumes % 2 == 1 {
        return lower;
    }
    let upper = Lanes::select(below_middle.less(count), lower, upper);
    (lower + upper) * 0.5
}
