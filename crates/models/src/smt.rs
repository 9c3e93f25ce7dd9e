//! The spherical mean technique: the mean signal of a shell over all directions does not depend on how fibres
//! lie, so that what a single piece of tissue does can be seen through dispersion and crossings.
//!
//! One compartment (Kaden, Kruggel, Alexander 2016): a microscopic tensor that is the same about an axis. Two
//! (Kaden et al. 2016): sticks, and water hindered by them. The mean of exp(-b (λ⊥ + (λ∥ - λ⊥) t²)) over t
//! from 0 to 1 is a sum over twelve nodes: √π erf(√z) / (2√z) without its difference of two small numbers at small z.

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Model, Number, Parameter};
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Window};

use crate::curve::{
    self, CurveError, CurveOptions, MM2_PER_S, Protocol, VoxelModel, Whole, noise_level,
};
use crate::voxelwise::Job;
use crate::{Fitted, ProtocolError};

/// Squares of the nodes of Gauss and Legendre's rule of 12 points on [0, 1], and their weights: within 2e-8 of
/// the mean up to an exponent of 36.
const NODES: [(f64, f64); 12] = [
    (0.009_219_682_876_640_378, 0.023_587_668_193_255_706),
    (0.047_941_371_814_762_6, 0.053_469_662_997_659_53),
    (0.115_048_662_902_847_65, 0.080_039_164_271_673_21),
    (0.206_341_022_856_691_26, 0.101_583_713_361_532_87),
    (0.316_084_250_500_909_94, 0.116_746_268_269_177_3),
    (0.437_383_295_744_265_54, 0.124_573_522_906_701_34),
    (0.562_616_704_255_734_4, 0.124_573_522_906_701_34),
    (0.683_915_749_499_090_1, 0.116_746_268_269_177_3),
    (0.793_658_977_143_308_7, 0.101_583_713_361_532_87),
    (0.884_951_337_097_152_3, 0.080_039_164_271_673_21),
    (0.952_058_628_185_237_5, 0.053_469_662_997_659_53),
    (0.990_780_317_123_359_6, 0.023_587_668_193_255_706),
];
/// The largest b of which that holds, ms/µm².
const LARGEST_B: f64 = 12.0;
/// Largest diffusivity: that of free water at body temperature, µm²/ms.
const FREE: f64 = 3.05;

/// What the mean signal is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compartments {
    /// One, whose microscopic tensor has an axial and a radial diffusivity.
    #[default]
    One,
    /// Sticks and hindered water beside them, of the same axial diffusivity λ; the radial one outside is
    /// (1 - v) λ, v the share of the sticks.
    Two,
}

/// What a fit may be told.
#[derive(Clone, Debug, Default)]
pub struct SmtOptions {
    /// What all such fits may be told.
    pub curve: CurveOptions,
    /// What the mean signal is taken for.
    pub compartments: Compartments,
}

/// The mean signal. Parameters S0, λ (µm²/ms), and of one compartment r = λ⊥/λ∥, of two the share v of sticks;
/// the covariate is b (ms/µm²).
struct SphericalMean {
    compartments: Compartments,
    /// Where fits may start: λ and the share, with the signal of S0 = 1 in each shell.
    starts: Vec<([f64; 2], Vec<f64>)>,
}

impl SphericalMean {
    /// For fits of shells of these b, ms/µm².
    fn new(compartments: Compartments, b: &[f64]) -> Self {
        let mut model = Self { compartments, starts: Vec::new() };
        for d in [0.5, 1.1, 1.7, 2.3, 2.9] {
            for share in [0.1, 0.35, 0.6, 0.85] {
                let shape = b.iter().map(|b| model.signal(&[1.0, d, share], &[*b], &[]));
                let shape = shape.collect();
                model.starts.push(([d, share], shape));
            }
        }
        model
    }
}

