//! The mono-exponential decay S = S0 exp(-b D) over all volumes: one diffusivity for all
//! directions.
//!
//! For powder averages, isotropic samples and trace-weighted series; elsewhere the tensor
//! ([`dti`](crate::dti)) is the model of its kind.

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Window};

use crate::ProtocolError;
use crate::curve::{CurveError, CurveOptions, MM2_PER_S, Protocol, VoxelModel, Whole, noise_level};
use crate::voxelwise::Job;
use crate::{Fitted, curve};

/// S0 exp(-b D), parameters S0, D (µm²/ms); the covariate is b (ms/µm²).
#[derive(Clone, Copy, Debug, Default)]
pub struct MonoExponential;

impl Model<2> for MonoExponential {
    fn n_covariates(&self) -> usize {
        1
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 2], b: &[N::Constant], _: &[N::Constant]) -> N {
        p[0] * (-p[1] * b[0]).exp()
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 2],
        b: &[N],
        _: &[N],
    ) -> (N, [N; 2]) {
        let decay = (-p[1] * b[0]).exp();
        let signal = p[0] * decay;
        (signal, [decay, -signal * b[0]])
    }
}

impl VoxelModel<2> for MonoExponential {
    fn parameters(&self) -> [Parameter; 2] {
        [Parameter::new("S0", 1.0, 0.0, 100.0), Parameter::new("D", 1.0, 0.0, 20.0)]
    }

    fn covariates(&self, b: f64, _: [f64; 3], to: &mut Vec<f32>) {
        to.push(b as f32);
    }

    fn start(&self, b: &[f32], samples: &[f32], _: &[f32]) -> [f32; 2] {
        let (s0, d) = curve::log_line(b, samples, 0.0);
        [s0, d.max(0.05)]
    }

    fn specs(&self) -> Vec<MapSpec> {
        vec![
            MapSpec::scalar("D", "mm^2/s", "diffusivity of S0 exp(-b D), mm²/s")
                .within(Window::FromZero),
            MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        ]
    }

    fn values(&self, p: &[f32; 2], _: &[f32], scale: f32, out: &mut [f32]) {
        out.copy_from_slice(&[p[1] * MM2_PER_S, p[0] * scale]);
    }

    fn parameters_of(&self, values: &[f32], _: &[f32], scale: f32) -> [f32; 2] {
        [values[1] / scale, values[0] / MM2_PER_S]
    }
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(errors: bool) -> Vec<MapSpec> {
    curve::whole_maps(&MonoExponential, errors)
}

/// The volumes of a fit, where they determine the decay.
fn protocol(
    gradients: &GradientTable,
    b_max_s_per_mm2: Option<f64>,
) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, b_max_s_per_mm2)?;
    let n_b = protocol.count_b(&protocol.volumes());
    if n_b < 2 {
        return Err(CurveError::Unsupported {
            model: "a mono-exponential decay",
            needs: "2 different b-values",
            has: n_b.to_string(),
            b_max_s_per_mm2,
        });
    }
    Ok(protocol)
}

/// Whether a gradient table determines the decay.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, b_max_s_per_mm2: Option<f64>) -> Result<(), CurveError> {
    protocol(gradients, b_max_s_per_mm2).map(drop)
}

/// Fits S0 exp(-b D) to all volumes of each voxel: maps `D`, `S0`, `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; two different b are needed.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &CurveOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let protocol = protocol(gradients, options.b_max_s_per_mm2)?;
    let sigma = noise_level(signals, mask, gradients, options, progress)?;
    let fit = Whole { model: MonoExponential, protocol, sigma, options: options.clone() };
    let job = Job { name: "fitting exponentials", inputs: signals, mask, progress };
    Ok(fit.run(&job, on)?)
}
