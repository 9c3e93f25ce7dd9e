//! What can be wrong with the input of a fit.

use fimbria_fitting::active_set::ActiveSetError;

use crate::voxelwise::JobError;

/// Why a fit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum HotError {
    /// Series and gradient table disagree.
    #[error("the series has {series} volumes, the gradient table {table}")]
    VolumeCount {
        /// Volumes of the series.
        series: usize,
        /// Entries of the gradient table.
        table: usize,
    },
    /// An entry of the gradient table is no number, or b is negative.
    #[error(
        "volume {volume} has b = {b_s_per_mm2} s/mm² and direction {dir_ras:?}: \
         b must be finite and not negative, directions finite"
    )]
    Gradient {
        /// Which volume, from 0.
        volume: usize,
        /// Its b in s/mm².
        b_s_per_mm2: f64,
        /// Its direction.
        dir_ras: [f64; 3],
    },
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