impl Model<3> for SphericalMean {
    fn n_covariates(&self) -> usize {
        1
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 3], b: &[N::Constant], _: &[N::Constant]) -> N {
        let [s0, d, share] = *p;
        let zero = s0.lift(s0.constant(0.0));
        let one = s0.lift(s0.constant(1.0));
        let (mut inside, mut outside) = (zero, zero);
        for (node, weight) in NODES {
            let square = node * node;
            let weight = s0.constant(weight);
            match self.compartments {
                Compartments::One => {
                    // λ⊥ + (λ∥ - λ⊥) t².
                    let slope = share * s0.constant(1.0 - square) + s0.constant(square);
                    inside = inside + (-(d * b[0] * slope)).exp() * weight;
                }
                Compartments::Two => {
                    let slope = one - share * s0.constant(1.0 - square);
                    inside = inside + (-(d * b[0] * s0.constant(square))).exp() * weight;
                    outside = outside + (-(d * b[0] * slope)).exp() * weight;
                }
            }
        }
        match self.compartments {
            Compartments::One => s0 * inside,
            Compartments::Two => s0 * (outside + share * (inside - outside)),
        }
    }
}

impl VoxelModel<3> for SphericalMean {
    const OF_SHELLS: bool = true;

    fn parameters(&self) -> [Parameter; 3] {
        let share = match self.compartments {
            Compartments::One => "ratio",
            Compartments::Two => "intra",
        };
        [
            Parameter::new("S0", 1.0, 0.0, 100.0),
            Parameter::new("D", 1.7, 0.01, FREE),
            Parameter::new(share, 0.4, 0.0, 1.0),
        ]
    }

    fn covariates(&self, b: f64, _: [f64; 3], to: &mut Vec<f32>) {
        to.push(b as f32);
    }

    fn start(&self, _: &[f32], samples: &[f32], _: &[f32]) -> [f32; 3] {
        let mut best = (0.0, [1.0, 1.7, 0.4]);
        for ([d, share], shape) in &self.starts {
            let (mut product, mut square) = (0.0, 0.0);
            for (shape, sample) in shape.iter().zip(samples) {
                product += shape * f64::from(*sample);
                square += shape * shape;
            }
            // What the best multiple takes off the sum of squares.
            if product > 0.0 && product * product / square > best.0 {
                best = (product * product / square, [product / square, *d, *share]);
            }
        }
        best.1.map(|value| value as f32)
    }

    fn specs(&self) -> Vec<MapSpec> {
        specs(self.compartments)
    }

    fn values(&self, p: &[f32; 3], _: &[f32], scale: f32, out: &mut [f32]) {
        let [s0, d, share] = *p;
        let along = d * MM2_PER_S;
        match self.compartments {
            Compartments::One => {
                let across = share * along;
                // FA of eigenvalues 1, r, r.
                let anisotropy = (1.0 - share) / (1.0 + 2.0 * share * share).sqrt();
                let mean = (along + 2.0 * across) / 3.0;
                out.copy_from_slice(&[along, across, mean, anisotropy, s0 * scale]);
            }
            Compartments::Two => {
                let across = (1.0 - share) * along;
                let mean = (along + 2.0 * across) / 3.0;
                out.copy_from_slice(&[share, along, across, mean, s0 * scale]);
            }
        }
    }

    fn parameters_of(&self, values: &[f32], _: &[f32], scale: f32) -> [f32; 3] {
        let s0 = values[4] / scale;
        match self.compartments {
            Compartments::One => [s0, values[0] / MM2_PER_S, values[1] / values[0]],
            Compartments::Two => [s0, values[1] / MM2_PER_S, values[0]],
        }
    }
}

fn specs(compartments: Compartments) -> Vec<MapSpec> {
    let diffusivity =
        |name: &'static str, about: &'static str| MapSpec::scalar(name, "mm^2/s", about);
    let share = |name: &'static str, about: &'static str| {
        MapSpec::scalar(name, "", about).within(Window::Fixed([0.0, 1.0]))
    };
    let s0 = MapSpec::scalar("S0", "arbitrary", "signal without diffusion weighting, input units");
    match compartments {
        Compartments::One => vec![
            diffusivity("long", "axial diffusivity of the microscopic tensor, mm²/s"),
            diffusivity("trans", "its radial diffusivity, mm²/s"),
            diffusivity("MD", "its mean diffusivity, mm²/s"),
            share("uFA", "its fractional anisotropy, 0 to 1"),
            s0,
        ],
        Compartments::Two => vec![
            share("intra", "share of the signal that is in sticks"),
            diffusivity("diff", "axial diffusivity of both compartments, mm²/s"),
            diffusivity("extratrans", "radial diffusivity outside the sticks, mm²/s"),
            diffusivity("extramd", "mean diffusivity outside the sticks, mm²/s"),
            s0,
        ],
    }
}

