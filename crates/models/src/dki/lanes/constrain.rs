//! Constrained estimates of the voxels that need one.
//!
//! The estimate p becomes the closest point to it that satisfies the constraints, in the metric
//! XᵀWX with W the squared signal that p itself predicts: the minimum of the weighted sum of
//! squares, or of the non-linear one to second order, under the constraints. Where the kurtosis of p
//! is not admissible along the direction of a volume its prediction may explode; it is then that of
//! the nearest admissible one, and nowhere smaller than [`LEAST_PREDICTION`] of S0.

use fimbria_compute::math::exp_finite;
use fimbria_compute::{Lanes, Real};
use fimbria_fitting::active_set::{Programme, Verdict, Work, invert};
use fimbria_image::Status;
use pulp::{Simd, WithSimd};

use crate::dki::constraints::{KurtosisConstraints, N_FORMS};
use crate::dki::form::N_D;
use crate::dki::lanes::pricing::DirectionPrices;
use crate::dki::layout::parameter_row;
use crate::dki::moments::{Moments, N_MOMENTS, N_UNKNOWNS};

/// Sums that stay in registers over all volumes.
const BLOCK: usize = 12;
/// Of S0; a signal below this is lost in the noise of any scan.
pub(in crate::dki) const LEAST_PREDICTION: f32 = 0.02;
/// The most lanes of any level.
pub(super) const MAX_LANES: usize = 16;

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
        let mut prices = DirectionPrices::new(simd, self.constraints);
        let mut forms = [[0.0; MAX_LANES]; N_FORMS];
        let mut weights = vec![0.0; self.moments.rows.len() * lanes];
        let mut sums = vec![0.0; N_MOMENTS.next_multiple_of(BLOCK) * lanes];
        let mut normal = Normal::new(simd);
        for voxels in self.voxels.chunks(lanes) {
            for (k, row) in forms.iter_mut().enumerate() {
                let from = &self.parameters[(parameter_row::TENSOR + k) * self.stride..];
                for (value, &voxel) in row.iter_mut().zip(voxels) {
                    *value = from[voxel];
                }
            }
            self.weigh(simd, &forms, &mut weights);
            self.sum(simd, &weights, &mut sums);
            for first in (0..voxels.len()).step_by(S::F64_LANES) {
                normal.invert(simd, self.moments, &sums[first..], lanes);
                for (one, &voxel) in voxels[first..].iter().take(S::F64_LANES).enumerate() {
                    let estimate: [f64; N_FORMS] =
                        std::array::from_fn(|k| f64::from(forms[k][first + one]));
                    let mut x = estimate;
                    let is_inside = lane::<S>(&normal.is_definite, one) == 1.0 && {
                        let inverse = &normal.inverse;
                        let outcome =
                            programme.project::<S>(inverse, one, &mut prices, &mut x, &mut work);
                        matches!(outcome.verdict, Verdict::Free | Verdict::Bound)
                    };
                    if is_inside {
                        let slope = normal.slope.each_ref().map(|slope| lane::<S>(slope, one));
                        self.put(voxel, &estimate, &slope, &x);
                    } else {
                        // Nearly singular equations; the estimate itself is known to be wrong.
                        self.give_up(voxel);
                    }
                }
            }
        }
    }
}

/// Of as many voxels as f64 vectors have lanes: the inverse of XᵀWX, and how ln S0 follows the
/// other unknowns.
struct Normal<S: Simd> {
    moments: [S::f64s; N_MOMENTS],
    /// The lower triangle by rows, ln S0 the last unknown: what stands before its row is the
    /// inverse for the others, as if ln S0 had been eliminated.
    inverse: Vec<S::f64s>,
    /// d ln S0 / d unknown.
    slope: [S::f64s; N_FORMS],
    is_definite: S::f64s,
}

impl<S: Simd> Normal<S> {
    fn new(simd: S) -> Self {
        let zero = simd.splat_f64s(0.0);
        let entries = N_UNKNOWNS * (N_UNKNOWNS + 1) / 2;
        Self {
            moments: [zero; N_MOMENTS],
            inverse: vec![zero; entries],
            slope: [zero; N_FORMS],
            is_definite: zero,
        }
    }

