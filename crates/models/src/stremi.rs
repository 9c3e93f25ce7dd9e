//! The stretched-exponential model over all volumes (De Santis 2011; Palombo 2015, equation 4):
//! ln(S/S0) = -Σᵢ Aᵢ bᵢ^γᵢ along the three axes of the diffusion tensor, seven parameters.

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};

use crate::ProtocolError;
use crate::curve::{CurveError, CurveOptions, Protocol, VoxelModel, Whole, noise_level};
use crate::dti::{self, DtiMap, DtiOptions};
use crate::voxelwise::{Job, SelectedVolumes, Stacked};
use crate::{Fitted, curve};

/// How b projects on an axis e of the tensor, for a gradient along g.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projection {
    /// b (g·e)²: for γ = 1 the model is the tensor's, A its eigenvalues.
    #[default]
    Dti,
    /// b |g·e|, as published. It does not become the tensor's for γ = 1.
    Paper,
}

/// What a fit may be told.
#[derive(Clone, Debug)]
pub struct StremiOptions {
    /// What all such fits may be told; all b by default.
    pub curve: CurveOptions,
    /// The projection.
    pub projection: Projection,
    /// Largest b of the tensor fit that gives the axes, s/mm².
    pub axes_b_max_s_per_mm2: f64,
}

impl Default for StremiOptions {
    fn default() -> Self {
        Self {
            curve: CurveOptions::default(),
            projection: Projection::default(),
            axes_b_max_s_per_mm2: 1500.0,
        }
    }
}

/// S0 exp(-Σ Aᵢ bᵢ^γᵢ), parameters S0, A₁..₃, γ₁..₃. Covariates: b (ms/µm²) and the direction
/// (scanner RAS). Constants: the axes e₁, e₂, e₃ (scanner RAS), then λ₁..₃ (mm²/s), which serve
/// the start only.
#[derive(Clone, Copy, Debug, Default)]
pub struct StretchedTensor {
    /// How b projects on the axes.
    pub projection: Projection,
}

/// Stands for a projection of 0, whose logarithm does not exist (ms/µm²).
const LEAST_B: f64 = 1e-36;

impl StretchedTensor {
    /// ln bᵢ.
    #[inline(always)]
    fn ln_projected<C: Number<Constant = C>>(self, known: &[C], constants: &[C]) -> [C; 3] {
        let [b, x, y, z] = [known[0], known[1], known[2], known[3]];
        let mut out = [b; 3];
        for i in 0..3 {
            let e = [constants[3 * i], constants[3 * i + 1], constants[3 * i + 2]];
            let cos = x * e[0] + y * e[1] + z * e[2];
            let projected = match self.projection {
                Projection::Dti => b * (cos * cos),
                Projection::Paper => b * cos.abs(),
            };
            out[i] = projected.at_least(b.constant(LEAST_B)).ln();
        }
        out
    }
}

impl Model<7> for StretchedTensor {
    fn n_covariates(&self) -> usize {
        4
    }

    fn n_constants(&self) -> usize {
        12
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 7], known: &[N::Constant], axes: &[N::Constant]) -> N {
        let ln_b = self.ln_projected(known, axes);
        let exponent = p[1] * (p[4] * ln_b[0]).exp()
            + p[2] * (p[5] * ln_b[1]).exp()
            + p[3] * (p[6] * ln_b[2]).exp();
        p[0] * (-exponent).exp()
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 7],
        known: &[N],
        axes: &[N],
    ) -> (N, [N; 7]) {
        let ln_b = self.ln_projected(known, axes);
        let mut slope = *p;
        let mut exponent = p[0].constant(0.0);
        for i in 0..3 {
            let power = (p[4 + i] * ln_b[i]).exp();
            let term = p[1 + i] * power;
            exponent = exponent + term;
            slope[1 + i] = -power;
            slope[4 + i] = -term * ln_b[i];
        }
        let decay = (-exponent).exp();
        let signal = p[0] * decay;
        slope[0] = decay;
        for k in 1..7 {
            slope[k] = slope[k] * signal;
        }
        (signal, slope)
    }
}

