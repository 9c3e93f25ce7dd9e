//! Models that are exponentials of a linear form, S = exp(X p), for non-linear least squares of
//! the signal itself: the diffusion tensor (7 parameters) and the kurtosis tensor (22).

use fimbria_fitting::lm::{Model, Number};

/// exp(x·p), x the row of the design matrix of a sample (its covariates), p\[0\] = ln S0 where the
/// first column is 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpLinear<const P: usize>;

impl<const P: usize> Model<P> for ExpLinear<P> {
    fn n_covariates(&self) -> usize {
        P
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; P], x: &[N::Constant], _: &[N::Constant]) -> N {
        let mut sum = p[0] * x[0];
        for k in 1..P {
            sum = sum + p[k] * x[k];
        }
        sum.exp()
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; P],
        x: &[N],
        _: &[N],
    ) -> (N, [N; P]) {
        let mut sum = p[0] * x[0];
        for k in 1..P {
            sum = sum.plus_product(p[k], x[k]);
        }
        let signal = sum.exp();
        let mut slope = [signal; P];
        for k in 0..P {
            slope[k] = signal * x[k];
        }
        (signal, slope)
    }
}