    /// From moments `[moment][stride]`, the first lanes of each row.
    #[inline(always)]
    fn invert(&mut self, simd: S, moments: &Moments, sums: &[f32], stride: usize) {
        // Every moment is in several entries.
        let of_moment: &mut [f64] = bytemuck::cast_slice_mut(&mut self.moments);
        for moment in 0..N_MOMENTS {
            for lane in 0..S::F64_LANES {
                of_moment[moment * S::F64_LANES + lane] = f64::from(sums[moment * stride + lane]);
            }
        }
        let element = |i: usize, j: usize| {
            let (moment, factor) = moments.of_pair[i * (i + 1) / 2 + j];
            simd.mul_f64s(self.moments[moment], simd.splat_f64s(factor))
        };
        let pairs = (1..N_UNKNOWNS).flat_map(|i| (1..=i).map(move |j| (i, j)));
        let with_s0 = (1..N_UNKNOWNS).chain([0]).map(|i| (i, 0));
        for (entry, (i, j)) in self.inverse.iter_mut().zip(pairs.chain(with_s0)) {
            *entry = element(i, j);
        }
        let (_, of_s0) = self.inverse.split_at(self.inverse.len() - N_UNKNOWNS);
        let scale = simd.div_f64s(simd.splat_f64s(-1.0), of_s0[N_FORMS]);
        for (slope, &entry) in self.slope.iter_mut().zip(of_s0) {
            *slope = simd.mul_f64s(entry, scale);
        }
        self.is_definite = invert(simd, N_UNKNOWNS, &mut self.inverse);
    }
}

/// One lane of a vector.
#[inline(always)]
fn lane<S: Simd>(vector: &S::f64s, one: usize) -> f64 {
    bytemuck::cast_slice::<S::f64s, f64>(std::slice::from_ref(vector))[one]
}

impl Constrain<'_> {
    /// Squared predictions over S0².
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, forms: &[[f32; MAX_LANES]; N_FORMS], weights: &mut [f32]) {
        let mut p = [Lanes::new(simd, 0.0); N_FORMS];
        for k in 0..N_FORMS {
            p[k] = Lanes::load(simd, &forms[k]);
        }
        let [least, zero] = [LEAST_PREDICTION.ln(), 0.0].map(|log| Lanes::new(simd, log));
        let used = weights.chunks_exact_mut(Lanes::<S>::LANES);
        for (row, weight) in self.moments.rows.iter().zip(used) {
            let mut gaussian = p[0] * row[0];
            for k in 1..N_D {
                gaussian = p[k].mul_add(Lanes::new(simd, row[k]), gaussian);
            }
            let mut rest = p[N_D] * row[N_D];
            for k in N_D + 1..N_FORMS {
                rest = p[k].mul_add(Lanes::new(simd, row[k]), rest);
            }
            // b²V/6 where 0 <= V <= 3D/b_max; b stands in the row as minus the trace's.
            let b = -(row[0] + row[3] + row[5]);
            let most = gaussian * (-b / (6.0 * self.constraints.slope));
            let mut log = gaussian + rest.max(zero).min(most.max(zero));
            if self.unweighted {
                log = zero;
            }
            let predicted = exp_finite(log.max(least).min(zero));
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

    /// Writes that the samples of a voxel do not determine its tensors.
    fn give_up(&mut self, voxel: usize) {
        let of_voxel = self.parameters.iter_mut().skip(voxel).step_by(self.stride);
        for (row, value) in of_voxel.take(parameter_row::COUNT).enumerate() {
            *value = match row {
                parameter_row::RAISED => *value,
                parameter_row::STATUS => Status::Singular.code(),
                _ => 0.0,
            };
        }
    }

    /// Writes the constrained forms x of a voxel and the S0 that follows.
    #[inline(always)]
    fn put(
        &mut self,
        voxel: usize,
        estimate: &[f64; N_FORMS],
        slope: &[f64; N_FORMS],
        x: &[f64; N_FORMS],
    ) {
        let mut moved = 0.0;
        for k in 0..N_FORMS {
            moved += slope[k] * (x[k] - estimate[k]);
            self.parameters[(parameter_row::TENSOR + k) * self.stride + voxel] = x[k] as f32;
        }
        let s0 = &mut self.parameters[parameter_row::S0 * self.stride + voxel];
        *s0 = (f64::from(*s0) * moved.exp()) as f32;
        self.parameters[parameter_row::STATUS * self.stride + voxel] = Status::Constrained.code();
    }
}
