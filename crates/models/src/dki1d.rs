//! Kurtosis along each gradient direction, with a noise floor (Palombo 2015, equation 3):
//! S/S0 = √(exp(-bD + b²A)² + η²), A = D² K / 6, MK the mean of K over directions.

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::lm::{Likelihood, Model, Number, Parameter};
use fimbria_image::{GradientTable, MapKind, MapSpec, Mask, SignalSource, Window};

use crate::ProtocolError;
use crate::curve::{
    CurveError, CurveOptions, DirectionModel, Directional, Floor, MM2_PER_S, Protocol, level,
    say_level,
};
use crate::noise::NoiseError;
use crate::voxelwise::Job;
use crate::{Fitted, curve, noise};

/// Largest b of the paper's fits, s/mm²: beyond it the expansion does not hold.
pub const B_MAX_S_PER_MM2: f64 = 3000.0;
/// Kurtosis of one direction enters the mean no lower and no higher than this: -3/7 is that of
/// water confined to a sphere, 10 what packages take for the largest credible.
pub const CREDIBLE_KURTOSIS: [f32; 2] = [-3.0 / 7.0, 10.0];
/// Different b, with 0, that a direction must have.
pub const LEAST_B: usize = 3;

/// Where the noise floor η comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Eta {
    /// σ/S0: biases D and K least.
    #[default]
    Sigma,
    /// √2 σ/S0, for which S² + 2σ² is the mean square of a magnitude.
    RootMeanSquare,
    /// This, relative to S0, in every voxel.
    Fixed(f64),
    /// Fitted in every direction, 0 to 0.5.
    Fit,
}

/// What a fit may be told.
#[derive(Clone, Debug)]
pub struct Dki1dOptions {
    /// What all such fits may be told; b at most 3000 s/mm² by default. The noise floor is part of
    /// the model: the likelihood is Gaussian whatever this says.
    pub curve: CurveOptions,
    /// The noise floor.
    pub eta: Eta,
}

impl Default for Dki1dOptions {
    fn default() -> Self {
        let b_max_s_per_mm2 = Some(B_MAX_S_PER_MM2);
        Self { curve: CurveOptions { b_max_s_per_mm2, ..CurveOptions::default() }, eta: Eta::Sigma }
    }
}

/// √((S0 exp(-bD + b²A))² + η²), parameters S0, D (µm²/ms), A; the covariate is b (ms/µm²), the
/// constant η in units of the samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kurtosis;

/// The same with S0 η for the floor and η² as fourth parameter (by η itself the signal does not
/// change at η = 0, where a fit would stay).
#[derive(Clone, Copy, Debug, Default)]
pub struct KurtosisWithFloor;

/// Samples of a direction whose residuals tell the noise: three more than parameters.
const SAMPLES_FOR_NOISE: usize = 6;
/// Where the fit of η starts: a signal-to-noise ratio of 20.
const START_ETA_SQUARED: f64 = 0.0025;
/// Keeps the quotient finite where signal and floor are zero.
const TINY: f64 = 1e-30;

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
        let pure = s0 * ((a * b[0] - d) * b[0]).exp();
        (pure * pure + eta[0] * eta[0]).sqrt()
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
        let pure = s0 * decay;
        let signal = (eta[0] * eta[0]).plus_product(pure, pure).sqrt();
        let share = pure / signal.at_least(signal.constant(TINY));
        let by_d = -pure * b * share;
        (signal, [decay * share, by_d, -by_d * b])
    }
}

impl Model<4> for KurtosisWithFloor {
    fn n_covariates(&self) -> usize {
        1
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 4], b: &[N::Constant], _: &[N::Constant]) -> N {
        let [s0, d, a, eta_squared] = *p;
        let pure = ((a * b[0] - d) * b[0]).exp();
        s0 * (eta_squared + pure * pure).sqrt()
    }
}

/// Bounds, for samples divided by the signal without weighting.
fn parameters() -> [Parameter; 3] {
    [
        Parameter::new("S0", 1.0, 0.0, 100.0),
        Parameter::new("D", 1.0, 0.0, 20.0),
        Parameter::new("A", 0.1, -5.0, 20.0),
    ]
}

