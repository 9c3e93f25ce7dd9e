//! A signal model given as text, fitted in every voxel by Levenberg-Marquardt.
//!
//! `S0*exp(-b*D)+C` is a formula over its parameters; over `b` in ms/µm² and the direction `gx`,
//! `gy`, `gz` of each volume, in scanner RAS axes and zero where there is none; over other numbers of each
//! volume, such as echo times; and over maps that are constants of each voxel. The CPU interprets it in SIMD lanes, devices compile it to a kernel;
//! where multiply-add is fused both give the same bits.

mod fit;
mod starts;

use std::borrow::Cow;

use fimbria_compute::{Backend, Progress};
use fimbria_fitting::expr::{Names, ParseErrorKind};
use fimbria_fitting::lm::{Expression, ExpressionError, LmError};
use fimbria_image::{GradientTable, GridMismatch, Image, MapSpec, Mask, SignalSource};

pub use fimbria_fitting::lm::Parameter;

use self::fit::{ExprFit, Noise};
use crate::ProtocolError;
use crate::curve::{self, CurveError, CurveOptions, Floor, Likelihood, Protocol, error_spec};
use crate::voxelwise::{Fitted, Job, JobError, SelectedVolumes, Stacked};

/// What a formula may say of each volume.
pub const COVARIATES: [&str; 4] = ["b", "gx", "gy", "gz"];

/// Names that maps of every fit have.
const TAKEN: [&str; 3] = ["residual", "iterations", "status"];

/// What to fit.
#[derive(Clone, Debug)]
pub struct ExprOptions {
    /// The signal.
    pub formula: String,
    /// Its parameters, in the order of the maps; in units of their own.
    pub parameters: Vec<Parameter>,
    /// Numbers of each volume of the series that the formula takes by name, in units of their own.
    pub acquired: Vec<(String, Vec<f64>)>,
    /// From how many starts each voxel is fitted; the others are spread within the bounds of parameters that
    /// have both.
    pub starts: usize,
    /// What all such fits may be told; a map of the noise level may be given instead of its σ.
    pub curve: CurveOptions,
}

impl ExprOptions {
    /// What the formula may take of each volume, by name.
    fn samples(&self) -> Vec<&str> {
        COVARIATES.into_iter().chain(self.acquired.iter().map(|(name, _)| name.as_str())).collect()
    }
}

/// Maps that a formula takes as constants of each voxel.
#[derive(Clone, Copy, Debug, Default)]
pub struct VoxelConstants<'a> {
    /// Names in the formula and maps of one volume.
    pub named: &'a [(String, Image)],
    /// The noise level, in input units.
    pub sigma: Option<&'a Image>,
}

