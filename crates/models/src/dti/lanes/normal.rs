//! The 7x7 normal equations, one system per lane.

use fimbria_compute::math::rsqrt_finite;
use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::arrays::{keep, select};
use super::batch::Params;
use crate::dti::recipe::N_PARAMS;
use crate::dti::tables::{N_QUARTICS, N_TENSOR, QUARTIC, Tables};

/// A pivot below this fraction of its diagonal element leaves no digit of an `f32` solution: the
/// voxel is fitted again in `f64`.
pub(super) const SMALLEST_PIVOT: f32 = 1e-5;
/// A pivot below this fraction of its diagonal element costs an `f32` solution its last digits.
pub(super) const DOUBTFUL_PIVOT: f32 = 0.1;

/// The sums that make up XᵀWX.
#[derive(Clone, Copy)]
pub(super) struct Moments<R> {
    /// Σ w.
    weight: R,
    /// Σ w x.
    linear: [R; N_TENSOR],
    /// Σ w b² g⁴.
    quartic: [R; N_QUARTICS],
}

/// XᵀWX and Xᵀ(W r).
#[derive(Clone, Copy)]
pub(super) struct Normal<R> {
    pub(super) moments: Moments<R>,
    pub(super) rhs: [R; N_PARAMS],
}

impl<S: Simd> Normal<Lanes<S>> {
    /// Sums over the volumes; `weights` and `residuals` are `[volume][lane]`.
    #[inline(always)]
    pub(super) fn new(simd: S, tables: &Tables, weights: &[f32], residuals: &[f32]) -> Self {
        let (weight, linear) = row_sums(simd, tables, weights);
        let rhs = right_hand_side(simd, tables, residuals);
        let mut quartic = [Lanes::new(simd, 0.0); N_QUARTICS];
        for (q, w) in tables.quartics.iter().zip(weights.chunks_exact(Lanes::<S>::LANES)) {
            let w = Lanes::load(simd, w);
            for k in 0..N_QUARTICS {
                quartic[k] = w.mul_add(Lanes::new(simd, q[k]), quartic[k]);
            }
        }
        Self { moments: Moments { weight, linear, quartic }, rhs }
    }
}

/// The Cholesky factor of XᵀWX.
pub(super) struct Factor<R: Real> {
    /// Lower triangle; the diagonal holds reciprocals.
    l: [[R; N_PARAMS]; N_PARAMS],
    /// Where the system counts as singular.
    pub(super) singular: R::Flags,
    /// Where a solution in `f32` may be off by more than 1e-5 and wants refinement.
    pub(super) doubtful: R::Flags,
}

/// Xᵀ v of `values` `[volume][lane]`.
#[inline(always)]
pub(super) fn right_hand_side<S: Simd>(simd: S, tables: &Tables, values: &[f32]) -> Params<S> {
    let (first, rest) = row_sums(simd, tables, values);
    let mut rhs = [first; N_PARAMS];
    rhs[1..].copy_from_slice(&rest);
    rhs
}

/// Σ v, and Σ v x by tensor element.
#[inline(always)]
fn row_sums<S: Simd>(simd: S, tables: &Tables, values: &[f32]) -> (Lanes<S>, [Lanes<S>; N_TENSOR]) {
    let mut sum = Lanes::new(simd, 0.0);
    let mut sums = [sum; N_TENSOR];
    for (x, v) in tables.rows.iter().zip(values.chunks_exact(Lanes::<S>::LANES)) {
        let v = Lanes::load(simd, v);
        sum = sum + v;
        for k in 0..N_TENSOR {
            sums[k] = v.mul_add(Lanes::new(simd, x[k]), sums[k]);
        }
    }
    (sum, sums)
}

impl<R: Real> Normal<R> {
    /// Factors the matrix with `1 + damping` times its diagonal.
    #[inline(always)]
    pub(super) fn factor(&self, damping: R) -> Factor<R> {
        let m = &self.moments;
        let one = damping.splat(1.0);
        let mut l = [[damping.splat(0.0); N_PARAMS]; N_PARAMS];
        l[0][0] = m.weight;
        for i in 0..N_TENSOR {
            l[i + 1][0] = m.linear[i];
            for j in 0..=i {
                let (monomial, multiplicity) = QUARTIC[i][j];
                l[i + 1][j + 1] = m.quartic[monomial] * multiplicity;
            }
        }
        let mut singular = one.less(one);
        let mut doubtful = singular;
        for j in 0..N_PARAMS {
            let diagonal = l[j][j].mul_add(damping, l[j][j]);
            l[j][j] = diagonal;
            for i in j..N_PARAMS {
                let mut sum = l[i][j];
                for k in 0..j {
                    sum = l[i][k].neg_mul_add(l[j][k], sum);
                }
                l[i][j] = sum;
            }
            // Written so that what is not a number is not enough.
            let enough = (diagonal * SMALLEST_PIVOT).less(l[j][j])
                & one.splat(f32::MIN_POSITIVE).less(diagonal * SMALLEST_PIVOT)
                & diagonal.less(one.splat(f32::MAX));
            singular = singular | !enough;
            doubtful = doubtful | l[j][j].less(diagonal * DOUBTFUL_PIVOT);
            let inverse = rsqrt_finite(R::select(enough, l[j][j], one));
            l[j][j] = inverse;
            for i in j + 1..N_PARAMS {
                l[i][j] = l[i][j] * inverse;
            }
        }
        Factor { l, singular, doubtful }
    }

    /// `yes` or `no`, lane by lane.
    #[inline(always)]
    pub(super) fn select(mask: R::Flags, yes: &Self, no: &Self) -> Self {
        let (y, n) = (&yes.moments, &no.moments);
        Self {
            moments: Moments {
                weight: R::select(mask, y.weight, n.weight),
                linear: select(mask, y.linear, n.linear),
                quartic: select(mask, y.quartic, n.quartic),
            },
            rhs: select(mask, yes.rhs, no.rhs),
        }
    }
}

impl<R: Real> Factor<R> {
    /// The solution; zero where the system is singular.
    #[inline(always)]
    pub(super) fn solve(&self, rhs: [R; N_PARAMS]) -> [R; N_PARAMS] {
        let l = &self.l;
        let mut x = rhs;
        for i in 0..N_PARAMS {
            for k in 0..i {
                x[i] = l[i][k].neg_mul_add(x[k], x[i]);
            }
            x[i] = x[i] * l[i][i];
        }
        for i in (0..N_PARAMS).rev() {
            for k in i + 1..N_PARAMS {
                x[i] = l[k][i].neg_mul_add(x[k], x[i]);
            }
            x[i] = x[i] * l[i][i];
        }
        keep(!self.singular, x)
    }
}
