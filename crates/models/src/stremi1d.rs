//! The stretched exponential along each gradient direction (Palombo 2015, equation 4 in one
//! direction): S = S0 exp(-A b^γ), 0 < γ <= 1, Mγ the mean of γ over directions.
//!
//! Along one direction the projections of b on the axes of the tensor are proportional to b, so
//! that six parameters could not be told apart: [`stremi`](crate::stremi) fits them over all
//! directions together.

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};

use crate::ProtocolError;
use crate::curve::{CurveError, CurveOptions, DirectionModel, Directional, Protocol, noise_level};
use crate::voxelwise::Job;
use crate::{Fitted, curve};

/// Different b, with 0, that a direction must have.
pub const LEAST_B: usize = 4;
/// Stands for ln 0: b^γ is then 0 in either precision, and so is its derivative.
const LN_ZERO: f32 = -1e5;

/// S0 exp(-A b^γ), parameters S0, A ((µm²/ms)^γ), γ; the covariate is ln b (b in ms/µm²).
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretched;

impl Model<3> for Stretched {
    fn n_covariates(&self) -> usize {
        1
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 3], ln_b: &[N::Constant], _: &[N::Constant]) -> N {
        let [s0, a, gamma] = *p;
        s0 * (-a * (gamma * ln_b[0]).exp()).exp()
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 3],
        ln_b: &[N],
        _: &[N],
    ) -> (N, [N; 3]) {
        let [s0, a, gamma] = *p;
        let power = (gamma * ln_b[0]).exp();
        let decay = (-a * power).exp();
        let signal = s0 * decay;
        let by_a = -signal * power;
        (signal, [decay, by_a, by_a * a * ln_b[0]])
    }
}

impl DirectionModel<3> for Stretched {
    fn parameters(&self) -> [Parameter; 3] {
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            Parameter::new("A", 0.8, 0.0, 20.0),
            Parameter::new("gamma", 0.8, 0.05, 1.0),
        ]
    }

    fn covariate(&self, b: f64) -> f32 {
        if b > 0.0 { b.ln() as f32 } else { LN_ZERO }
    }

    fn start(&self, b: f32, log_loss: f32, _: f32) -> [f32; 3] {
        [1.0, log_loss / b.powf(0.8), 0.8]
    }

    fn quantities(&self, p: &[f32; 3]) -> [f32; 2] {
        [p[1], p[2]]
    }

    fn log_loss(&self, p: &[f32; 3], b: f32) -> f32 {
        p[1] * b.powf(p[2])
    }

    fn parameters_of(&self, [a, gamma]: [f32; 2], s0: f32) -> Option<[f32; 3]> {
        (a > 0.0 && s0 > 0.0).then_some([s0, a, gamma])
    }

    fn specs(&self, n: usize) -> [MapSpec; 4] {
        [
            MapSpec::of_kind(
                "A",
                MapKind::Scalar,
                n,
                "",
                "generalised diffusivity of exp(-A b^gamma), (10^-3 mm^2/s)^gamma: A^(1/gamma) is \
                 in 10^-3 mm²/s; one volume per direction of directions.txt",
            ),
            MapSpec::of_kind(
                "gamma",
                MapKind::Scalar,
                n,
                "",
                "stretching exponent, one volume per direction of directions.txt; 0 where the \
                 signal loses less than 1 %",
            ),
            MapSpec::scalar("MA", "", "mean of A over the directions that converged"),
            MapSpec::scalar(
                "Mgamma",
                "",
                "mean of gamma over the directions that converged; NaN where none tells it",
            )
            .within(Window::Fixed([0.4, 1.0])),
        ]
    }
}

/// The maps of a fit of so many directions, in order; `errors` as in the options.
pub fn maps(n_directions: usize, errors: bool) -> Vec<MapSpec> {
    curve::directional_maps(&Stretched, n_directions, errors)
}

/// Fits A and γ in each gradient direction of each voxel: maps `A` and `gamma` (a volume for each
/// of [`directions`](crate::curve::directions)), `MA`, `Mgamma`, `S0`, `residual`, `status` as of
/// [`dki1d::fit`](crate::dki1d::fit). All b by default.
///
/// # Errors
/// [`CurveError`]; a direction needs [`LEAST_B`] different b.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &CurveOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let protocol = Protocol::new(gradients, options.b_max_s_per_mm2)?;
    let directions = protocol.directions_with(LEAST_B, options.b_max_s_per_mm2)?;
    let floor = noise_level(signals, mask, gradients, options, progress)?;
    let options = options.clone();
    let fit = Directional { model: Stretched, protocol, directions, floor, options };
    let job = Job { name: "fitting stretched exponentials", inputs: signals, mask, progress };
    Ok(fit.run(&job, on)?)
}
