//! Models that the tests fit.

use fimbria_fitting::lm::{Model, Number, Parameter};

/// √((S0 exp(-bD + b²A))² + η²), η a constant of the problem: three parameters.
pub(crate) struct Kurtosis;

impl Kurtosis {
    pub(crate) fn parameters() -> [Parameter; 3] {
        [
            Parameter::new("S0", 1.0, 0.0, 10.0),
            Parameter::new("D", 1.0, 0.0, 5.0),
            Parameter::new("A", 0.1, -1.0, 5.0),
        ]
    }
}

impl Model<3> for Kurtosis {
    fn n_covariates(&self) -> usize {
        1
    }
    fn n_constants(&self) -> usize {
        1
    }
    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 3], b: &[N::Constant], eta: &[N::Constant]) -> N {
        let [s0, d, a] = *p;
        let attenuated = s0 * ((a * b[0] - d) * b[0]).exp();
        (attenuated * attenuated + eta[0] * eta[0]).sqrt()
    }
    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 3],
        b: &[N],
        eta: &[N],
    ) -> (N, [N; 3]) {
        let [s0, d, a] = *p;
        let b = b[0];
        let decay = ((a * b - d) * b).exp();
        let attenuated = s0 * decay;
        let signal = (eta[0] * eta[0]).plus_product(attenuated, attenuated).sqrt();
        let share = attenuated / signal.at_least(signal.constant(1e-30));
        let by_d = -attenuated * b * share;
        (signal, [decay * share, by_d, -by_d * b])
    }
}

/// S0 (f exp(-b Df) + (1 - f) exp(-b Ds)): four parameters, ill-conditioned; derivatives by duals.
pub(crate) struct TwoPools;

impl TwoPools {
    pub(crate) fn parameters() -> [Parameter; 4] {
        [
            Parameter::new("S0", 1.0, 0.0, 10.0),
            Parameter::new("f", 0.2, 0.0, 1.0),
            Parameter::new("Df", 10.0, 3.0, 100.0),
            Parameter::new("Ds", 1.0, 0.0, 3.0),
        ]
    }
}

impl Model<4> for TwoPools {
    fn n_covariates(&self) -> usize {
        1
    }
    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 4], b: &[N::Constant], _: &[N::Constant]) -> N {
        let [s0, f, fast, slow] = *p;
        let rest = f.constant(1.0);
        s0 * (f * (-fast * b[0]).exp() + (-f + rest) * (-slow * b[0]).exp())
    }
}
