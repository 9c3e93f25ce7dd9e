//! Axially symmetric kurtosis (Hansen, Shemesh, Jespersen 2016; Hansen et al. 2017): diffusion and kurtosis tensors
//! that are round about one axis, so that five numbers and the axis are all of them.
//!
//! With c the cosine between gradient and axis D = D⊥ + (D∥ - D⊥) c², and W is the polynomial of c² whose value
//! along the axis is W∥, across it W⊥, and whose mean over the sphere is W̄. ln S = ln S0 - b D + b² D̄² W / 6 is
//! fitted to the signals with the axis, from least squares of the logarithm about that of the tensor.

#[cfg(test)]
mod tests;

use fimbria_compute::dense::lu;
use fimbria_compute::dense::vec3::dot;
use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};

use crate::curve::{
    self, CurveError, CurveOptions, MM2_PER_S, Protocol, TURNED, VoxelModel, Whole, noise_level,
    of_axis, squared_cosine, turned_axis,
};
use crate::dti::{self, DtiMap, DtiOptions};
use crate::voxelwise::{Job, SelectedVolumes, Stacked};
use crate::{Fitted, ProtocolError};

/// Volumes of the tensor whose axis the fit starts from: b up to this, s/mm².
const AXES_B_MAX: f64 = 1500.0;
/// Least and largest diffusivity, µm²/ms.
const DIFFUSIVITY: [f64; 2] = [0.01, 4.0];
/// Kurtosis divides by squared diffusivities: at or below this, µm²/ms, it is that of noise.
const LEAST_DIVISOR: f32 = 2.0 * DIFFUSIVITY[0] as f32;
/// Largest D̄² W, µm⁴/ms²: that of a kurtosis of 3 at a mean diffusivity of 1.6.
const LARGEST_BEND: f64 = 8.0;
/// Tangents of the axis are at most this: 79° from that of the tensor.
const LARGEST_TANGENT: f64 = 5.0;
/// Samples below this, of the signal without weighting, are raised to it, so that they have a logarithm.
const LEAST_SAMPLE: f64 = 1e-3;
/// Unknowns of the logarithm about a known axis: ln S0, D⊥, D∥, and D̄² times W⊥, W∥, W̄.
const UNKNOWNS: usize = 6;

/// S0 exp(-b D + b² V / 6), V = D̄² W; parameters S0, D∥, D⊥, V∥, V⊥, V̄, t₁, t₂: the axis is e₁ + t₁e₂ + t₂e₃, of
/// length 1. Covariates b and the direction; constants the axes e₁, e₂, e₃, which are orthogonal.
struct AxiallySymmetric {
    /// b and direction of each sample.
    samples: Vec<(f64, [f64; 3])>,
}

/// What W∥, W⊥ and W̄ are multiplied by where the squared cosine is `square`.
#[inline(always)]
fn shares<N: Number>(square: N) -> [N; 3] {
    let fourth = square * square;
    let one = square.constant(1.0);
    [
        fourth * square.constant(2.5) - square * square.constant(1.5),
        fourth * square.constant(5.0) - square * square.constant(6.0) + one,
        (square - fourth) * square.constant(7.5),
    ]
}

/// Their derivatives by the squared cosine.
#[inline(always)]
fn slopes_of_shares<N: Number<Constant = N>>(square: N) -> [N; 3] {
    [
        square * square.constant(5.0) - square.constant(1.5),
        square * square.constant(10.0) - square.constant(6.0),
        square.constant(7.5) - square * square.constant(15.0),
    ]
}

impl Model<8> for AxiallySymmetric {
    fn n_covariates(&self) -> usize {
        4
    }

