//! A signal model given as text, fitted in every voxel by Levenberg-Marquardt.
//!
//! `S0*exp(-b*D)+C` is a formula over its parameters; over `b` in ms/µm² and the direction `gx`,
//! `gy`, `gz` of each volume, in scanner RAS axes and zero where there is none; and over maps that
//! are constants of each voxel. The CPU interprets it in SIMD lanes, devices compile it to a kernel;
//! where multiply-add is fused both give the same bits.

use std::borrow::Cow;

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Backend, HostError, Progress, SimdLevel, Workers};
use fimbria_fitting::expr::{Names, Precision};
use fimbria_fitting::lm::device::{self, DeviceFitError};
use fimbria_fitting::lm::{
    Arithmetic, Expression, ExpressionError, LmError, LmOptions, Problems, Rows, Sigma, Starts,
    Weights,
};
use fimbria_image::{GradientTable, GridMismatch, Image, Mask, SignalSource};

pub use fimbria_fitting::lm::{Likelihood, Parameter, Robust};

use crate::Status;
use crate::voxelwise::{DeviceVoxelFit, Fitted, Job, JobError, MapSpec, Stacked, Tile, VoxelFit};

/// What a formula may say of each volume.
pub const COVARIATES: [&str; 4] = ["b", "gx", "gy", "gz"];

/// Names that maps of every fit have.
const TAKEN: [&str; 3] = ["residual", "iterations", "status"];

/// What to fit.
#[derive(Clone, Debug, PartialEq)]
pub struct ExprOptions {
    /// The signal.
    pub formula: String,
    /// Its parameters, in the order of the maps; in units of their own.
    pub parameters: Vec<Parameter>,
    /// How noise enters.
    pub likelihood: Likelihood,
    /// Noise level in input units, the same in all voxels; a map may be given instead.
    pub sigma: Option<f64>,
    /// Takes outliers their pull; `None` for plain fits.
    pub robust: Option<Robust>,
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
        "'{0}' cannot be a name: a letter, then letters, digits and '_', not twice, and none \
             of b, gx, gy, gz, pi, residual, iterations, status"
    )]
    Name(String),
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
    /// Series and gradient table disagree.
    #[error("the series has {series} volumes, the gradient table {table}")]
    VolumeCount {
        /// Volumes of the series.
        series: usize,
        /// Entries of the gradient table.
        table: usize,
    },
    /// A constant of more than one volume.
    #[error("the map of '{name}' has {volumes} volumes; a constant has one")]
    ConstantVolumes {
        /// Its name.
        name: String,
        /// Its volumes.
        volumes: usize,
    },
    /// A likelihood with noise of unknown level, or the other way round, or a level that is none.
    #[error(
        "the offset-Gaussian and Rician likelihoods need one noise level above zero, sigma as a \
             number or a map; the Gaussian one takes none"
    )]
    Sigma,
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

/// Fits the formula in every voxel of `mask`.
///
/// Maps: each parameter by its name, `residual` (RMS over the volumes, input units), `iterations`,
/// `status`. The devices of `on` do the work where there are any. Results have the same bits for
/// any number of threads, on every SIMD level that fuses multiply-add and on devices.
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
    if signals.n_volumes() != gradients.len() {
        let (series, table) = (signals.n_volumes(), gradients.len());
        return Err(ExprFitError::VolumeCount { series, table });
    }
    let maps = constants.named.iter().map(|(name, image)| (name.as_str(), image));
    let mut inputs: Vec<&dyn SignalSource> = vec![signals];
    for (name, image) in maps.chain(constants.sigma.map(|image| ("sigma", image))) {
        signals.grid().check_same(&image.grid, name)?;
        if image.n_volumes != 1 {
            let (name, volumes) = (name.to_owned(), image.n_volumes);
            return Err(ExprFitError::ConstantVolumes { name, volumes });
        }
        inputs.push(image);
    }
    let fit = ExprFit::new(gradients, &constants, options)?;
    let inputs = Stacked(inputs);
    let job = Job { name: "fitting the expression", inputs: &inputs, mask, progress };
    Ok(job.run(&fit, on)?)
}

