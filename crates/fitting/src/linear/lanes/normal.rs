//! The normal equations, one system per lane: Cholesky's factor and its solutions.

use fimbria_compute::math::rsqrt_finite;
use fimbria_compute::{LaneFlags, Lanes, Real};
use pulp::Simd;

use super::HALVES;
use crate::linear::tables::Tables;

/// A pivot below this fraction of its diagonal element leaves hardly a digit of an `f32` solution:
/// the problem is solved in `f64`.
pub(super) const SMALLEST_PIVOT: f32 = 1e-4;
/// Rows that are eliminated side by side, so that their sums do not wait for one another.
const ROWS: usize = 4;

/// Where element (i, j), j <= i, of a lower triangle lies.
#[inline(always)]
fn at(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Factors XᵀWX, given by its moments `[moment][lane]`, into the lower triangle `l`
/// `[element][lane]`, its diagonal as reciprocals. True in the lanes where it is singular.
#[inline(always)]
pub(super) fn factor<S: Simd>(
    simd: S,
    tables: &Tables,
    moments: &[f32],
    l: &mut [f32],
) -> [LaneFlags<S>; HALVES] {
    let lanes = HALVES * Lanes::<S>::LANES;
    let n = tables.n_unknowns;
    let one = Lanes::new(simd, 1.0);
    let mut singular = [one.less(one); HALVES];
    for j in 0..n {
        let mut inverse = [one; HALVES];
        for first in (j..n).step_by(ROWS) {
            let mut rows = remainders(simd, tables, moments, l, first, j);
            if first == j {
                let diagonal = &moments[tables.moment_of_pair[at(j, j)] as usize * lanes..];
                for half in 0..HALVES {
                    let diagonal = Lanes::load(simd, &diagonal[half * Lanes::<S>::LANES..]);
                    let pivot = rows[0][half];
                    // Written so that what is not a number is not enough.
                    let enough = (diagonal * SMALLEST_PIVOT).less(pivot)
                        & one.splat(f32::MIN_POSITIVE).less(diagonal * SMALLEST_PIVOT)
                        & diagonal.less(one.splat(f32::MAX));
                    singular[half] = singular[half] | !enough;
                    inverse[half] = rsqrt_finite(Lanes::select(enough, pivot, one));
                    // Becomes the reciprocal itself below.
                    rows[0][half] = one;
                }
            }
            for r in 0..ROWS.min(n - first) {
                let to = &mut l[at(first + r, j) * lanes..][..lanes];
                for half in 0..HALVES {
                    let element = rows[r][half] * inverse[half];
                    element.store(&mut to[half * Lanes::<S>::LANES..]);
                }
            }
        }
    }
    singular
}

/// What is left of column `j` in [`ROWS`] rows from `first` on, once the columns before it are
/// eliminated. Behind the last row it is repeated.
#[inline(always)]
fn remainders<S: Simd>(
    simd: S,
    tables: &Tables,
    moments: &[f32],
    l: &[f32],
    first: usize,
    j: usize,
) -> [[Lanes<S>; HALVES]; ROWS] {
    let width = Lanes::<S>::LANES;
    let lanes = HALVES * width;
    let mut rows = [[Lanes::new(simd, 0.0); HALVES]; ROWS];
    let mut from: [&[f32]; ROWS] = [&[]; ROWS];
    for r in 0..ROWS {
        let i = (first + r).min(tables.n_unknowns - 1);
        let moment = &moments[tables.moment_of_pair[at(i, j)] as usize * lanes..][..lanes];
        rows[r] = [Lanes::load(simd, moment), Lanes::load(simd, &moment[width..])];
        from[r] = &l[at(i, 0) * lanes..][..j * lanes];
    }
    let pivot_row = &l[at(j, 0) * lanes..][..j * lanes];
    for (k, pivot) in pivot_row.chunks_exact(lanes).enumerate() {
        let (low, high) = (Lanes::load(simd, pivot), Lanes::load(simd, &pivot[width..]));
        for r in 0..ROWS {
            let element = &from[r][k * lanes..][..lanes];
            rows[r][0] = Lanes::load(simd, element).neg_mul_add(low, rows[r][0]);
            rows[r][1] = Lanes::load(simd, &element[width..]).neg_mul_add(high, rows[r][1]);
        }
    }
    rows
}

/// Solves L Lᵀ x = b in place, `x` being `[unknown][lane]`.
#[inline(always)]
pub(super) fn solve<S: Simd>(simd: S, n: usize, l: &[f32], x: &mut [f32]) {
    let lanes = HALVES * Lanes::<S>::LANES;
    for k in 0..n {
        let (_, from_k) = x.split_at_mut(k * lanes);
        let (x_k, below) = from_k.split_at_mut(lanes);
        let x_k = scale(simd, x_k, &l[at(k, k) * lanes..]);
        for (i, x_i) in below.chunks_exact_mut(lanes).take(n - k - 1).enumerate() {
            subtract(simd, x_i, &l[at(k + 1 + i, k) * lanes..][..lanes], x_k);
        }
    }
    for k in (0..n).rev() {
        let (above, from_k) = x.split_at_mut(k * lanes);
        let x_k = scale(simd, &mut from_k[..lanes], &l[at(k, k) * lanes..]);
        let row = l[at(k, 0) * lanes..][..k * lanes].chunks_exact(lanes);
        for (x_i, l) in above.chunks_exact_mut(lanes).zip(row) {
            subtract(simd, x_i, l, x_k);
        }
    }
}

/// `x` times `by`, which is also what becomes of `x`.
#[inline(always)]
fn scale<S: Simd>(simd: S, x: &mut [f32], by: &[f32]) -> [Lanes<S>; HALVES] {
    let width = Lanes::<S>::LANES;
    let low = Lanes::load(simd, x) * Lanes::load(simd, by);
    let high = Lanes::load(simd, &x[width..]) * Lanes::load(simd, &by[width..]);
    low.store(x);
    high.store(&mut x[width..]);
    [low, high]
}

/// `x -= l by`.
#[inline(always)]
fn subtract<S: Simd>(simd: S, x: &mut [f32], l: &[f32], by: [Lanes<S>; HALVES]) {
    let width = Lanes::<S>::LANES;
    for half in 0..HALVES {
        let at = half * width;
        let rest = Lanes::load(simd, &l[at..]).neg_mul_add(by[half], Lanes::load(simd, &x[at..]));
        rest.store(&mut x[at..]);
    }
}
