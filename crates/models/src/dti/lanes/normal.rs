//! The 7x7 normal equations, one system per lane.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use crate::dti::recipe::N_PARAMS;
use crate::dti::tables::{N_QUARTICS, N_TENSOR, QUARTIC, Tables};

/// A pivot below this fraction of its diagonal element leaves no digit of an `f32` solution: the
/// voxel is fitted again in `f64`.
const SMALLEST_PIVOT: f32 = 1e-5;

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
        let zero = Lanes::new(simd, 0.0);
        let n = Lanes::<S>::LANES;
        let mut weight = zero;
        let mut linear = [zero; N_TENSOR];
        let mut rhs = [zero; N_PARAMS];
        let volumes = tables.rows.iter().zip(weights.chunks_exact(n));
        for ((x, w), r) in volumes.zip(residuals.chunks_exact(n)) {
            let (w, r) = (Lanes::load(simd, w), Lanes::load(simd, r));
            weight = weight + w;
            rhs[0] = rhs[0] + r;
            for k in 0..N_TENSOR {
                let x = Lanes::new(simd, x[k]);
                linear[k] = w.mul_add(x, linear[k]);
                rhs[k + 1] = r.mul_add(x, rhs[k + 1]);
            }
        }
        let mut quartic = [zero; N_QUARTICS];
        for (q, w) in tables.quartics.iter().zip(weights.chunks_exact(n)) {
            let w = Lanes::load(simd, w);
            for k in 0..N_QUARTICS {
                quartic[k] = w.mul_add(Lanes::new(simd, q[k]), quartic[k]);
            }
        }
        Self { moments: Moments { weight, linear, quartic }, rhs }
    }
}

impl<R: Real> Normal<R> {
    /// Solves with `1 + damping` times the diagonal. Also says where the system is singular;
    /// there the solution is zero.
    #[inline(always)]
    pub(super) fn solve(&self, damping: R) -> ([R; N_PARAMS], R::Mask) {
        let m = &self.moments;
        let one = damping.splat(1.0);
        let zero = damping.splat(0.0);
        let mut l = [[zero; N_PARAMS]; N_PARAMS];
        l[0][0] = m.weight;
        for i in 0..N_TENSOR {
            l[i + 1][0] = m.linear[i];
            for j in 0..=i {
                let (monomial, multiplicity) = QUARTIC[i][j];
                l[i + 1][j + 1] = m.quartic[monomial] * multiplicity;
            }
        }
        for j in 0..N_PARAMS {
            l[j][j] = l[j][j].mul_add(damping, l[j][j]);
        }
        // Cholesky by columns, in place; the diagonal holds reciprocals.
        let mut regular = one.less(one + 1.0);
        for j in 0..N_PARAMS {
            let least = l[j][j] * SMALLEST_PIVOT;
            for i in j..N_PARAMS {
                let mut sum = l[i][j];
                for k in 0..j {
                    sum = l[i][k].neg_mul_add(l[j][k], sum);
                }
                l[i][j] = sum;
            }
            let enough = least.less(l[j][j])
                & one.splat(f32::MIN_POSITIVE).at_most(least)
                & l[j][j].less(one.splat(f32::MAX));
            regular = regular & enough;
            let inverse = fimbria_compute::math::rsqrt_finite(R::select(enough, l[j][j], one));
            l[j][j] = inverse;
            for i in j + 1..N_PARAMS {
                l[i][j] = l[i][j] * inverse;
            }
        }
        let mut x = self.rhs;
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
        (x.map(|x| R::select(regular, x, zero)), !regular)
    }

    /// `yes` or `no`, lane by lane.
    #[inline(always)]
    pub(super) fn select(mask: R::Mask, yes: &Self, no: &Self) -> Self {
        let pick = |i: usize, a: &[R], b: &[R]| R::select(mask, a[i], b[i]);
        let (y, n) = (&yes.moments, &no.moments);
        Self {
            moments: Moments {
                weight: R::select(mask, y.weight, n.weight),
                linear: std::array::from_fn(|i| pick(i, &y.linear, &n.linear)),
                quartic: std::array::from_fn(|i| pick(i, &y.quartic, &n.quartic)),
            },
            rhs: std::array::from_fn(|i| pick(i, &yes.rhs, &no.rhs)),
        }
    }
}
