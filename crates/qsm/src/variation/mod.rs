//! Susceptibility whose edges are few, but for those that diffusion or a magnitude explains.
//!
//! With [`Prior::Explained`] minimises over the map χ, the coefficients c and the number a
//!
//! ½ Σ w² (D χ + a B - b)² + λ Σ |∇(χ - Σ c_j Φ_j)| + ½ ε Σ χ² outside the mask,
//!
//! where b is the field inside the mask, D the dipole, Φ_j are images of tissue from diffusion (FA, MD
//! and S0, each with its square, noise taken off) and B is the field of tensors whose anisotropy is FA,
//! about the fibre axes ([`magnetisation`](crate::tensor::magnetisation)). Diffusion knows where white
//! matter ends and how its fibres run, not how magnetic it is: that the data say, in a handful of
//! numbers, and what no image explains is left to total variation. Images that explain nothing get
//! coefficients of nearly 0, and the map is that of total variation alone.
//!
//! [`Prior::Supported`] takes that map's coefficients, and of the edges that they explain only those which the map
//! of total variation alone supports, of which it lets every part go free (`supported`): what only diffusion
//! sees costs nothing where it is missing.
//!
//! What a background leaves inside the mask is the field of sources outside it, and so is what its
//! removal took away too much of. They cost next to nothing (ε), and an edge that is not between two
//! voxels of the mask costs nothing; with [`Outside::Nothing`] χ is 0 there instead.
//!
//! The data may be the phase itself: ½ w² r² of a field that is off by r becomes w² (1 - cos s r) / s², s
//! the radians that a field of 1 turns the phase by, so that a whole turn costs nothing. With
//! [`Prior::Magnitude`] the edges of a magnitude cost nothing, and each axis counts by itself; with
//! [`Prior::Generalised`] slopes cost nothing (`generalised`).
//!
//! Total variation: Bilgic et al., MRM 72, 2014. Edges of the magnitude: Liu J et al. (MEDI), NeuroImage
//! 59, 2012; the phase as data: Liu T et al., MRM 69, 2013. Sources outside beside those inside: Liu et al.,
//! MRM 78, 2017. Data inside the mask as a variable of their own:
//! Milovic et al. (FANSI), MRM 80, 2018.

mod along_scanner;
mod alternating;
mod data;
mod denoise;
mod edges;
mod explained;
mod generalised;
mod on_device;
mod step;
mod supported;
#[cfg(test)]
mod tests;
mod turns;

use std::borrow::Cow;

use fimbria_compute::{Backend, Progress, Workers};

use self::along_scanner::AlongScanner;
use self::alternating::Alternating;
pub(crate) use self::alternating::relative_change;
use self::data::Data;
use self::denoise::without_noise;
pub(crate) use self::edges::{Ring, Shrinking};
use self::generalised::Generalised;
pub(crate) use self::on_device::variation_source;
use self::on_device::{GeneralisedOnDevice, TotalOnDevice};
pub use self::step::Step;
pub(crate) use self::step::{rms, square_of};
use self::turns::without_needless;
use crate::device::{Ended, where_it_gains};
use crate::operator::check_weights;
use crate::{FieldModel, QsmError};

/// Default of λ, of a field in ppm whose noise is at most [`USUAL_NOISE`].
pub const LAMBDA: f64 = 2e-4;
/// The noise, ppm, that [`LAMBDA`] was chosen at.
pub const USUAL_NOISE: f64 = 0.002;

/// The default of λ of a field with so much noise (ppm): in proportion to it, and not below [`LAMBDA`], since
/// models err as well.
pub fn lambda_of_noise(noise: f64) -> f64 {
    LAMBDA * (noise / USUAL_NOISE).max(1.0)
}

/// Default of the iterations at most.
pub const ITERATIONS: usize = 100;
/// Default of the relative change of the map to stop at. Of maps that are off by 29 to 42 % of the spread of χ 2 to 4 %
/// are left to the end then, and their error changes by 1 % of itself (docs/susceptibility.md).
pub const TOLERANCE: f64 = 5e-3;

/// How strongly noise is taken off FA, and off an image whose mean is 1: about a standard deviation of
/// what a scan of 30 directions leaves.
const FA_NOISE: f32 = 0.02;
const IMAGE_NOISE: f32 = 0.04;
/// From this FA all fibres are as anisotropic: a lesion that halves FA in white matter changes nothing.
pub const FIBRE_FA: f32 = 0.2;
/// An image is cut off at so many times its mean: beyond are bad fits.
const LARGEST: f32 = 4.0;

/// What is outside the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// Sources of what a background has left in the field.
    #[default]
    Sources,
    /// Nothing: the field is that of the mask alone.
    Nothing,
}