/// The maps of a fit, in order; `errors` as in the options.
pub fn maps(compartments: Compartments, errors: bool) -> Vec<MapSpec> {
    curve::with_errors(specs(compartments), errors)
}

/// The volumes of a fit, where they determine the model.
fn protocol(
    gradients: &GradientTable,
    b_max_s_per_mm2: Option<f64>,
) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, b_max_s_per_mm2)?;
    let n_b = protocol.count_full_shells();
    let refused = |needs, has| CurveError::Unsupported {
        model: "the spherical mean technique",
        needs,
        has,
        b_max_s_per_mm2,
    };
    if n_b < 3 {
        return Err(refused(
            "3 different b-values, 0 or each along directions all over space: of one shell there is \
             one mean, which does not tell two diffusivities",
            format!("{n_b} such b-values"),
        ));
    }
    let largest = protocol.weighted.iter().map(|&v| protocol.b[v]).fold(0.0, f64::max);
    if largest > LARGEST_B {
        return Err(refused(
            "b of at most 12,000 s/mm² (--bmax chooses)",
            format!("{:.0}", 1e3 * largest),
        ));
    }
    Ok(protocol)
}

/// Whether a gradient table determines the model.
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check(gradients: &GradientTable, b_max_s_per_mm2: Option<f64>) -> Result<(), CurveError> {
    protocol(gradients, b_max_s_per_mm2).map(drop)
}

/// Fits the model to the mean signals of the shells: maps `long`, `trans`, `MD`, `uFA`, `S0` of one compartment,
/// `intra`, `diff`, `extratrans`, `extramd`, `S0` of two; then `residual`, `status`.
///
/// # Errors
/// [`CurveError`]; needed are 3 different b, which one shell and b = 0 are not.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &SmtOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let SmtOptions { curve, compartments } = options;
    let protocol = protocol(gradients, curve.b_max_s_per_mm2)?;
    let sigma = noise_level(signals, mask, gradients, curve, progress)?;
    let mean =
        |shell: Vec<usize>| shell.iter().map(|&v| protocol.b[v]).sum::<f64>() / shell.len() as f64;
    let b: Vec<f64> = protocol.shells().into_iter().map(mean).collect();
    let model = SphericalMean::new(*compartments, &b);
    let fit = Whole { model, protocol, sigma, options: curve.clone() };
    let job = Job { name: "fitting spherical means", inputs: signals, mask, progress };
    Ok(fit.run(&job, on)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean over directions by the trapezoidal rule in t with Richardson's correction (Simpson's rule).
    fn mean(of: impl Fn(f64) -> f64) -> f64 {
        let n = 20_000;
        let term = |i: usize| {
            let weight = if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
            weight * of(i as f64 / n as f64)
        };
        (0..=n).map(term).sum::<f64>() / (3.0 * n as f64)
    }

    #[test]
    fn the_signal_is_the_mean_over_all_directions() {
        for b in [0.0, 0.3, 1.0, 3.0, 6.0, 12.0] {
            for (d, share) in [(0.3, 0.5), (1.7, 0.0), (1.7, 0.4), (3.05, 0.0), (3.05, 1.0)] {
                let one = SphericalMean::new(Compartments::One, &[]);
                let tensor = mean(|t| f64::exp(-b * d * (share + (1.0 - share) * t * t)));
                assert!((one.signal(&[1.0, d, share], &[b], &[]) - tensor).abs() < 2e-8);
                let two = SphericalMean::new(Compartments::Two, &[]);
                let across = (1.0 - share) * d;
                let sticks = mean(|t| f64::exp(-b * d * t * t));
                let hindered = mean(|t| f64::exp(-b * (across + (d - across) * t * t)));
                let both = share * sticks + (1.0 - share) * hindered;
                assert!((two.signal(&[1.0, d, share], &[b], &[]) - both).abs() < 2e-8);
            }
        }
    }
}
