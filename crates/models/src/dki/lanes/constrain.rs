//! Constrained estimates of the voxels that need one.
//!
//! The estimate p becomes the closest point to it that satisfies the constraints, in the metric
//! XᵀWX with W the squared signal that p itself predicts: the minimum of the weighted sum of
//! squares, or of the non-linear one to second order, under the constraints.

use fimbria_compute::math::exp_finite;
use fimbria_compute::{Lanes, Real};
use fimbria_fitting::active_set::{Programme, Verdict, Work};
use pulp::{Simd, WithSimd};

use crate::Status;
use crate::dki::constraints::{KurtosisConstraints, N_FORMS};
use crate::dki::layout::parameter_row;
use crate::dki::moments::{Moments, N_MOMENTS, N_UNKNOWNS};

/// Sums that stay in registers over all volumes.
const BLOCK: usize = 12;
/// Predicted logarithms relative to S0 are kept within this, so that weights stay finite.
const LARGEST_LOG: f32 = 40.0;
/// The most lanes of any level.
const MAX_LANES: usize = 16;

/// Moves voxels into the constraints.
pub(crate) struct Constrain<'a> {
    pub(crate) moments: &'a Moments,
    pub(crate) constraints: &'a KurtosisConstraints,
    /// Weights are all one, as in ordinary least squares.
    pub(crate) unweighted: bool,
    pub(crate) stride: usize,
    /// The voxels, places in a row.
    pub(crate) voxels: &'a [usize],
    /// `[row][stride]`, which it changes.
    pub(crate) parameters: &'a mut [f32],
}

impl WithSimd for Constrain<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = Lanes::<S>::LANES;
        let mut programme = Programme::new(&self.constraints.rows);
        let mut work = Work::default();
        let mut forms = [[0.0; MAX_LANES]; N_FORMS];
        let mut weights = vec![0.0; self.moments.rows.len() * lanes];
        let mut sums = vec![0.0; N_MOMENTS.next_multiple_of(BLOCK) * lanes];
        for voxels in self.voxels.chunks(lanes) {
            for (k, row) in forms.iter_mut().enumerate() {
                let from = &self.parameters[(parameter_row::TENSOR + k) * self.stride..];
                for (value, &voxel) in row.iter_mut().zip(voxels) {
                    *value = from[voxel];
                }
            }
            self.weigh(simd, &forms, &mut weights);
            self.sum(simd, &weights, &mut sums);
            for (lane, &voxel) in voxels.iter().enumerate() {
                let estimate = std::array::from_fn(|k| f64::from(forms[k][lane]));
                let normal = self.normal(&sums, lanes, lane);
                self.settle(voxel, &estimate, &normal, &mut programme, &mut work);
            }
        }
    }
}

/// XᵀWX without the unknown ln S0, which is eliminated, and how ln S0 follows the others.
struct Normal {
    /// Row-major; the lower triangle.
    hessian: [f64; N_FORMS * N_FORMS],
    /// d ln S0 / d unknown.
    slope: [f64; N_FORMS],
}

impl Constrain<'_> {
    /// Squared predictions over S0².
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, forms: &[[f32; MAX_LANES]; N_FORMS], weights: &mut [f32]) {
        let mut p = [Lanes::new(simd, 0.0); N_FORMS];
        for k in 0..N_FORMS {
            p[k] = Lanes::load(simd, &forms[k]);
        }
        let limit = Lanes::new(simd, LARGEST_LOG);
        let used = weights.chunks_exact_mut(Lanes::<S>::LANES);
        for (row, weight) in self.moments.rows.iter().zip(used) {
            let mut log = p[0] * row[0];
            for k in 1..N_FORMS {
                log = p[k].mul_add(Lanes::new(simd, row[k]), log);
            }
            if self.unweighted {
                log = limit.splat(0.0);
            }
            let predicted = exp_finite(log.max(-limit).min(limit));
            (predicted * predicted).store(weight);
        }
    }

    /// The moments `[moment][lane]`.
    #[inline(always)]
    fn sum<S: Simd>(&self, simd: S, weights: &[f32], sums: &mut [f32]) {
        let lanes = Lanes::<S>::LANES;
        for (block, out) in sums.chunks_exact_mut(BLOCK * lanes).enumerate() {
            let first = block * BLOCK;
            let n = BLOCK.min(N_MOMENTS - first);
            let mut sum = [Lanes::new(simd, 0.0); BLOCK];
            for (monomials, weight) in
                self.moments.monomials.iter().zip(weights.chunks_exact(lanes))
            {
                let weight = Lanes::load(simd, weight);
                for k in 0..BLOCK {
                    // Behind the last moment it is summed again.
                    let monomial = Lanes::new(simd, monomials[first + k.min(n - 1)]);
                    sum[k] = weight.mul_add(monomial, sum[k]);
                }
            }
            for (sum, out) in sum.iter().zip(out.chunks_exact_mut(lanes)) {
                sum.store(out);
            }
        }
    }

    #[inline(always)]
    fn normal(&self, sums: &[f32], lanes: usize, lane: usize) -> Normal {
        let element = |i: usize, j: usize| {
            let (moment, factor) = self.moments.of_pair[i * (i + 1) / 2 + j];
            factor * f64::from(sums[moment * lanes + lane])
        };
        let pivot = element(0, 0);
        let mut normal = Normal { hessian: [0.0; N_FORMS * N_FORMS], slope: [0.0; N_FORMS] };
        for i in 1..N_UNKNOWNS {
            let of_s0 = element(i, 0);
            normal.slope[i - 1] = -of_s0 / pivot;
            for j in 1..=i {
                normal.hessian[(i - 1) * N_FORMS + j - 1] =
                    element(i, j) - of_s0 * element(j, 0) / pivot;
            }
        }
        normal
    }

    /// Solves for one voxel and writes its forms, S0 and status.
    #[inline(always)]
    fn settle(
        &mut self,
        voxel: usize,
        estimate: &[f64; N_FORMS],
        normal: &Normal,
        programme: &mut Programme<'_>,
        work: &mut Work,
    ) {
        let mut x = [0.0; N_FORMS];
        for i in 0..N_FORMS {
            for j in 0..=i {
                let h = normal.hessian[i * N_FORMS + j];
                x[i] += h * estimate[j];
                if j < i {
                    x[j] += h * estimate[i];
                }
            }
        }
        let outcome = programme.solve(&normal.hessian, &mut x, work);
        let status = match outcome.map(|outcome| outcome.verdict) {
            Ok(Verdict::Free | Verdict::Bound) => Status::Constrained,
            Ok(_) => Status::NotConverged,
            // The estimate stays as it is.
            Err(_) => {
                x = *estimate;
                Status::NotConverged
            }
        };
        let mut moved = 0.0;
        for k in 0..N_FORMS {
            moved += normal.slope[k] * (x[k] - estimate[k]);
            self.parameters[(parameter_row::TENSOR + k) * self.stride + voxel] = x[k] as f32;
        }
        let s0 = &mut self.parameters[parameter_row::S0 * self.stride + voxel];
        *s0 = (f64::from(*s0) * moved.exp()) as f32;
        self.parameters[parameter_row::STATUS * self.stride + voxel] = status.code();
    }
}