    fn n_constants(&self) -> usize {
        9
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 8], known: &[N::Constant], axes: &[N::Constant]) -> N {
        let [s0, along, across, v_along, v_across, v_mean, t1, t2] = *p;
        let (b, g) = (known[0], &known[1..]);
        let cosine = t1 * curve::along(g, &axes[3..])
            + t2 * curve::along(g, &axes[6..])
            + curve::along(g, axes);
        let square = cosine * cosine / (t1 * t1 + t2 * t2 + s0.constant(1.0));
        let [of_along, of_across, of_mean] = shares(square);
        let bend = of_along * v_along + of_across * v_across + of_mean * v_mean;
        let diffusivity = across + (along - across) * square;
        s0 * ((bend * (b * s0.constant(1.0 / 6.0)) - diffusivity) * b).exp()
    }

    fn n_prepared(&self) -> usize {
        TURNED
    }

    #[inline(always)]
    fn prepare<N: Number<Constant = N>>(&self, p: &[N; 8], axes: &[N], prepared: &mut [N]) {
        turned_axis([p[6], p[7]], axes, prepared);
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 8],
        known: &[N],
        constants: &[N],
    ) -> (N, [N; 8]) {
        let [s0, along, across, v_along, v_across, v_mean, _, _] = *p;
        let (one, b) = (s0.constant(1.0), known[0]);
        let (square, [by_t1, by_t2]) =
            squared_cosine(&known[1..4], &constants[self.n_constants()..]);
        let [of_along, of_across, of_mean] = shares(square);
        let bend = of_along * v_along + of_across * v_across + of_mean * v_mean;
        let diffusivity = across + (along - across) * square;
        let sixth = b * s0.constant(1.0 / 6.0);
        let decay = ((bend * sixth - diffusivity) * b).exp();
        let signal = s0 * decay;
        let by_exponent = signal * b;
        let [by_along, by_across, by_mean] = slopes_of_shares(square);
        let by_square = by_along * v_along + by_across * v_across + by_mean * v_mean;
        let by_square = by_exponent * (by_square * sixth - (along - across));
        let by_bend = by_exponent * sixth;
        let slopes = [
            decay,
            -by_exponent * square,
            by_exponent * (square - one),
            by_bend * of_along,
            by_bend * of_across,
            by_bend * of_mean,
            by_square * by_t1,
            by_square * by_t2,
        ];
        (signal, slopes)
    }
}

/// The axis that is `k`th of a frame.
fn axis(frame: &[f32], k: usize) -> [f64; 3] {
    std::array::from_fn(|i| f64::from(frame[3 * k + i]))
}

impl AxiallySymmetric {
    /// The unknowns about an axis by least squares of the logarithm, weighted by the squared signal; `None` where
    /// the directions do not determine them.
    fn about(&self, axis: [f64; 3], signals: &[f32]) -> Option<[f64; UNKNOWNS]> {
        let (mut normal, mut right) = ([[0.0; UNKNOWNS]; UNKNOWNS], [0.0; UNKNOWNS]);
        for (&(b, g), &signal) in self.samples.iter().zip(signals) {
            let signal = f64::from(signal).max(LEAST_SAMPLE);
            let square = dot(axis, g).powi(2);
            let [of_along, of_across, of_mean] = shares(square).map(|share| share * b * b / 6.0);
            let row = [1.0, -b * square, -b * (1.0 - square), of_along, of_across, of_mean];
            let weight = signal * signal;
            for i in 0..UNKNOWNS {
                right[i] += weight * row[i] * signal.ln();
                for j in 0..UNKNOWNS {
                    normal[i][j] += weight * row[i] * row[j];
                }
            }
        }
        // Along directions that hardly differ from each other the matrix is singular but for rounding.
        for (i, row) in normal.iter_mut().enumerate() {
            row[i] *= 1.0 + 1e-9;
        }
        lu::solve(normal.as_flattened_mut(), &mut right).then_some(right)
    }
}

