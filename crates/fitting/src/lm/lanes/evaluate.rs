//! One pass over the samples: cost, gradient and Gauss-Newton matrix.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::{Fitter, MOST_KNOWN, MOST_PREPARED};
use crate::lm::likelihood::{LEAST_VARIANCE, ln_i0e_and_ratio, rician_mean};
use crate::lm::{Likelihood, Model, Weights};

/// Least squares, all weights 1.
const PLAIN: u8 = 0;
/// Weighted least squares.
const WEIGHTED: u8 = 1;
/// [`Likelihood::OffsetGaussian`](crate::lm::Likelihood::OffsetGaussian).
const OFFSET: u8 = 2;
/// [`Likelihood::Rician`](crate::lm::Likelihood::Rician).
const RICIAN: u8 = 3;
/// [`Likelihood::RicianMean`](crate::lm::Likelihood::RicianMean).
const MEAN: u8 = 4;

/// What one pass gives.
pub(super) struct Point<S: Simd, const P: usize> {
    pub(super) cost: Lanes<S>,
    /// Σ w (f - y)².
    pub(super) squares: Lanes<S>,
    pub(super) gradient: [Lanes<S>; P],
    /// The lower triangle.
    pub(super) matrix: [[Lanes<S>; P]; P],
}

impl<S: Simd, M: Model<P>, const P: usize> Fitter<'_, S, M, P> {
    /// At `p`, in the loop made for the likelihood.
    #[inline(always)]
    pub(super) fn evaluate(&self, p: &[Lanes<S>; P]) -> Point<S, P> {
        let weighted = !matches!(self.shared.problems.weights, Weights::Equal);
        match (self.shared.options.likelihood, weighted) {
            (Likelihood::Gaussian, false) => self.pass::<PLAIN>(p),
            (Likelihood::Gaussian, true) => self.pass::<WEIGHTED>(p),
            (Likelihood::OffsetGaussian, _) => self.pass::<OFFSET>(p),
            (Likelihood::Rician, _) => self.pass::<RICIAN>(p),
            (Likelihood::RicianMean, _) => self.pass::<MEAN>(p),
        }
    }

    #[inline(always)]
    fn pass<const KIND: u8>(&self, p: &[Lanes<S>; P]) -> Point<S, P> {
        let Self { simd, shared, state, .. } = self;
        let lanes = Lanes::<S>::LANES;
        let zero = Lanes::new(*simd, 0.0);
        let (n_covariates, n_constants) = (shared.model.n_covariates(), shared.model.n_constants());
        let mut constants = [zero; MOST_KNOWN + MOST_PREPARED];
        for k in 0..n_constants {
            constants[k] = Lanes::load(*simd, &state.constants[k]);
        }
        let n_prepared = shared.model.n_prepared();
        let (of_problem, prepared) = constants.split_at_mut(n_constants);
        shared.model.prepare(p, of_problem, &mut prepared[..n_prepared]);
        let constants = &constants[..n_constants + n_prepared];
        let sigma = Lanes::load(*simd, &state.sigma);
        let variance = sigma * sigma;
        let mut cost = zero;
        let mut squares = zero;
        let mut gradient = [zero; P];
        let mut matrix = [[zero; P]; P];
        let mut covariates = [zero; MOST_KNOWN];
        let known = shared.problems.covariates;
        for (i, (y, w)) in
            self.samples.chunks_exact(lanes).zip(self.weights.chunks_exact(lanes)).enumerate()
        {
            for k in 0..n_covariates {
                covariates[k] = zero.splat(known[i * n_covariates + k]);
            }
            let (mut f, mut slope) =
                shared.model.signal_and_slope(p, &covariates[..n_covariates], constants);
            let y = Lanes::load(*simd, y);
            if KIND == OFFSET {
                let with_offset = f.mul_add(f, variance).sqrt();
                let by = f / with_offset.max(zero.splat(f32::MIN_POSITIVE));
                for k in 0..P {
                    slope[k] = slope[k] * by;
                }
                f = with_offset;
            }
            if KIND == MEAN {
                let (mean, by) = rician_mean(f, sigma);
                for k in 0..P {
                    slope[k] = slope[k] * by;
                }
                f = mean;
            }
            let residual = f - y;
            let mut pull = residual;
            let mut weighted = slope;
            if KIND == RICIAN {
                let z = (y * f).abs() / variance.max(zero.splat(LEAST_VARIANCE));
                let (ln_i0e, ratio) = ln_i0e_and_ratio(z);
                let ratio = Lanes::select(zero.less(variance), ratio, zero.splat(1.0));
                // The sign of f, so that the cost is even in it.
                let expected = Lanes::select(f.less(zero), -y.abs(), y.abs()) * ratio;
                pull = f - expected;
                let w = Lanes::load(*simd, w);
                let noise = variance * ln_i0e;
                cost = w.mul_add((residual * 0.5).mul_add(residual, -noise), cost);
                squares = (w * residual).mul_add(residual, squares);
            }
            if KIND != PLAIN {
                let w = Lanes::load(*simd, w);
                for k in 0..P {
                    weighted[k] = slope[k] * w;
                }
                if KIND != RICIAN {
                    squares = (w * residual).mul_add(residual, squares);
                }
            } else {
                squares = residual.mul_add(residual, squares);
            }
            for j in 0..P {
                gradient[j] = weighted[j].mul_add(pull, gradient[j]);
                for k in 0..=j {
                    matrix[j][k] = weighted[j].mul_add(slope[k], matrix[j][k]);
                }
            }
        }
        if KIND != RICIAN {
            cost = squares * 0.5;
        }
        Point { cost, squares, gradient, matrix }
    }
}
