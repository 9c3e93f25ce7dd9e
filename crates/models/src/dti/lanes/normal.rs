//! The 7x7 normal equations, one system per lane.

use fimbria_compute::math::rsqrt_finite;
use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use crate::dti::recipe::N_PARAMS;
use crate::dti::tables::{N_QUARTICS, N_TENSOR, QUARTIC, Tables};

/// A pivot below this fraction of its diagonal element leaves no digit of an `f32` solution: the
/// voxel is fitted again in `f64`.
const SMALLEST_PIVOT: f32 = 1e-5;
/// A pivot below this fraction of its diagonal element costs an `f32` solution its last digits.
const DOUBTFUL_PIVOT: f32 = 0.1;

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

/// The Cholesky factor of XᵀWX.
pub(super) struct Factor<R: Real> {
    /// Lower triangle; the diagonal holds reciprocals.
    l: [[R; N_PARAMS]; N_PARAMS],
    /// The smallest pivot over its diagonal element: how nearly singular the system is.
    weakest: R,
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
        let mut weakest = one;
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
            // Zero where the ratio is none: `max` and `min` drop what is not a number.
            let enough =
                one.splat(f32::MIN_POSITIVE).less(l[j][j]) & diagonal.less(one.splat(f32::MAX));
            weakest = R::select(enough, l[j][j] / diagonal, one.splat(0.0)).min(weakest);
            let inverse = rsqrt_finite(R::select(enough, l[j][j], one));
            l[j][j] = inverse;
            for i in j + 1..N_PARAMS {
                l[i][j] = l[i][j] * inverse;
            }
        }
        Factor { l, weakest }
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

impl<R: Real> Factor<R> {
    /// Where the system counts as singular.
    #[inline(always)]
    pub(super) fn singular(&self) -> R::Mask {
        self.weakest.less(self.weakest.splat(SMALLEST_PIVOT))
    }

    /// Where a solution in `f32` may be off by more than 1e-5 and wants refinement.
    #[inline(always)]
    pub(super) fn doubtful(&self) -> R::Mask {
        self.weakest.less(self.weakest.splat(DOUBTFUL_PIVOT))
    }

    /// The solution; zero where the system is singular.
    #[inline(always)]
    pub(super) fn solve(&self, rhs: &[R; N_PARAMS]) -> [R; N_PARAMS] {
        let l = &self.l;
        let mut x = *rhs;
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
        let singular = self.singular();
        x.map(|x| R::select(singular, x.splat(0.0), x))
    }
}
