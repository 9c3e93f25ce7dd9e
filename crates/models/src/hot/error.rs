//! What can be wrong with the input of a fit.

use fimbria_fitting::active_set::ActiveSetError;

use crate::ProtocolError;
use crate::voxelwise::JobError;

/// Why a fit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum HotError {
    /// The gradient table does not serve.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The acquisition does not determine the form.
    #[error(
        "the acquisition cannot determine a form of order {order}: {volumes} volumes \
         ({unweighted} without weighting, {directions} distinct directions with) fix only {rank} \
         of {unknowns} unknowns; needed are {} well-spread directions, and an unweighted volume \
         or a second b", .unknowns - 1
    )]
    RankDeficient {
        /// The order.
        order: usize,
        /// Volumes of the series.
        volumes: usize,
        /// Those at or below the b0 threshold.
        unweighted: usize,
        /// Distinct directions (up to sign) of the others.
        directions: usize,
        /// Unknowns that are determined.
        rank: usize,
        /// Unknowns there are.
        unknowns: usize,
    },
    /// The constraints of a positive form make no programme.
    #[error(transparent)]
    Constraints(#[from] ActiveSetError),
    /// No voxel could be fitted.
    #[error(transparent)]
    Job(#[from] JobError),
}
