//! The results of problems that have come to rest.

use fimbria_compute::{LaneFlags, Lanes, Real};
use pulp::Simd;

use super::cholesky::Factor;
use super::{Fitter, MAX_LANES};
use crate::lm::problems::LmStatus;
use crate::lm::rules::Rules;
use crate::lm::{Likelihood, Model};

#[inline(always)]
fn put<S: Simd>(out: &mut [f32], row: usize, values: Lanes<S>) {
    values.store(&mut out[row * MAX_LANES..]);
}

impl<S: Simd, M: Model<P>, const P: usize> Fitter<'_, S, M, P> {
    /// Writes the rows of results of every lane to `out`, `[row][lane]`; they mean something where
    /// a problem is at rest.
    #[inline(always)]
    pub(super) fn finish(&self, out: &mut [f32]) {
        let Self { simd, state, rows, .. } = self;
        let (zero, one) = (Lanes::new(*simd, 0.0), Lanes::new(*simd, 1.0));
        let code = |status: LmStatus| zero.splat(status.code());
        let p = self.load_rows(&state.p);
        let matrix = self.load_triangle(&state.matrix);
        let mut status = self.load_row(&state.status);
        let good = status.less(code(LmStatus::BadProblem));
        let converged = status.equals(code(LmStatus::Converged));

        let none = one.less(zero);
        let mut held = [none; P];
        let mut bound = none;
        let mut unknown = none;
        let mut free = zero;
        for k in 0..P {
            let at_bound = p[k].at_most(zero.splat(self.bounds.lower[k]))
                | zero.splat(self.bounds.upper[k]).at_most(p[k]);
            held[k] = if self.bounds.fixed[k] { !none } else { at_bound };
            if !self.bounds.fixed[k] {
                bound = bound | at_bound;
            }
            let faded = self.load_row(&state.scale[k]) * Rules::SINGLE.faded as f32;
            let least = faded.max(zero.splat(Rules::SINGLE.no_influence as f32));
            unknown = unknown | !(held[k] | least.less(matrix[k][k]));
            free = free + Lanes::select(held[k], zero, one);
        }
        let factor = Factor::new(&matrix, &held, Rules::SINGLE.singular as f32);
        let singular = converged & (unknown | factor.singular);
        status = Lanes::select(converged & bound, code(LmStatus::AtBound), status);
        status = Lanes::select(singular, code(LmStatus::Singular), status);

        for k in 0..P {
            put(out, k, Lanes::select(good, p[k], zero));
        }
        let squares = self.load_row(&state.squares);
        let residual = (squares / self.load_row(&state.weight_sum)).sqrt();
        put(out, rows.residual(), Lanes::select(good, residual, zero));
        put(out, rows.iterations(), Lanes::select(good, self.load_row(&state.iterations), zero));
        put(out, rows.status(), status);
        let determined = converged & !singular;
        if self.shared.options.covariance {
            let variance = self.variance(squares, free);
            self.write_covariance(&factor, &held, determined, variance, out);
        }
    }

    /// s² of the covariance.
    #[inline(always)]
    fn variance(&self, squares: Lanes<S>, free: Lanes<S>) -> Lanes<S> {
        let (zero, one) = (squares.splat(0.0), squares.splat(1.0));
        let beyond = squares.splat(self.shared.problems.n_samples() as f32) - free;
        // Without a sample to spare residuals are rounding.
        let estimated = Lanes::select(one.at_most(beyond), squares / beyond.max(one), zero);
        let sigma = self.load_row(&self.state.sigma);
        if self.shared.options.likelihood == Likelihood::Rician {
            Lanes::select(zero.less(sigma), sigma * sigma, estimated)
        } else {
            estimated
        }
    }

    #[inline(always)]
    fn write_covariance(
        &self,
        factor: &Factor<S, P>,
        held: &[LaneFlags<S>; P],
        determined: LaneFlags<S>,
        variance: Lanes<S>,
        out: &mut [f32],
    ) {
        let zero = Lanes::new(self.simd, 0.0);
        for j in 0..P {
            let mut unit = [zero; P];
            unit[j] = Lanes::new(self.simd, 1.0);
            let column = factor.solve(&unit);
            for i in 0..=j {
                let known = determined & !(held[i] | held[j]);
                if let Some(row) = self.rows.covariance(i, j) {
                    put(out, row, Lanes::select(known, column[i] * variance, zero));
                }
            }
        }
    }
}