/// The maps of a fit of these parameters, the status last.
pub fn maps(formula: &str, parameters: &[Parameter]) -> Vec<MapSpec> {
    let of_parameter = |parameter: &Parameter| MapSpec {
        name: Cow::Owned(parameter.name.clone()),
        description: Cow::Owned(format!(
            "parameter {} of {formula}, b in ms/um^2, gx gy gz in scanner RAS axes",
            parameter.name
        )),
        ..MapSpec::scalar("", "arbitrary", "")
    };
    let mut maps: Vec<_> = parameters.iter().map(of_parameter).collect();
    maps.push(MapSpec::residual());
    maps.push(MapSpec::scalar("iterations", "", "iterations of the fit"));
    maps.push(MapSpec::status());
    maps
}

/// The formula with the acquisition.
struct ExprFit<'a> {
    options: &'a ExprOptions,
    expression: Expression,
    lm: LmOptions,
    /// b gx gy gz of each volume.
    covariates: Vec<f32>,
    n_volumes: usize,
    /// Rows of constants after the samples, the noise map among them.
    n_constants: usize,
}

impl<'a> ExprFit<'a> {
    fn new(
        gradients: &GradientTable,
        constants: &VoxelConstants<'_>,
        options: &'a ExprOptions,
    ) -> Result<Self, ExprFitError> {
        let parameters: Vec<&str> = options.parameters.iter().map(|p| p.name.as_str()).collect();
        let named: Vec<&str> = constants.named.iter().map(|(name, _)| name.as_str()).collect();
        check_names(&parameters, &named)?;
        for Parameter { name, start, lower, upper, .. } in &options.parameters {
            // A bound may be infinite; a start may not, nor any of them be NaN.
            if !(start.is_finite() && lower <= start && start <= upper) {
                let (start, lower, upper) = (*start, *lower, *upper);
                return Err(ExprFitError::Bounds { name: name.clone(), start, lower, upper });
            }
        }
        let sigma = match (options.likelihood, options.sigma, constants.sigma) {
            (Likelihood::Gaussian, None, None) => Sigma::Shared(0.0),
            (Likelihood::OffsetGaussian | Likelihood::Rician, None, Some(_)) => {
                Sigma::Constant(named.len())
            }
            (Likelihood::OffsetGaussian | Likelihood::Rician, Some(sigma), None)
                if sigma > 0.0 && sigma.is_finite() =>
            {
                Sigma::Shared(sigma as f32)
            }
            _ => return Err(ExprFitError::Sigma),
        };
        let names = Names { parameters: &parameters, samples: &COVARIATES, problems: &named };
        let expression = Expression::new(&options.formula, &names)
            .map_err(|reason| ExprFitError::Formula { formula: options.formula.clone(), reason })?;
        let b_and_direction = gradients.b_s_per_mm2.iter().zip(&gradients.dirs_ras);
        let covariates = b_and_direction
            .flat_map(|(b, [x, y, z])| [b / 1000.0, *x, *y, *z].map(|value| value as f32))
            .collect();
        let fit = Self {
            options,
            expression,
            lm: LmOptions { likelihood: options.likelihood, sigma, ..LmOptions::default() },
            covariates,
            n_volumes: gradients.len(),
            n_constants: named.len() + usize::from(constants.sigma.is_some()),
        };
        fit.try_shape()?;
        Ok(fit)
    }

    /// Fits one voxel of ones: what is wrong with the arrays of this call is wrong with all.
    fn try_shape(&self) -> Result<(), LmError> {
        let inputs = vec![1.0; self.n_volumes + self.n_constants];
        let mut rows = vec![0.0; Rows::new(self.options.parameters.len(), &self.lm).count()];
        self.on_lanes(&self.problems(1, 1, &inputs), SimdLevel::Scalar, &mut rows)
    }