/// How variation is made small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// λ, above 0.
    pub lambda: f64,
    /// What is outside the mask.
    pub outside: Outside,
    /// Radians that a field of 1 turns the phase by, where the data are the phase.
    pub radians: Option<f64>,
    /// Iterations at most.
    pub iterations: usize,
    /// It ends where the map changes by no more than this part of itself.
    pub tolerance: f64,
}

impl Default for Variation {
    fn default() -> Self {
        let (lambda, outside, radians) = (LAMBDA, Outside::default(), None);
        Self { lambda, outside, radians, iterations: ITERATIONS, tolerance: TOLERANCE }
    }
}

/// Which edges cost what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prior<'a> {
    /// All the same, by their length: total variation.
    Total,
    /// What diffusion explains costs nothing.
    Explained(&'a Guidance),
    /// What diffusion explains may be free where a map of the field itself supports it.
    Supported(&'a Supported<'a>),
    /// Those of a magnitude of every unknown cost nothing.
    Magnitude(&'a [f32]),
    /// Slopes cost nothing: total generalised variation.
    Generalised,
}

/// What diffusion knows of every unknown of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Guidance {
    /// Fractional anisotropy, 0 to 1.
    pub fa: Vec<f32>,
    /// Further images that tell tissues apart, in any unit: MD, S0. At most two.
    pub images: Vec<Vec<f32>>,
}

/// Guidance that a map of the field itself has to support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supported<'a> {
    /// What diffusion knows.
    pub guidance: &'a Guidance,
    /// The coefficients of a map by [`Prior::Explained`].
    pub coefficients: &'a [f64],
    /// The map by [`Prior::Total`], of every unknown.
    pub own: &'a [f32],
}

/// A map, and what explains it.
#[derive(Clone, Debug, PartialEq)]
pub struct VariationMap {
    /// The susceptibility of each unknown, in the unit of the field.
    pub chi: Vec<f32>,
    /// The coefficients of FA and its square, and of each further image (as a part of its mean) and its
    /// square.
    pub coefficients: Vec<f64>,
    /// Anisotropy of the susceptibility of fibres whose FA is 1, along less across; where support is asked for,
    /// of those whose FA is [`FIBRE_FA`] at least.
    pub anisotropy: f64,
    /// The field that the map, what is outside the mask and the anisotropy make at each unknown, in the
    /// unit of the field.
    pub field: Vec<f32>,
    /// Every iteration.
    pub log: Vec<Step>,
    /// Whether the map had settled within the tolerance.
    pub has_settled: bool,
}

/// The map of the unknowns of `model`, which are its receivers too, whose field there is `field`, with
/// a weight for each. Fibre axes are those of the model's [`Shape`](crate::Shape)s.
///
/// It is made on the first device of `on`, or on its threads where there is none or it fails, which
/// `progress` is told.
///
/// # Errors
/// Where lengths differ, numbers are not finite, λ or the radians are not above 0, the volume cannot
/// be transformed, or `progress` says to stop.
pub fn reconstruct_variation(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    prior: Prior<'_>,
    variation: Variation,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<VariationMap, QsmError> {
    let positive = [("lambda", Some(variation.lambda)), ("radians", variation.radians)];
    for (name, value) in positive {
        if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
            return Err(QsmError::Parameter { name, value, rule: "it is above 0" });
        }
    }
    check_field(model, field, weights)?;
    check_prior(model, prior)?;
    let Some(along) = AlongScanner::new(model) else {
        return inverted(model, field, weights, prior, variation, on, progress);
    };
    let (field, weights) = (along.ordered(field), weights.map(|weights| along.ordered(weights)));
    let weights = weights.as_deref();
    let map = along.with_prior(prior, |prior| {
        inverted(&along.model, &field, weights, prior, variation, on, progress)
    });
    Ok(along.put_back(map?))
}

