//! What can be wrong with the input of such a fit.

use fimbria_fitting::lm::LmError;

use crate::ProtocolError;
use crate::dti::DtiError;
use crate::noise::NoiseError;
use crate::voxelwise::JobError;

/// Why a fit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CurveError {
    /// The gradient table does not serve.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A limit on b that is none.
    #[error("the largest b to use is {0} s/mm², but must be finite and above 0")]
    LargestB(f64),
    /// No direction was measured at enough values of b.
    #[error(
        "a fit for each gradient direction needs {needed} different b-values in each, but of the \
         {directions} directions{below} the best measured has {most} (directions within \
         {SAME_DIRECTION_DEG}° count as one, b = 0 as measured in all)",
        below = below(*b_max_s_per_mm2),
        SAME_DIRECTION_DEG = super::SAME_DIRECTION_DEG
    )]
    TooFewB {
        /// Values of b that the model needs.
        needed: usize,
        /// Directions found.
        directions: usize,
        /// The largest number of different b in one of them.
        most: usize,
        /// The limit on b.
        b_max_s_per_mm2: Option<f64>,
    },
    /// The b-values do not determine the model.
    #[error("{model} needs {needs}, but the series{below} has {has}", below = below(*b_max_s_per_mm2))]
    Unsupported {
        /// The model.
        model: &'static str,
        /// What it needs.
        needs: &'static str,
        /// What there is.
        has: String,
        /// The limit on b.
        b_max_s_per_mm2: Option<f64>,
    },
    /// A noise level that is none.
    #[error("{what} is {value}, but must be finite and not negative")]
    NoiseLevel {
        /// What was given.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A noise level of zero for a likelihood that divides by it.
    #[error("sigma is 0, but this likelihood needs a noise level above 0")]
    NoNoise,
    /// The noise level could not be estimated.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The tensor fit that gives the axes failed.
    #[error("the tensor fit that gives the axes: {0}")]
    Axes(#[from] DtiError),
    /// The problems cannot be solved.
    #[error(transparent)]
    Solver(#[from] LmError),
    /// No voxel could be fitted.
    #[error(transparent)]
    Job(#[from] JobError),
}

fn below(b_max: Option<f64>) -> String {
    b_max.map_or(String::new(), |b| format!(" with b <= {b} s/mm²"))
}