    fn problems<'b>(&'b self, n: usize, stride: usize, inputs: &'b [f32]) -> Problems<'b> {
        let (samples, constants) = inputs.split_at(self.n_volumes * stride);
        Problems {
            n,
            stride,
            samples,
            covariates: &self.covariates,
            constants,
            weights: Weights::Equal,
            starts: Starts::Shared,
        }
    }

    fn on_lanes(
        &self,
        problems: &Problems<'_>,
        simd: SimdLevel,
        rows: &mut [f32],
    ) -> Result<(), LmError> {
        let on = Arithmetic::Single(simd);
        let parameters = &self.options.parameters;
        let fit = |problems: &Problems<'_>, rows: &mut [f32]| {
            self.expression.fit(parameters, problems, &self.lm, on, rows)
        };
        fit(problems, rows)?;
        match self.options.robust {
            Some(robust) => {
                self.expression.refit(robust, parameters, problems, &self.lm, fit, rows)
            }
            None => Ok(()),
        }
    }
}

/// Marks every voxel of a tile: nothing was fitted.
fn unfitted(rows: &mut [f32], stride: usize) {
    let status = rows.len() - stride;
    rows[..status].fill(0.0);
    rows[status..].fill(Status::BadSignal.code());
}

impl VoxelFit for ExprFit<'_> {
    fn maps(&self) -> Vec<MapSpec> {
        maps(&self.options.formula, &self.options.parameters)
    }

    fn fit(&self, tile: Tile<'_>, simd: SimdLevel) -> Result<(), HostError> {
        let problems = self.problems(tile.voxels.len(), tile.stride, tile.inputs);
        // The shape was tried beforehand: an error here cannot be, and would not be silent.
        if self.on_lanes(&problems, simd, tile.rows).is_err() {
            unfitted(tile.rows, tile.stride);
        }
        Ok(())
    }

    fn on_device(&self) -> Option<&dyn DeviceVoxelFit> {
        Some(self)
    }
}

impl DeviceVoxelFit for ExprFit<'_> {
    fn bytes_of_voxel(&self) -> Vec<usize> {
        let rows = Rows::new(self.options.parameters.len(), &self.lm).count();
        [self.n_volumes, self.n_constants, rows].map(|rows| rows * size_of::<f32>()).to_vec()
    }

    fn fit(&self, tile: Tile<'_>, device: &Device, _: &Workers) -> Result<(), DeviceError> {
        let problems = self.problems(tile.voxels.len(), tile.stride, tile.inputs);
        let (formulas, parameters) = (self.expression.formulas(), &self.options.parameters);
        let fit = |problems: &Problems<'_>, rows: &mut [f32]| {
            device::fit(device, formulas, parameters, problems, &self.lm, Precision::Single, rows)
        };
        let fitted = fit(&problems, tile.rows).and_then(|()| match self.options.robust {
            Some(robust) => {
                self.expression.refit(robust, parameters, &problems, &self.lm, fit, tile.rows)
            }
            None => Ok(()),
        });
        match fitted {
            Ok(()) => Ok(()),
            Err(DeviceFitError::Device(error)) => Err(error),
            Err(DeviceFitError::Problems(_)) => {
                unfitted(tile.rows, tile.stride);
                Ok(())
            }
        }
    }
}

/// Names must be names, differ from each other and from what is there already; those of maps also
/// on file systems that do not tell cases apart.
fn check_names(parameters: &[&str], constants: &[&str]) -> Result<(), ExprFitError> {
    let mut known: Vec<&str> = COVARIATES.iter().chain(&["pi"]).copied().collect();
    for name in parameters.iter().chain(constants) {
        if !Names::is_name(name) || known.contains(name) {
            return Err(ExprFitError::Name((*name).to_owned()));
        }
        known.push(name);
    }
    let mut files: Vec<String> = TAKEN.map(str::to_owned).to_vec();
    for name in parameters {
        let file = name.to_lowercase();
        if files.contains(&file) {
            return Err(ExprFitError::Name((*name).to_owned()));
        }
        files.push(file);
    }
    Ok(())
}