/// From one loss of signal -b D + b² A with K = 0.8, or less where the signal would rise again
/// below `b_most`: from where it explodes, a fit inherits a scale that hides its parameters.
fn start(b: f32, log_loss: f32, b_most: f32) -> [f32; 3] {
    // b D (1 - b D K / 6) = loss, to second order.
    let d = log_loss * (1.0 + 0.133 * log_loss.min(2.0)) / b;
    // The signal turns at b = 3 / (D K).
    let kurtosis = f32::min(0.8, 1.5 / (d * b_most));
    [1.0, d, d * d * kurtosis / 6.0]
}

/// D in mm²/s and K.
fn quantities(d: f32, a: f32) -> [f32; 2] {
    // Directions with D near 0 are not asked for K.
    [d * MM2_PER_S, 6.0 * a / (d * d)]
}

/// Within [`CREDIBLE_KURTOSIS`].
fn is_credible(k: f32) -> bool {
    (CREDIBLE_KURTOSIS[0]..=CREDIBLE_KURTOSIS[1]).contains(&k)
}

/// The other way round, where D and K are credible.
fn parameters_of([d, k]: [f32; 2], s0: f32) -> Option<[f32; 3]> {
    let credible = is_credible(k);
    let d = d / MM2_PER_S;
    (d > 0.0 && s0 > 0.0 && credible).then_some([s0, d, d * d * k / 6.0])
}

fn for_mean([d, k]: [f32; 2]) -> [f32; 2] {
    [d, k.clamp(CREDIBLE_KURTOSIS[0], CREDIBLE_KURTOSIS[1])]
}

fn specs(n: usize) -> [MapSpec; 4] {
    [
        MapSpec::of_kind(
            "D",
            MapKind::Scalar,
            n,
            "mm^2/s",
            "apparent diffusivity, mm²/s, one volume per direction of directions.txt",
        ),
        MapSpec::of_kind(
            "K",
            MapKind::Scalar,
            n,
            "",
            "apparent kurtosis, one volume per direction of directions.txt; 0 where the signal \
             loses less than 1 %",
        ),
        MapSpec::scalar("MD", "mm^2/s", "mean of D over the directions that converged, mm²/s"),
        MapSpec::scalar(
            "MK",
            "",
            "mean of K over the directions that converged, each limited to -3/7..10; NaN where none \
             tells it",
        )
        .within(Window::Fixed([0.0, 2.0])),
    ]
}

impl DirectionModel<3> for Kurtosis {
    fn parameters(&self) -> [Parameter; 3] {
        parameters()
    }
    fn covariate(&self, b: f64) -> f32 {
        b as f32
    }
    fn start(&self, b: f32, log_loss: f32, b_most: f32) -> [f32; 3] {
        start(b, log_loss, b_most)
    }
    fn quantities(&self, p: &[f32; 3]) -> [f32; 2] {
        quantities(p[1], p[2])
    }
    fn log_loss(&self, p: &[f32; 3], b: f32) -> f32 {
        p[1] * b
    }
    fn parameters_of(&self, quantities: [f32; 2], s0: f32) -> Option<[f32; 3]> {
        parameters_of(quantities, s0)
    }
    fn for_mean(&self, quantities: [f32; 2]) -> [f32; 2] {
        for_mean(quantities)
    }
    fn specs(&self, n: usize) -> [MapSpec; 4] {
        specs(n)
    }
}

impl DirectionModel<4> for KurtosisWithFloor {
    fn parameters(&self) -> [Parameter; 4] {
        let [s0, d, a] = parameters();
        [s0, d, a, Parameter::new("eta_squared", START_ETA_SQUARED, 0.0, 0.25)]
    }
    fn covariate(&self, b: f64) -> f32 {
        b as f32
    }
    fn start(&self, b: f32, log_loss: f32, b_most: f32) -> [f32; 4] {
        let [s0, d, a] = start(b, log_loss, b_most);
        [s0, d, a, START_ETA_SQUARED as f32]
    }
    fn quantities(&self, p: &[f32; 4]) -> [f32; 2] {
        quantities(p[1], p[2])
    }
    fn log_loss(&self, p: &[f32; 4], b: f32) -> f32 {
        p[1] * b
    }
    fn parameters_of(&self, quantities: [f32; 2], s0: f32) -> Option<[f32; 4]> {
        let [s0, d, a] = parameters_of(quantities, s0)?;
        Some([s0, d, a, START_ETA_SQUARED as f32])
    }
    fn for_mean(&self, quantities: [f32; 2]) -> [f32; 2] {
        for_mean(quantities)
    }
    fn specs(&self, n: usize) -> [MapSpec; 4] {
        specs(n)
    }
}

