//! What a model is: its parameters and its signal, written once.

use super::{Dual, Number};

/// One parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name, as results show it.
    pub name: String,
    /// Where a fit starts unless each problem brings its own start.
    pub start: f64,
    /// Least value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// The fit leaves it at its start.
    pub fixed: bool,
}

impl Parameter {
    /// A free parameter within `lower..=upper`.
    pub fn new(name: &str, start: f64, lower: f64, upper: f64) -> Self {
        Self { name: name.into(), start, lower, upper, fixed: false }
    }

    /// The same, kept at `value`.
    #[must_use]
    pub fn fixed_at(self, value: f64) -> Self {
        Self { start: value, fixed: true, ..self }
    }
}

/// A signal as a function of P parameters.
///
/// Each sample has covariates shared by all problems (b, a direction); each problem has constants
/// shared by all its samples (a noise level, axes). [`signal`](Self::signal) is written once and
/// serves the `f64` oracle, the SIMD lanes, exact derivatives and the kernel text.
/// Implementations are `#[inline(always)]`: they are compiled into the lanes of each SIMD level.
pub trait Model<const P: usize>: Sync {
    /// Number of covariates of a sample.
    fn n_covariates(&self) -> usize;

    /// Number of constants of a problem.
    fn n_constants(&self) -> usize {
        0
    }

    /// Number of values that [`prepare`](Self::prepare) makes.
    fn n_prepared(&self) -> usize {
        0
    }

    /// Writes what all samples of a problem share at `p`, once a pass over them. It stands behind the
    /// constants that [`signal_and_slope`](Self::signal_and_slope) gets.
    #[inline(always)]
    fn prepare<N: Number<Constant = N>>(&self, p: &[N; P], constants: &[N], prepared: &mut [N]) {
        let _ = (p, constants, prepared);
    }

    /// The signal of one sample.
    fn signal<N: Number>(
        &self,
        p: &[N; P],
        covariates: &[N::Constant],
        constants: &[N::Constant],
    ) -> N;

    /// The signal and its derivatives by the parameters, by dual numbers unless the model has
    /// something faster; [`derivative_error`] compares the two. Behind the constants of the problem
    /// stands what [`prepare`](Self::prepare) made of `p`.
    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; P],
        covariates: &[N],
        constants: &[N],
    ) -> (N, [N; P]) {
        let dual = self.signal(&Dual::parameters(p), covariates, constants);
        (dual.value, dual.slope)
    }
}

/// The constants of a problem with what the model prepares of `p`, as [`Model::signal_and_slope`] takes them.
pub fn with_prepared<N: Number<Constant = N>, const P: usize>(
    model: &impl Model<P>,
    p: &[N; P],
    constants: &[N],
) -> Vec<N> {
    let mut all = constants.to_vec();
    all.resize(constants.len() + model.n_prepared(), p[0].constant(0.0));
    model.prepare(p, constants, &mut all[constants.len()..]);
    all
}

/// The largest difference of a model's own derivatives from those of dual numbers, relative to the
/// largest derivative, in `f64`: for the test of a model that writes its own.
pub fn derivative_error<const P: usize>(
    model: &impl Model<P>,
    p: &[f64; P],
    covariates: &[f64],
    constants: &[f64],
) -> f64 {
    let prepared = with_prepared(model, p, constants);
    let (value, slope) = model.signal_and_slope(p, covariates, &prepared);
    let dual = model.signal(&Dual::parameters(p), covariates, constants);
    let scale = dual.slope.iter().fold(dual.value.abs(), |most, s| most.max(s.abs()));
    let of_slope = (0..P).map(|k| (slope[k] - dual.slope[k]).abs());
    of_slope.fold((value - dual.value).abs(), f64::max) / scale
}