/// Why nothing was fitted.
#[derive(Debug, thiserror::Error)]
pub enum ExprFitError {
    /// The text is no signal.
    #[error("'{formula}': {reason}")]
    Formula {
        /// The text.
        formula: String,
        /// What is wrong with it.
        reason: ExpressionError,
    },
    /// A parameter or constant that formulas or files cannot have.
    #[error(
        "'{0}' cannot be a name: a letter, then letters, digits and '_', and none of b, gx, gy, gz, \
         pi, residual, iterations, status"
    )]
    Name(String),
    /// Two parameters or constants that formulas or files cannot tell apart.
    #[error("the name '{0}' is given twice: names differ by more than the case of letters")]
    Twice(String),
    /// A parameter of which a bound or the start is no number, or out of order.
    #[error("parameter {name}: start {start} and bounds {lower} to {upper} do not go together")]
    Bounds {
        /// The parameter.
        name: String,
        /// Its start.
        start: f64,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// The formula has no value where every fit begins.
    #[error(
        "'{formula}' is {value} at its start for volume {volume}, b = {b} ms/µm²: choose another start"
    )]
    Start {
        /// The text.
        formula: String,
        /// What it gives there.
        value: f64,
        /// Which volume, from 0.
        volume: usize,
        /// Its b, ms/µm².
        b: f32,
    },
    /// Parameters that the volumes cannot tell apart.
    #[error(
        "{volumes} volumes tell {told_apart} of the {free} parameters of '{formula}' apart: fix one \
         or write fewer"
    )]
    Undetermined {
        /// The text.
        formula: String,
        /// Volumes that are used.
        volumes: usize,
        /// Parameters that are fitted.
        free: usize,
        /// How many the signal tells apart near the start.
        told_apart: usize,
    },
    /// A constant of more than one volume.
    #[error("the map of '{name}' has {volumes} volumes; a constant has one")]
    ConstantVolumes {
        /// Its name.
        name: String,
        /// Its volumes.
        volumes: usize,
    },
    /// Numbers of volumes that are not those of the series.
    #[error("'{name}' has {values} numbers for {volumes} volumes, or one that is none")]
    Acquired {
        /// The name.
        name: String,
        /// How many there are.
        values: usize,
        /// The volumes of the series.
        volumes: usize,
    },
    /// A map of a noise level that nothing takes, or without a level.
    #[error("{0}")]
    SigmaMap(&'static str),
    /// Gradient table, noise level or series cannot be used.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// The acquisition cannot support the model.
    #[error(transparent)]
    Problems(#[from] LmError),
    /// A map lies elsewhere than the series.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// The fit itself failed.
    #[error(transparent)]
    Job(#[from] JobError),
}

impl ExprFitError {
    /// Whether the formula takes a name that nothing stands for.
    pub fn is_unknown_name(&self) -> bool {
        match self {
            Self::Formula { reason: ExpressionError::Parse(error), .. } => {
                matches!(error.kind, ParseErrorKind::UnknownName { .. })
            }
            _ => false,
        }
    }
}

/// Fits the formula in every voxel of `mask`.
///
/// Maps: each parameter by its name, where asked for its standard error, `residual` (RMS over the
/// volumes, input units), `iterations`, `status`. The devices of `on` do the work in single
/// precision where there are any. Results have the same bits for any number of threads, on every
/// SIMD level that fuses multiply-add and on devices.
///
/// # Errors
/// [`ExprFitError`] for what cannot be fitted at all; a voxel that cannot be is marked in the
/// status map instead.
pub fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    constants: VoxelConstants<'_>,
    options: &ExprOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, ExprFitError> {
    ProtocolError::check_count(gradients, signals.n_volumes()).map_err(CurveError::from)?;
    let protocol = Protocol::new(gradients, options.curve.b_max_s_per_mm2)?;
    let mut volumes = protocol.volumes();
    volumes.sort_unstable();
    let noise = match constants.sigma {
        Some(map) => {
            check_sigma(map, mask, options)?;
            Noise::Map
        }
        None => match curve::noise_level(signals, mask, gradients, &options.curve, progress)? {
            Some(Floor::Absolute(sigma) | Floor::Relative(sigma)) => Noise::Level(sigma),
            None => Noise::Unknown,
        },
    };
    let chosen = SelectedVolumes { source: signals, volumes: volumes.clone() };
    let all_chosen = volumes.len() == signals.n_volumes();
    let samples: &dyn SignalSource = if all_chosen { signals } else { &chosen };
    let maps = constants.named.iter().map(|(name, image)| (name.as_str(), image));
    let mut inputs = vec![samples];
    for (name, image) in maps.chain(constants.sigma.map(|image| ("sigma", image))) {
        signals.grid().check_same(&image.grid, name)?;
        if image.n_volumes != 1 {
            let (name, volumes) = (name.to_owned(), image.n_volumes);
            return Err(ExprFitError::ConstantVolumes { name, volumes });
        }
        inputs.push(image);
    }
    let named: Vec<&str> = constants.named.iter().map(|(name, _)| name.as_str()).collect();
    for (name, values) in &options.acquired {
        if values.len() != signals.n_volumes() || !values.iter().all(|value| value.is_finite()) {
            let (name, values) = (name.clone(), values.len());
            return Err(ExprFitError::Acquired { name, values, volumes: signals.n_volumes() });
        }
    }
    let inputs = Stacked(inputs);
    let job = Job { name: "fitting the expression", inputs: &inputs, mask, progress };
    let from = |parameters| -> Result<Fitted, ExprFitError> {
        let options = ExprOptions { parameters, ..options.clone() };
        Ok(job.run(&ExprFit::new(&protocol, &volumes, &named, noise, &options)?, on)?)
    };
    let mut starts = starts::starts(&options.parameters, options.starts).into_iter();
    let mut best = from(starts.next().unwrap_or_default())?;
    for parameters in starts {
        match from(parameters) {
            Ok(fitted) => starts::keep_better(&mut best, &fitted, mask),
            // Nobody asked for this one.
            Err(ExprFitError::Start { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(best)
}

/// Whether a gradient table determines the formula, as far as can be said before anything is read:
/// `constants` are the names of its maps and of its numbers of volumes.
///
/// # Errors
/// [`ExprFitError`] says why not.
pub fn check(
    gradients: &GradientTable,
    constants: &[&str],
    options: &ExprOptions,
) -> Result<(), ExprFitError> {
    let protocol = Protocol::new(gradients, options.curve.b_max_s_per_mm2)?;
    let volumes = protocol.volumes();
    ExprFit::new(&protocol, &volumes, constants, Noise::Unknown, options).map(drop)
}

/// Whether the likelihood takes a noise level of each voxel, and there is one in the mask.
fn check_sigma(map: &Image, mask: &Mask, options: &ExprOptions) -> Result<(), ExprFitError> {
    if options.curve.likelihood == Likelihood::Gaussian {
        return Err(ExprFitError::SigmaMap("the Gaussian likelihood takes no noise level"));
    }
    let in_map = mask.voxels.iter().filter_map(|&voxel| map.data.get(voxel as usize));
    if !in_map.into_iter().any(|&sigma| sigma.is_finite() && sigma > 0.0) {
        return Err(ExprFitError::SigmaMap(
            "the map of sigma has no finite value above zero in the mask",
        ));
    }
    Ok(())
}

/// The maps of a fit of these parameters, where asked for with their standard errors, the status
/// last.
pub fn maps(formula: &str, parameters: &[Parameter], errors: bool) -> Vec<MapSpec> {
    let of_parameter = |parameter: &Parameter| MapSpec {
        name: Cow::Owned(parameter.name.clone()),
        description: Cow::Owned(format!(
            "parameter {} of {formula}, b in ms/um^2, gx gy gz in scanner RAS axes",
            parameter.name
        )),
        ..MapSpec::scalar("", "arbitrary", "")
    };
    let mut maps: Vec<_> = parameters.iter().map(of_parameter).collect();
    if errors {
        maps.extend(maps.iter().map(error_spec).collect::<Vec<_>>());
    }
    maps.push(MapSpec::residual());
    maps.push(MapSpec::scalar("iterations", "", "iterations of the fit"));
    maps.push(MapSpec::status());
    maps
}

/// Reads the formula over its parameters, the numbers of each volume and these constants of each voxel.
///
/// # Errors
/// [`ExprFitError`] for what no series can be fitted with.
pub fn read(options: &ExprOptions, constants: &[&str]) -> Result<Expression, ExprFitError> {
    let parameters: Vec<&str> = options.parameters.iter().map(|p| p.name.as_str()).collect();
    let samples = options.samples();
    let taken = [constants, &samples[COVARIATES.len()..]].concat();
    check_names(&parameters, &taken, options.curve.errors)?;
    for Parameter { name, start, lower, upper, .. } in &options.parameters {
        // A bound may be infinite; a start may not, nor any of them be NaN.
        if !(start.is_finite() && lower <= start && start <= upper) {
            let (start, lower, upper) = (*start, *lower, *upper);
            return Err(ExprFitError::Bounds { name: name.clone(), start, lower, upper });
        }
    }
    let names = Names { parameters: &parameters, samples: &samples, problems: constants };
    Expression::new(&options.formula, &names)
        .map_err(|reason| ExprFitError::Formula { formula: options.formula.clone(), reason })
}

/// Names must be names, differ from each other and from what is there already; those of maps also
/// on file systems that do not tell cases apart.
fn check_names(parameters: &[&str], constants: &[&str], errors: bool) -> Result<(), ExprFitError> {
    let mut known: Vec<&str> = Vec::new();
    for name in parameters.iter().chain(constants) {
        if !Names::is_name(name) || COVARIATES.contains(name) || *name == "pi" {
            return Err(ExprFitError::Name((*name).to_owned()));
        }
        if known.contains(name) {
            return Err(ExprFitError::Twice((*name).to_owned()));
        }
        known.push(name);
    }
    let mut files: Vec<String> = Vec::new();
    for name in parameters {
        let file = name.to_lowercase();
        if TAKEN.contains(&file.as_str()) {
            return Err(ExprFitError::Name((*name).to_owned()));
        }
        if files.contains(&file) {
            return Err(ExprFitError::Twice((*name).to_owned()));
        }
        if errors {
            files.push(format!("{file}_error"));
        }
        files.push(file);
    }
    Ok(())
}
