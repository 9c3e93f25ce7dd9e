//! Free-water elimination (Pasternak et al. 2009; Hoy et al. 2014): the tensor of tissue beside water that
//! diffuses freely, S = S0 ((1 - f) exp(-b gᵀDg) + f exp(-b d)), d = 3 µm²/ms.
//!
//! D is L Lᵀ with L lower triangular, so that it is positive definite whatever the samples are; f is within
//! 0 and 1. All are fitted to all volumes at once, from the best of a few fractions with weighted least
//! squares of the logarithm at each.
//!
//! One shell does not tell water from tissue: [`fit_assumed`] assumes what tissue is.

mod assumed;
mod start;
#[cfg(test)]
mod tests;

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};

pub use self::assumed::{check_assumed, fit_assumed};
use self::start::Start;
use crate::curve::{
    self, CurveError, CurveOptions, MM2_PER_S, Protocol, VoxelModel, Whole, noise_level,
};
use crate::dti::lanes::eigen::Deviator;
use crate::voxelwise::Job;
use crate::{Fitted, ProtocolError};

/// The diffusivity of free water at body temperature, µm²/ms.
pub const FREE_WATER: f64 = 3.0;
/// Least and largest entry of the diagonal of L, the root of µm²/ms: a tissue that diffuses as fast as free
/// water cannot be told from it.
const DIAGONAL: [f64; 2] = [0.1, 1.6];
/// Largest entry off the diagonal.
const OFF_DIAGONAL: f64 = 1.6;

/// The covariates of a volume with b ms/µm² along a unit direction.
fn covariates(b: f64, dir_ras: [f64; 3]) -> [f64; 4] {
    let [x, y, z] = dir_ras.map(|c| b.sqrt() * c);
    [x, y, z, (-b * FREE_WATER).exp()]
}

/// S0 ((1 - f) exp(-|Lᵀh|²) + f w), parameters S0, f, L₁₁, L₂₁, L₂₂, L₃₁, L₃₂, L₃₃; covariates h = √b g
/// (√(ms/µm²), scanner RAS) and w = exp(-b d).
struct FreeWater {
    start: Start,
}

impl Model<8> for FreeWater {
    fn n_covariates(&self) -> usize {
        4
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 8], h: &[N::Constant], _: &[N::Constant]) -> N {
        let [s0, f, l11, l21, l22, l31, l32, l33] = *p;
        let along = [l11 * h[0] + l21 * h[1] + l31 * h[2], l22 * h[1] + l32 * h[2], l33 * h[2]];
        let tissue = (-(along[0] * along[0] + along[1] * along[1] + along[2] * along[2])).exp();
        s0 * (tissue + f * (s0.lift(h[3]) - tissue))
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 8],
        h: &[N],
        _: &[N],
    ) -> (N, [N; 8]) {
        let [s0, f, l11, l21, l22, l31, l32, l33] = *p;
        let first = (l11 * h[0]).plus_product(l21, h[1]).plus_product(l31, h[2]);
        let second = (l22 * h[1]).plus_product(l32, h[2]);
        let third = l33 * h[2];
        let exponent = (first * first).plus_product(second, second).plus_product(third, third);
        let tissue = (-exponent).exp();
        let water = h[3] - tissue;
        let attenuation = tissue.plus_product(f, water);
        // Of the exponent, twice.
        let outer = s0 * (f - s0.constant(1.0)) * tissue * s0.constant(2.0);
        let (first, second, third) = (outer * first, outer * second, outer * third);
        let slopes = [
            attenuation,
            s0 * water,
            first * h[0],
            first * h[1],
            second * h[1],
            first * h[2],
            second * h[2],
            third * h[2],
        ];
        (s0 * attenuation, slopes)
    }
}

impl VoxelModel<8> for FreeWater {
    fn parameters(&self) -> [Parameter; 8] {
        let diagonal = |name| Parameter::new(name, 0.9, DIAGONAL[0], DIAGONAL[1]);
        let off = |name| Parameter::new(name, 0.0, -OFF_DIAGONAL, OFF_DIAGONAL);
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            Parameter::new("FWF", 0.1, 0.0, 1.0),
            diagonal("L11"),
            off("L21"),
            diagonal("L22"),
            off("L31"),
            off("L32"),
            diagonal("L33"),
        ]
    }

    fn covariates(&self, b: f64, dir_ras: [f64; 3], to: &mut Vec<f32>) {
        to.extend(covariates(b, dir_ras).map(|c| c as f32));
    }

    fn start(&self, _: &[f32], samples: &[f32], _: &[f32]) -> [f32; 8] {
        let (s0, f, tensor) = self.start.best(samples);
        parameters(s0, f, tensor)
    }

    fn specs(&self) -> Vec<MapSpec> {
        specs()
    }

    fn values(&self, p: &[f32; 8], _: &[f32], scale: f32, out: &mut [f32]) {
        let [s0, f, l11, l21, l22, l31, l32, l33] = *p;
        let tensor = [
            l11 * l11,
            l11 * l21,
            l11 * l31,
            l21 * l21 + l22 * l22,
            l21 * l31 + l22 * l32,
            l31 * l31 + l32 * l32 + l33 * l33,
        ];
        let deviator = Deviator::new(tensor);
        let (l, e) = deviator.eigen();
        let diffusivities = [deviator.mean, l[0], 0.5 * (l[1] + l[2])].map(|d| d * MM2_PER_S);
        out[0] = f;
        out[1] = deviator.fractional_anisotropy();
        out[2..5].copy_from_slice(&diffusivities);
        out[5] = s0 * scale;
        // What is not determined has no direction either.
        let is_known = deviator.mean.is_finite();
        out[6..9].copy_from_slice(&e[0].map(|c| if is_known { c } else { f32::NAN }));
        out[9..15].copy_from_slice(&tensor.map(|d| d * MM2_PER_S));
        if !is_known {
            out[1] = f32::NAN;
        }
    }

    fn parameters_of(&self, values: &[f32], _: &[f32], scale: f32) -> [f32; 8] {
        let tensor = std::array::from_fn(|k| values[9 + k] / MM2_PER_S);
        parameters(values[5] / scale, values[0], tensor)
    }
}