impl VoxelModel<8> for AxiallySymmetric {
    fn parameters(&self) -> [Parameter; 8] {
        let diffusivity = |name| Parameter::new(name, 1.0, DIFFUSIVITY[0], DIFFUSIVITY[1]);
        let bend = |name| Parameter::new(name, 0.5, 0.0, LARGEST_BEND);
        let tangent = |name| Parameter::new(name, 0.0, -LARGEST_TANGENT, LARGEST_TANGENT);
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            diffusivity("AD"),
            diffusivity("RD"),
            bend("Vpar"),
            bend("Vperp"),
            bend("Vmean"),
            tangent("t1"),
            tangent("t2"),
        ]
    }

    fn covariates(&self, b: f64, dir_ras: [f64; 3], to: &mut Vec<f32>) {
        to.extend([b, dir_ras[0], dir_ras[1], dir_ras[2]].map(|c| c as f32));
    }

    fn start(&self, _: &[f32], samples: &[f32], frame: &[f32]) -> [f32; 8] {
        let usual = [0.0, 0.5, 1.0, 0.5, 0.5, 0.5];
        let [ln_s0, along, across, v_along, v_across, v_mean] =
            self.about(axis(frame, 0), samples).unwrap_or(usual);
        let bend = |v: f64| v.clamp(0.02, 0.5 * LARGEST_BEND);
        let diffusivity = |d: f64| d.clamp(5.0 * DIFFUSIVITY[0], 0.9 * DIFFUSIVITY[1]);
        let [along, across] = [along, across].map(diffusivity);
        let [v_along, v_across, v_mean] = [v_along, v_across, v_mean].map(bend);
        [ln_s0.min(4.0).exp(), along, across, v_along, v_across, v_mean, 0.0, 0.0].map(|v| v as f32)
    }

    fn specs(&self) -> Vec<MapSpec> {
        specs()
    }

    fn values(&self, p: &[f32; 8], frame: &[f32], scale: f32, out: &mut [f32]) {
        let [s0, along, across, v_along, v_across, v_mean, t1, t2] = *p;
        let mean = (along + 2.0 * across) / 3.0;
        let relative = |v: f32, d: f32| if d > LEAST_DIVISOR { v / (d * d) } else { f32::NAN };
        let w = [v_along, v_across, v_mean].map(|v| relative(v, mean));
        out[..3].copy_from_slice(&[mean, along, across].map(|d| d * MM2_PER_S));
        out[3..6].copy_from_slice(&w);
        out[6] = match along.min(across) > LEAST_DIVISOR {
            true => {
                mean_kurtosis([along, across], [v_along, v_across, v_mean].map(f64::from)) as f32
            }
            false => f32::NAN,
        };
        out[7] = relative(v_along, along);
        out[8] = relative(v_across, across);
        out[9] = s0 * scale;
        let length = (1.0 + t1 * t1 + t2 * t2).sqrt();
        for (i, value) in out[10..13].iter_mut().enumerate() {
            *value = (frame[i] + t1 * frame[3 + i] + t2 * frame[6 + i]) / length;
        }
    }

    fn parameters_of(&self, values: &[f32], frame: &[f32], scale: f32) -> [f32; 8] {
        let direction = axis(&values[10..], 0);
        let along = dot(direction, axis(frame, 0));
        let tangent = |k: usize| (dot(direction, axis(frame, k)) / along) as f32;
        let [mean, d_along, d_across] = std::array::from_fn(|k| values[k] / MM2_PER_S);
        let bend = |k: usize| values[k] * mean * mean;
        let [t1, t2] = [tangent(1), tangent(2)];
        [values[9] / scale, d_along, d_across, bend(3), bend(4), bend(5), t1, t2]
    }
}

/// The mean over the sphere of V(n) / D(n)², of D∥, D⊥ (µm²/ms) and V∥, V⊥, V̄: in closed form, with
/// J = ∫ dc / (D⊥ + Δ c²) over c from 0 to 1, Δ = D∥ - D⊥.
fn mean_kurtosis([along, across]: [f32; 2], [v_along, v_across, v_mean]: [f64; 3]) -> f64 {
    let (a, d) = (f64::from(across), f64::from(along) - f64::from(across));
    // V = V⊥ + B c² + C c⁴.
    let fourth = 2.5 * v_along + 5.0 * v_across - 7.5 * v_mean;
    let second = v_along - v_across - fourth;
    let e = d / a;
    // ∫ c^(2k) / (1 + e c²)² dc.
    let integrals = if e.abs() < 0.05 {
        // Σ (n + 1) (-e)ⁿ / (2n + 2k + 1): beyond ten terms below 1e-12.
        [0, 1, 2].map(|k| {
            let term = |n: i32| f64::from(n + 1) * (-e).powi(n) / f64::from(2 * (n + k) + 1);
            (0..10).map(term).sum::<f64>()
        })
    } else {
        let root = e.abs().sqrt();
        let j = if e > 0.0 { root.atan() / root } else { root.atanh() / root };
        let none = 0.5 * (1.0 / (1.0 + e) + j);
        [none, (j - 1.0 / (1.0 + e)) / (2.0 * e), (1.0 - 2.0 * j + none) / (e * e)]
    };
    (v_across * integrals[0] + second * integrals[1] + fourth * integrals[2]) / (a * a)
}