/// Different b, with 0, that a direction must have for such a noise floor.
pub fn least_b(eta: Eta) -> usize {
    LEAST_B + usize::from(eta == Eta::Fit)
}

/// The maps of a fit of so many directions, in order; `errors` as in the options.
pub fn maps(n_directions: usize, errors: bool) -> Vec<MapSpec> {
    curve::directional_maps(&Kurtosis, n_directions, errors)
}

/// The share of all fitted directions of all voxels whose kurtosis lies outside
/// [`CREDIBLE_KURTOSIS`], and so enters the mean as less than was found.
///
/// Noise spreads K of slow diffusion (small b D) far to both sides, further to the lower: limits
/// then pull the mean up, and no limits would let it fall without bound.
pub fn limited_share(fitted: &Fitted) -> f64 {
    let (Some(d), Some(k)) = (fitted.map("D"), fitted.map("K")) else { return 0.0 };
    let (mut limited, mut all) = (0usize, 0usize);
    for (_, k) in d.data.iter().zip(&k.data).filter(|(d, _)| **d > 0.0) {
        all += 1;
        limited += usize::from(!is_credible(*k));
    }
    limited as f64 / all.max(1) as f64
}

/// Fits D and K in each gradient direction of each voxel: maps `D` and `K` (a volume for each of
/// [`directions`](crate::curve::directions)), `MD`, `MK`, `S0`, `residual` (root mean square over
/// directions), `status` (the worst of the directions; 3 also where only some are determined, the
/// means are then those of the others). A direction along which the signal loses less than 1 % up to
/// its largest b tells its diffusivity, not its kurtosis; where none tells one, `MK` is NaN.
///
/// σ that is not given is estimated from the unweighted volumes; where there are fewer than two,
/// from the residuals of a first fit without floor, if directions have six samples or more.
///
/// # Errors
/// [`CurveError`]; a direction needs [`LEAST_B`] different b (one more where η is fitted).
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &Dki1dOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let needed = least_b(options.eta);
    let b_max = options.curve.b_max_s_per_mm2;
    let protocol = Protocol::new(gradients, b_max)?;
    let directions = protocol.directions_with(needed, b_max)?;
    let likelihood = Likelihood::Gaussian;
    let of_fit = CurveOptions { likelihood, ..options.curve.clone() };
    let job = Job { name: "fitting kurtosis by direction", inputs: signals, mask, progress };
    let with_floor = |floor: Floor| {
        let (protocol, directions) = (protocol.clone(), directions.clone());
        let (floor, options) = (Some(floor), of_fit.clone());
        Directional { model: Kurtosis, protocol, directions, floor, options }.run(&job, on)
    };
    let samples = directions.iter().map(|d| d.volumes.len() + 1).max().unwrap_or(0);
    let sigma = || match options.curve.sigma {
        Some(sigma) => level("sigma", sigma),
        None => match noise::from_unweighted(signals, mask, gradients) {
            Err(NoiseError::TooFewUnweighted { found }) if samples >= SAMPLES_FOR_NOISE => {
                let first = with_floor(Floor::Relative(0.0))?;
                let sigma = noise::from_residuals(&first, samples, 3)?;
                progress.warn(&format!(
                    "{found} volume without diffusion weighting is too few to estimate the noise \
                     from: sigma = {sigma:.3} from the residuals of a fit without noise floor"
                ));
                Ok(sigma)
            }
            estimated => {
                let sigma = estimated?;
                say_level(sigma, progress);
                Ok(sigma)
            }
        },
    };
    let floor = match options.eta {
        Eta::Sigma => Some(Floor::Absolute(sigma()?)),
        Eta::RootMeanSquare => Some(Floor::Absolute(sigma()? * std::f64::consts::SQRT_2)),
        Eta::Fixed(eta) => Some(Floor::Relative(level("eta", eta)?)),
        Eta::Fit => None,
    };
    Ok(match floor {
        Some(floor) => with_floor(floor),
        None => {
            let (model, options) = (KurtosisWithFloor, of_fit);
            Directional { model, protocol, directions, floor: None, options }.run(&job, on)
        }
    }?)
}