/// The parameters with this tensor, xx xy xz yy yz zz in µm²/ms.
fn parameters(s0: f32, f: f32, [xx, xy, xz, yy, yz, zz]: [f32; 6]) -> [f32; 8] {
    let root = |square: f32| square.max(0.0).sqrt().max(DIAGONAL[0] as f32);
    let l11 = root(xx);
    let (l21, l31) = (xy / l11, xz / l11);
    let l22 = root(yy - l21 * l21);
    let l32 = (yz - l21 * l31) / l22;
    [s0, f, l11, l21, l22, l31, l32, root(zz - l31 * l31 - l32 * l32)]
}

fn specs() -> Vec<MapSpec> {
    let share = |name: &'static str, about: &'static str| {
        MapSpec::scalar(name, "", about).within(Window::Fixed([0.0, 1.0]))
    };
    let diffusivity =
        |name: &'static str, about: &'static str| MapSpec::scalar(name, "mm^2/s", about);
    vec![
        share("FWF", "share of free water in the signal without weighting"),
        share("FA", "fractional anisotropy of the tissue, 0 to 1; NaN where there is none"),
        diffusivity("MD", "mean diffusivity of the tissue, mm²/s; NaN where there is none"),
        diffusivity("AD", "its axial diffusivity, the largest eigenvalue, mm²/s"),
        diffusivity("RD", "its radial diffusivity, the mean of the other two, mm²/s"),
        MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        MapSpec::of_kind(
            "V1",
            MapKind::Vector,
            3,
            "",
            "unit eigenvector of the tissue's largest eigenvalue, x y z in scanner RAS axes, sign \
             arbitrary; NaN where there is no tissue",
        ),
        MapSpec::of_kind(
            "tensor",
            MapKind::Tensor,
            6,
            "mm^2/s",
            "diffusion tensor of the tissue, xx xy xz yy yz zz in scanner RAS axes, mm²/s",
        ),
    ]
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(errors: bool) -> Vec<MapSpec> {
    curve::with_errors(specs(), errors)
}

/// The volumes of a fit with what starts share, where they determine the model.
fn prepared(
    gradients: &GradientTable,
    b_max_s_per_mm2: Option<f64>,
) -> Result<(Protocol, Start), CurveError> {
    let protocol = Protocol::new(gradients, b_max_s_per_mm2)?;
    let (n_b, n) = (protocol.count_full_shells(), protocol.volumes().len());
    let refused = |has| CurveError::Unsupported {
        model: "free-water elimination",
        needs: "3 different b-values, 0 or each along directions that do not lie in a plane, and 10 \
                volumes that determine a tensor: with one shell free water and tissue that diffuses fast \
                are the same",
        has,
        b_max_s_per_mm2,
    };
    if n_b < 3 || n < 10 {
        return Err(refused(format!("{n_b} such b-values in {n} volumes")));
    }
    let start =
        Start::new(&protocol).ok_or_else(|| refused("directions that do not".to_owned()))?;
    Ok((protocol, start))
}

/// Whether a gradient table determines the model.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, b_max_s_per_mm2: Option<f64>) -> Result<(), CurveError> {
    prepared(gradients, b_max_s_per_mm2).map(drop)
}

/// Fits the model to all volumes of each voxel: maps `FWF`, `FA`, `MD`, `AD`, `RD`, `S0`, `V1` (3),
/// `tensor` (6), `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; needed are 3 different b, which one shell and b = 0 are not.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &CurveOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let (protocol, start) = prepared(gradients, options.b_max_s_per_mm2)?;
    let sigma = noise_level(signals, mask, gradients, options, progress)?;
    let fit = Whole { model: FreeWater { start }, protocol, sigma, options: options.clone() };
    let job = Job { name: "fitting free water", inputs: signals, mask, progress };
    Ok(fit.run(&job, on)?)
}
