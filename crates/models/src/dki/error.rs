//! What can be wrong with the input of a kurtosis fit.

use fimbria_compute::Interrupted;
use fimbria_fitting::active_set::ActiveSetError;
use fimbria_fitting::linear::DesignError;

use crate::ProtocolError;
use crate::voxelwise::JobError;

/// Why a kurtosis fit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum DkiError {
    /// The gradient table does not serve.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The largest b is not a b-value.
    #[error("the largest b is {0} s/mm², but it must be positive and finite")]
    LargestB(f64),
    /// The clipping range is empty.
    #[error("kurtosis cannot be clipped to {low} .. {high}")]
    Clip {
        /// The lower limit.
        low: f32,
        /// The upper limit.
        high: f32,
    },
    /// One shell cannot tell kurtosis from diffusivity.
    #[error(
        "kurtosis needs two shells beside b = 0 at least, and up to b = {b_max_s_per_mm2} s/mm² \
         there are {}: {}", .shells_s_per_mm2.len(), list(.shells_s_per_mm2)
    )]
    Shells {
        /// Mean b of the weighted shells that are used, s/mm².
        shells_s_per_mm2: Vec<f64>,
        /// The largest b that is used.
        b_max_s_per_mm2: f64,
    },
    /// Too few directions for a tensor of order 4.
    #[error(
        "a kurtosis tensor has 15 unknowns and needs as many distinct directions, and up to \
         b = {b_max_s_per_mm2} s/mm² there are {directions}"
    )]
    Directions {
        /// Distinct directions (up to sign) of the weighted volumes that are used.
        directions: usize,
        /// The largest b that is used.
        b_max_s_per_mm2: f64,
    },
    /// The acquisition leaves some combination of the unknowns open.
    #[error("the acquisition cannot determine the kurtosis model: {0}")]
    Design(#[from] DesignError),
    /// The constraints could not be formed.
    #[error("the constraints of the kurtosis fit: {0}")]
    Constraints(ActiveSetError),
    /// The voxels could not be driven through the fit.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

fn list(b_s_per_mm2: &[f64]) -> String {
    match b_s_per_mm2 {
        [] => "none".to_owned(),
        _ => b_s_per_mm2.iter().map(|b| format!("{b:.0}")).collect::<Vec<_>>().join(", "),
    }
}
