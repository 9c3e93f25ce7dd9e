//! The problems of one call, what is asked of them, and where the answers go.

use super::likelihood::Likelihood;
use super::model::Parameter;
use super::rules;

/// What became of one problem; the numbers are those of the voxel status of the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LmStatus {
    /// At a minimum inside the box.
    Converged = 1,
    /// At a minimum with a parameter on its bound.
    AtBound = 2,
    /// Out of iterations, or no step lowers the cost; the parameters are the last ones.
    NotConverged = 3,
    /// A sample, weight, constant or start is not finite, all samples are zero, or the model is
    /// not finite at the start;
    /// all results are zero.
    BadProblem = 4,
    /// At a minimum that the samples do not determine: a parameter has no influence there, or not
    /// its own; the parameters are one of many equally good ones.
    Singular = 5,
    /// At such a minimum, where other parameters are determined: they are kept, the rest is NaN
    /// (see [`keep_determined`](super::keep_determined())).
    PartlyDetermined = 7,
}

impl LmStatus {
    /// The number as it stands in a row of results.
    pub const fn code(self) -> f32 {
        self as u8 as f32
    }

    /// The status with this number.
    pub fn from_code(code: f32) -> Option<Self> {
        [
            Self::Converged,
            Self::AtBound,
            Self::NotConverged,
            Self::BadProblem,
            Self::Singular,
            Self::PartlyDetermined,
        ]
        .into_iter()
        .find(|s| s.code() == code)
    }
}

/// What is asked of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct LmOptions {
    /// How noise enters.
    pub likelihood: Likelihood,
    /// Noise level of all likelihoods but the Gaussian, in units of the samples.
    pub sigma: Sigma,
    /// Iterations after which a problem is given up.
    pub max_iterations: u32,
    /// Also write the covariance of the parameters.
    pub covariance: bool,
}

impl Default for LmOptions {
    fn default() -> Self {
        Self {
            likelihood: Likelihood::Gaussian,
            sigma: Sigma::Shared(0.0),
            max_iterations: rules::MAX_ITERATIONS,
            covariance: false,
        }
    }
}

/// A noise level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sigma {
    /// The same for all problems.
    Shared(f32),
    /// Each problem has its own, in this row of its constants.
    Constant(usize),
}

/// Weights of the squared residuals.
#[derive(Clone, Copy, Debug, Default)]
pub enum Weights<'a> {
    /// All 1.
    #[default]
    Equal,
    /// One for each sample, shared by all problems.
    PerSample(&'a [f32]),
    /// `[sample][stride]`.
    PerProblem(&'a [f32]),
}

/// Where problems start.
#[derive(Clone, Copy, Debug, Default)]
pub enum Starts<'a> {
    /// At [`Parameter::start`].
    #[default]
    Shared,
    /// At their own, `[parameter][stride]`.
    PerProblem(&'a [f32]),
}

/// Problems of one shape, one per column: element (row, problem) of an array is at
/// `row * stride + problem`.
#[derive(Clone, Copy, Debug)]
pub struct Problems<'a> {
    /// Number of problems.
    pub n: usize,
    /// Elements from one row of any array to the next, at least `n`.
    pub stride: usize,
    /// `[sample][stride]`.
    pub samples: &'a [f32],
    /// `[sample][covariate]`: what the model knows of a sample.
    pub covariates: &'a [f32],
    /// `[constant][stride]`: what the model knows of a problem.
    pub constants: &'a [f32],
    /// Weights of the samples.
    pub weights: Weights<'a>,
    /// Where to start.
    pub starts: Starts<'a>,
}

impl Problems<'_> {
    /// Number of samples of a problem.
    pub fn n_samples(&self) -> usize {
        self.samples.len() / self.stride.max(1)
    }

    /// Element (row, problem) of one of the arrays.
    pub(crate) fn at(&self, array: &[f32], row: usize, problem: usize) -> f32 {
        array[row * self.stride + problem]
    }

    /// The weight of a sample of a problem.
    pub(crate) fn weight(&self, sample: usize, problem: usize) -> f32 {
        match self.weights {
            Weights::Equal => 1.0,
            Weights::PerSample(w) => w[sample],
            Weights::PerProblem(w) => self.at(w, sample, problem),
        }
    }

    /// The start of a parameter of a problem.
    pub(crate) fn start(&self, k: usize, parameter: &Parameter, problem: usize) -> f64 {
        match self.starts {
            Starts::Shared => parameter.start,
            Starts::PerProblem(_) if parameter.fixed => parameter.start,
            Starts::PerProblem(starts) => f64::from(self.at(starts, k, problem)),
        }
    }
}

/// Which row of the results holds what, for P parameters: first the parameters in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    n_parameters: usize,
    covariance: bool,
}

impl Rows {
    /// The rows of a fit of `n_parameters` under `options`.
    pub fn new(n_parameters: usize, options: &LmOptions) -> Self {
        Self { n_parameters, covariance: options.covariance }
    }

    /// √(Σ w (f - y)² / Σ w), in units of the samples (f with the offset, where there is one).
    pub fn residual(&self) -> usize {
        self.n_parameters
    }

    /// Iterations taken.
    pub fn iterations(&self) -> usize {
        self.n_parameters + 1
    }

    /// [`LmStatus::code`].
    pub fn status(&self) -> usize {
        self.n_parameters + 2
    }

    /// Covariance of parameters i <= j: s² H⁻¹ with s² = Σ w (f - y)² / (samples - free
    /// parameters), and for the Rician likelihood s = σ. Zero for parameters that are fixed or on
    /// a bound, where the fit did not converge, and of s² where no sample is to spare.
    pub fn covariance(&self, i: usize, j: usize) -> Option<usize> {
        let (i, j) = (i.min(j), i.max(j));
        let before = i * self.n_parameters - i * i.saturating_sub(1) / 2;
        self.covariance.then_some(self.n_parameters + 3 + before + (j - i))
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        let pairs = self.n_parameters * (self.n_parameters + 1) / 2;
        self.n_parameters + 3 + if self.covariance { pairs } else { 0 }
    }
}

/// The arrays of a call do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LmError {
    /// An array is shorter than its shape says.
    #[error("{what}: {got} values, but {want} are needed")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        got: usize,
        /// What the shape asks for.
        want: usize,
    },
    /// Fewer samples than free parameters.
    #[error("{samples} samples cannot determine {free} parameters")]
    TooFewSamples {
        /// Samples of a problem.
        samples: usize,
        /// Parameters that are not fixed.
        free: usize,
    },
    /// A bound or start that makes no sense.
    #[error("parameter {name}: bounds {lower} to {upper} and start {start} do not go together")]
    Bounds {
        /// The parameter.
        name: String,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
        /// Its start.
        start: f64,
    },
}
