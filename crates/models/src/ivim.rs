//! Intravoxel incoherent motion: S = S0 (f exp(-b D*) + (1 - f) exp(-b D)) (Le Bihan 1988), over
//! all volumes.
//!
//! The bounds keep the pools apart: D at most 3 µm²/ms (free water at body temperature), D* at
//! least that.

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Window};

use crate::ProtocolError;
use crate::curve::{CurveError, CurveOptions, MM2_PER_S, Protocol, VoxelModel, Whole, noise_level};
use crate::voxelwise::Job;
use crate::{Fitted, curve};

/// b (ms/µm²) from which perfusion is taken to have decayed, for the start of the fit.
const TISSUE_ONLY: f64 = 0.2;
/// Largest D and least D*, µm²/ms.
const BETWEEN_POOLS: f64 = 3.0;

/// S0 (f exp(-b D*) + (1 - f) exp(-b D)), parameters S0, f, D*, D (µm²/ms); the covariate is b
/// (ms/µm²).
#[derive(Clone, Copy, Debug, Default)]
pub struct BiExponential;

impl Model<4> for BiExponential {
    fn n_covariates(&self) -> usize {
        1
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 4], b: &[N::Constant], _: &[N::Constant]) -> N {
        let [s0, f, fast, slow] = *p;
        let slow_part = (-slow * b[0]).exp();
        let fast_part = (-fast * b[0]).exp();
        s0 * slow_part.plus_product(f, fast_part - slow_part)
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 4],
        b: &[N],
        _: &[N],
    ) -> (N, [N; 4]) {
        let [s0, f, fast, slow] = *p;
        let slow_part = (-slow * b[0]).exp();
        let fast_part = (-fast * b[0]).exp();
        let difference = fast_part - slow_part;
        let attenuation = slow_part.plus_product(f, difference);
        let moved = -s0 * b[0];
        let by_fast = moved * f * fast_part;
        let by_slow = moved * (f.constant(1.0) - f) * slow_part;
        (s0 * attenuation, [attenuation, s0 * difference, by_fast, by_slow])
    }
}

impl VoxelModel<4> for BiExponential {
    fn parameters(&self) -> [Parameter; 4] {
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            Parameter::new("f", 0.1, 0.0, 1.0),
            Parameter::new("Dstar", 15.0, BETWEEN_POOLS, 500.0),
            Parameter::new("D", 1.0, 0.0, BETWEEN_POOLS),
        ]
    }

    fn covariates(&self, b: f64, _: [f64; 3], to: &mut Vec<f32>) {
        to.push(b as f32);
    }

    /// Segmented: a line through the logarithms where perfusion has decayed gives D, what it
    /// leaves of the signal without weighting gives f.
    fn start(&self, b: &[f32], samples: &[f32], _: &[f32]) -> [f32; 4] {
        let (intercept, d) = curve::log_line(b, samples, TISSUE_ONLY as f32);
        let (mut sum, mut count) = (0.0, 0.0);
        let least = b.iter().copied().fold(f32::INFINITY, f32::min);
        for (_, s) in b.iter().zip(samples).filter(|(b, _)| **b <= least + 0.005) {
            (sum, count) = (sum + s, count + 1.0);
        }
        let s0 = (sum / f32::max(count, 1.0)).max(1e-3);
        let f = (1.0 - intercept / s0).clamp(0.03, 0.6);
        [s0, f, 15.0, d.clamp(0.05, 2.8)]
    }

    fn specs(&self) -> Vec<MapSpec> {
        vec![
            MapSpec::scalar("f", "", "perfusion fraction of the signal without weighting")
                .within(Window::FromZero),
            MapSpec::scalar("D", "mm^2/s", "diffusivity of the tissue, mm²/s")
                .within(Window::FromZero),
            MapSpec::scalar(
                "Dstar",
                "mm^2/s",
                "pseudo-diffusivity of the perfusion, mm²/s; NaN where there is none (f is 0)",
            ),
            MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        ]
    }

    fn values(&self, p: &[f32; 4], _: &[f32], scale: f32, out: &mut [f32]) {
        let [s0, f, fast, slow] = *p;
        out.copy_from_slice(&[f, slow * MM2_PER_S, fast * MM2_PER_S, s0 * scale]);
    }

    fn parameters_of(&self, values: &[f32], _: &[f32], scale: f32) -> [f32; 4] {
        [values[3] / scale, values[0], values[2] / MM2_PER_S, values[1] / MM2_PER_S]
    }
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(errors: bool) -> Vec<MapSpec> {
    curve::whole_maps(&BiExponential, errors)
}

/// The volumes of a fit, where they determine both pools.
fn protocol(
    gradients: &GradientTable,
    b_max_s_per_mm2: Option<f64>,
) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, b_max_s_per_mm2)?;
    let (low, high): (Vec<usize>, Vec<usize>) =
        protocol.volumes().iter().partition(|&&v| protocol.b[v] < TISSUE_ONLY);
    let zero = usize::from(!protocol.unweighted.is_empty());
    let (n_low, n_high) = (protocol.count_b(&low), protocol.count_b(&high) - zero);
    if n_low < 2 || n_high < 2 {
        return Err(CurveError::Unsupported {
            model: "intravoxel incoherent motion",
            needs: "2 different b-values below 200 s/mm² (0 is one) and 2 from there on",
            has: format!("{n_low} and {n_high}"),
            b_max_s_per_mm2,
        });
    }
    Ok(protocol)
}

/// Whether a gradient table determines both pools.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, b_max_s_per_mm2: Option<f64>) -> Result<(), CurveError> {
    protocol(gradients, b_max_s_per_mm2).map(drop)
}

/// Fits the bi-exponential decay to all volumes of each voxel: maps `f`, `D`, `Dstar`, `S0`,
/// `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; needed are 4 different b, of which 2 lie above 0 and below 200 s/mm², or 1 and
/// unweighted volumes, and 2 from 200 s/mm².
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
    let fit = Whole { model: BiExponential, protocol, sigma, options: options.clone() };
    let job = Job { name: "fitting two exponentials", inputs: signals, mask, progress };
    Ok(fit.run(&job, on)?)
}