/// The map of what is sound, axes running along the scanner's.
fn inverted(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
    prior: Prior<'_>,
    variation: Variation,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<VariationMap, QsmError> {
    let workers = on.workers;
    let begun = match variation.radians {
        Some(radians) => without_needless(field, model, radians, workers)?,
        None => Cow::Borrowed(field),
    };
    let field = &*begun;
    let device = where_it_gains(on, model.geometry.dims).devices.first();
    let made = |images, fibres, magnitude| {
        Alternating::new(model, variation, images, fibres, magnitude, workers)
    };
    let found = match prior {
        Prior::Generalised => {
            let found = Generalised::new(model, variation, workers)?;
            let Some(device) = device else { return found.run(field, weights, progress) };
            let within = found.within();
            let radians = variation.radians.map(|radians| radians as f32);
            let data = Data { field, weights, radians, places: &found.places };
            let there = GeneralisedOnDevice::new(&found, within.as_deref(), device);
            let there = there.map_err(Ended::from).and_then(|there| there.run(&data, progress));
            return or_on_threads(there, || found.run(field, weights, progress), progress);
        }
        Prior::Total => made(Vec::new(), None, None)?,
        Prior::Magnitude(magnitude) => made(Vec::new(), None, Some(magnitude))?,
        Prior::Explained(guidance) => {
            let images = explaining(model, guidance, workers);
            let fa = images[0].clone();
            made(images, Some(&fa), None)?
        }
        Prior::Supported(Supported { guidance, coefficients, own }) => {
            let images = explaining(model, guidance, workers);
            let fibres: Vec<f32> = images[0].iter().map(|fa| fa.min(FIBRE_FA) / FIBRE_FA).collect();
            let mut found = made(Vec::new(), Some(&fibres), None)?;
            let mut guide = vec![0.0; fibres.len()];
            for (c, image) in coefficients.iter().zip(&images) {
                guide.iter_mut().zip(image).for_each(|(sum, x)| *sum += *c as f32 * x);
            }
            found.support(&guide, own);
            found
        }
    };
    let Some(device) = device else { return found.run(field, weights, progress) };
    let there = TotalOnDevice::new(&found, device).map_err(Ended::from);
    let there = there.and_then(|there| there.run(field, weights, progress));
    or_on_threads(there, || found.run(field, weights, progress), progress)
}

/// The map of a device or, where it failed, that of threads.
fn or_on_threads(
    there: Result<VariationMap, Ended>,
    here: impl FnOnce() -> Result<VariationMap, QsmError>,
    progress: &dyn Progress,
) -> Result<VariationMap, QsmError> {
    match there {
        Ok(map) => Ok(map),
        Err(Ended::Whole(error)) => Err(error),
        Err(Ended::Device(error)) => {
            progress.warn(&format!("{error}; the threads do the work"));
            here()
        }
    }
}

/// Whether there is one of `what` for each unknown of `model`.
fn check_length(model: &FieldModel, what: &'static str, found: usize) -> Result<(), QsmError> {
    let expected = model.unknowns.len();
    if found == expected { Ok(()) } else { Err(QsmError::Length { what, found, expected }) }
}

/// Whether what is known is known of the unknowns of `model`.
fn check_prior(model: &FieldModel, prior: Prior<'_>) -> Result<(), QsmError> {
    let check = |what: &'static str, found: usize| check_length(model, what, found);
    let check_guidance = |guidance: &Guidance| {
        check("FA", guidance.fa.len())?;
        guidance.images.iter().try_for_each(|image| check("an image", image.len()))
    };
    match prior {
        Prior::Total | Prior::Generalised => Ok(()),
        Prior::Magnitude(magnitude) => check("the magnitude", magnitude.len()),
        Prior::Explained(guidance) => check_guidance(guidance),
        Prior::Supported(Supported { guidance, own, .. }) => {
            check_guidance(guidance)?;
            check("the map without guidance", own.len())
        }
    }
}

/// Whether `field` and `weights` are those of the unknowns of `model`, its receivers too.
pub(crate) fn check_field(
    model: &FieldModel,
    field: &[f32],
    weights: Option<&[f32]>,
) -> Result<(), QsmError> {
    check_length(model, "the field", field.len())?;
    check_length(model, "the list of receivers", model.receivers.len())?;
    let count = field.iter().filter(|b| !b.is_finite()).count();
    if count > 0 {
        return Err(QsmError::NotFinite { what: "the field", count });
    }
    if let Some(weights) = weights {
        check_weights(weights, model.unknowns.len())?;
    }
    Ok(())
}

/// The images that explain, each of all unknowns: without noise, and with their squares.
fn explaining(model: &FieldModel, guidance: &Guidance, workers: &Workers) -> Vec<Vec<f32>> {
    let clean = |image: &[f32], (scale, most, by): (f32, f32, f32)| {
        let usual = mean(image) / scale;
        let value = |&value: &f32| {
            if value.is_finite() { (value / scale).clamp(0.0, most) } else { usual }
        };
        without_noise(model, &image.iter().map(value).collect::<Vec<f32>>(), by, workers)
    };
    let part_of_mean = |image: &Vec<f32>| {
        let mean = mean(image);
        clean(image, (if mean > 0.0 { mean } else { 1.0 }, LARGEST, IMAGE_NOISE))
    };
    let fa = clean(&guidance.fa, (1.0, 1.0, FA_NOISE));
    let all = std::iter::once(fa).chain(guidance.images.iter().map(part_of_mean));
    let with_square = |image: Vec<f32>| {
        let square = image.iter().map(|x| x * x).collect();
        [image, square]
    };
    all.flat_map(with_square).collect()
}

/// The mean of all numbers.
fn mean(image: &[f32]) -> f32 {
    let finite = || image.iter().filter(|value| value.is_finite());
    let sum: f64 = finite().map(|value| f64::from(*value)).sum();
    (sum / finite().count().max(1) as f64) as f32
}
