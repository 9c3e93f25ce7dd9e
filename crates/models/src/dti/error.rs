//! What can be wrong with the input of a tensor fit.

use fimbria_image::GridMismatch;

use super::recipe::N_PARAMS;
use crate::ProtocolError;
use crate::voxelwise::JobError;

/// Why a tensor fit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum DtiError {
    /// The gradient table does not serve.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The acquisition does not determine a tensor.
    #[error(
        "the acquisition cannot determine a tensor: {volumes} volumes ({unweighted} without \
         weighting, {directions} distinct directions with) fix only {rank} of {N_PARAMS} unknowns; \
         needed are 6 well-spread directions, and an unweighted volume or a second b"
    )]
    RankDeficient {
        /// Volumes of the series.
        volumes: usize,
        /// Those at or below the b0 threshold.
        unweighted: usize,
        /// Distinct directions (up to sign) of the others.
        directions: usize,
        /// Unknowns that are determined.
        rank: usize,
    },
    /// The deviation image lies on another grid than the series.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// The gradient deviation image has the wrong shape.
    #[error("the gradient deviation image has {found} volumes where 9 are needed")]
    DeviationVolumes {
        /// Volumes it has.
        found: usize,
    },
    /// Sigma is not a noise level.
    #[error("sigma is {0}, but a noise level is positive and finite")]
    Sigma(f64),
    /// Sigma was given to a method that makes no use of it.
    #[error("sigma is used by the method restore only")]
    SigmaUnused,
    /// No voxel could be fitted.
    #[error(transparent)]
    Job(#[from] JobError),
}