fn specs() -> Vec<MapSpec> {
    let diffusivity =
        |name: &'static str, about: &'static str| MapSpec::scalar(name, "mm^2/s", about);
    let kurtosis = |name: &'static str, about: &'static str| {
        MapSpec::scalar(name, "", about).within(Window::Fixed([0.0, 2.0]))
    };
    vec![
        diffusivity("MD", "mean diffusivity, a third of AD and two of RD, mm²/s"),
        diffusivity("AD", "diffusivity along the axis, mm²/s"),
        diffusivity("RD", "diffusivity across the axis, mm²/s"),
        kurtosis("Wpar", "kurtosis tensor along the axis, W∥"),
        kurtosis("Wperp", "kurtosis tensor across the axis, W⊥"),
        kurtosis("MKT", "mean of the kurtosis tensor over the sphere"),
        kurtosis("MK", "mean over the sphere of the kurtosis MD² W(n) / D(n)²"),
        kurtosis("AK", "kurtosis along the axis, MD² W∥ / AD²"),
        kurtosis("RK", "kurtosis across the axis, MD² W⊥ / RD²"),
        MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units"),
        MapSpec::of_kind(
            "direction",
            MapKind::Vector,
            3,
            "",
            "unit vector, x y z in scanner RAS axes: the axis, sign arbitrary",
        ),
    ]
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(errors: bool) -> Vec<MapSpec> {
    curve::with_errors(specs(), errors)
}

/// The volumes of a fit, where they determine the model.
fn protocol(gradients: &GradientTable, b_max: Option<f64>) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, b_max)?;
    let (n_b, n) = (protocol.count_full_shells(), protocol.volumes().len());
    if n_b < 3 || n < 10 {
        return Err(CurveError::Unsupported {
            model: "axially symmetric kurtosis",
            needs: "3 different b-values, 0 or each along directions that do not lie in a plane, and 10 \
                    volumes",
            has: format!("{n_b} such b-values in {n} volumes"),
            b_max_s_per_mm2: b_max,
        });
    }
    Ok(protocol)
}

/// Whether a gradient table determines the model.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, b_max_s_per_mm2: Option<f64>) -> Result<(), CurveError> {
    of_axis(gradients, &protocol(gradients, b_max_s_per_mm2)?, AXES_B_MAX).map(drop)
}

/// Fits the model to all volumes of each voxel: maps `MD`, `AD`, `RD`, `Wpar`, `Wperp`, `MKT`, `MK`, `AK`, `RK`,
/// `S0`, `direction` (3), `residual`, `status`. Kurtoses that divide by next to no diffusivity are NaN, with status
/// [`Undefined`](fimbria_image::Status::Undefined).
///
/// # Errors
/// [`CurveError`]; needed are 3 different b, 0 may be one, and directions that determine a tensor.
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
    let (volumes, table) = of_axis(gradients, &protocol, AXES_B_MAX)?;
    let frame =
        DtiOptions { maps: vec![DtiMap::V1, DtiMap::V2, DtiMap::V3], ..DtiOptions::default() };
    let few = SelectedVolumes { source: signals, volumes };
    let axes = dti::fit(&few, mask, &table, None, &frame, on, progress)?;
    let sigma = noise_level(signals, mask, gradients, options, progress)?;

    let mut inputs: Vec<&dyn SignalSource> = vec![signals];
    inputs.extend(axes.maps.iter().take(3).map(|map| &map.image as &dyn SignalSource));
    let inputs = Stacked(inputs);
    let samples = protocol.volumes().into_iter().map(|v| (protocol.b[v], protocol.dirs_ras[v]));
    let model = AxiallySymmetric { samples: samples.collect() };
    let fit = Whole { model, protocol, sigma, options: options.clone() };
    let job = Job { name: "fitting symmetric kurtosis", inputs: &inputs, mask, progress };
    Ok(fit.run(&job, on)?)
}