impl VoxelModel<7> for StretchedTensor {
    fn parameters(&self) -> [Parameter; 7] {
        let a = |name| Parameter::new(name, 0.8, 0.0, 20.0);
        let gamma = |name| Parameter::new(name, 0.8, 0.1, 1.0);
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            a("A1"),
            a("A2"),
            a("A3"),
            gamma("gamma1"),
            gamma("gamma2"),
            gamma("gamma3"),
        ]
    }

    fn covariates(&self, b: f64, dir_ras: [f64; 3], to: &mut Vec<f32>) {
        to.push(b as f32);
        to.extend(dir_ras.map(|c| c as f32));
    }

    fn start(&self, _: &[f32], _: &[f32], constants: &[f32]) -> [f32; 7] {
        let a = |i: usize| (constants[9 + i] * 1e3).clamp(0.05, 10.0).powf(0.8);
        [1.0, a(0), a(1), a(2), 0.8, 0.8, 0.8]
    }

    fn specs(&self) -> Vec<MapSpec> {
        vec![
            MapSpec::of_kind(
                "gamma",
                MapKind::Scalar,
                3,
                "",
                "stretching exponents along the axes of the tensor, largest eigenvalue first; NaN where \
                 A is 0",
            ),
            MapSpec::of_kind(
                "A",
                MapKind::Scalar,
                3,
                "",
                "generalised diffusivities along the axes of the tensor, (10^-3 mm^2/s)^gamma: \
                 A^(1/gamma) is in 10^-3 mm²/s",
            ),
            MapSpec::scalar("Mgamma", "", "mean of the three exponents")
                .within(Window::Fixed([0.4, 1.0])),
            MapSpec::scalar(
                "Agamma",
                "",
                "anisotropy of the exponents, sqrt(3/2) |gamma - Mgamma| / |gamma|",
            )
            .within(Window::Fixed([0.0, 0.6])),
            MapSpec::scalar("gamma_parallel", "", "exponent along the first axis"),
            MapSpec::scalar("gamma_perpendicular", "", "mean exponent along the other two axes"),
            MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        ]
    }

    fn values(&self, p: &[f32; 7], _: &[f32], scale: f32, out: &mut [f32]) {
        let [s0, a1, a2, a3, g1, g2, g3] = *p;
        let mean = (g1 + g2 + g3) / 3.0;
        let spread = (g1 - mean).powi(2) + (g2 - mean).powi(2) + (g3 - mean).powi(2);
        let anisotropy = (1.5 * spread / (g1 * g1 + g2 * g2 + g3 * g3)).sqrt();
        let perpendicular = (g2 + g3) / 2.0;
        out.copy_from_slice(&[
            g1,
            g2,
            g3,
            a1,
            a2,
            a3,
            mean,
            anisotropy,
            g1,
            perpendicular,
            s0 * scale,
        ]);
    }

    fn parameters_of(&self, values: &[f32], _: &[f32], scale: f32) -> [f32; 7] {
        let [g1, g2, g3, a1, a2, a3] = std::array::from_fn(|k| values[k]);
        [values[10] / scale, a1, a2, a3, g1, g2, g3]
    }
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(errors: bool) -> Vec<MapSpec> {
    curve::whole_maps(&StretchedTensor::default(), errors)
}

/// The volumes of a fit, where they determine the exponents.
fn protocol(gradients: &GradientTable, options: &StremiOptions) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, options.curve.b_max_s_per_mm2)?;
    let n_b = protocol.count_full_shells();
    if n_b < 4 || protocol.volumes().len() < 8 {
        return Err(CurveError::Unsupported {
            model: "the stretched-exponential model",
            needs: "4 different b-values, 0 or each along directions that do not lie in a plane, and \
                    8 volumes",
            has: format!("{n_b} such b-values in {} volumes", protocol.volumes().len()),
            b_max_s_per_mm2: options.curve.b_max_s_per_mm2,
        });
    }
    Ok(protocol)
}

/// The volumes of the tensor fit that gives the axes, with their table.
fn of_axes(
    gradients: &GradientTable,
    options: &StremiOptions,
) -> Result<(Vec<usize>, GradientTable), CurveError> {
    let small = Protocol::new(gradients, Some(options.axes_b_max_s_per_mm2))?.volumes();
    let table = GradientTable {
        b_s_per_mm2: small.iter().map(|&v| gradients.b_s_per_mm2[v]).collect(),
        dirs_ras: small.iter().map(|&v| gradients.dirs_ras[v]).collect(),
        b0_threshold: gradients.b0_threshold,
    };
    Ok((small, table))
}

/// Whether a gradient table determines the model and its axes.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, options: &StremiOptions) -> Result<(), CurveError> {
    protocol(gradients, options)?;
    let (_, table) = of_axes(gradients, options)?;
    dti::Problem::new(&table, &DtiOptions::default())?;
    Ok(())
}

/// Fits the seven parameters to all volumes of each voxel, along the axes of a tensor fitted by
/// weighted least squares to the volumes of small b: maps `gamma` (3), `A` (3), `Mgamma`,
/// `Agamma`, `gamma_parallel`, `gamma_perpendicular`, `S0`, `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; the tensor must be determined by the volumes up to
/// [`StremiOptions::axes_b_max_s_per_mm2`], and 4 different b are needed in all.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &StremiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let protocol = protocol(gradients, options)?;
    let (small, table) = of_axes(gradients, options)?;
    let maps = [DtiMap::V1, DtiMap::V2, DtiMap::V3, DtiMap::L1, DtiMap::L2, DtiMap::L3];
    let tensor = DtiOptions { maps: maps.to_vec(), ..DtiOptions::default() };
    let few = SelectedVolumes { source: signals, volumes: small };
    let axes = dti::fit(&few, mask, &table, None, &tensor, on, progress)?;
    let sigma = noise_level(signals, mask, gradients, &options.curve, progress)?;

    let mut inputs: Vec<&dyn SignalSource> = vec![signals];
    inputs.extend(axes.maps.iter().take(maps.len()).map(|map| &map.image as &dyn SignalSource));
    let model = StretchedTensor { projection: options.projection };
    let fit = Whole { model, protocol, sigma, options: options.curve.clone() };
    let inputs = Stacked(inputs);
    let name = "fitting the stretched-exponential model";
    Ok(fit.run(&Job { name, inputs: &inputs, mask, progress }, on)?)
}
