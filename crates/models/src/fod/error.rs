//! What can be wrong with the input of a deconvolution.

use fimbria_compute::{HostError, Interrupted};
use fimbria_fitting::active_set::ActiveSetError;
use fimbria_image::{GridMismatch, counted};

use super::ResponseError;
use crate::ProtocolError;
use crate::dti::DtiError;
use crate::voxelwise::JobError;

/// Why a deconvolution did not happen.
#[derive(Debug, thiserror::Error)]
pub enum FodError {
    /// An order that is not offered.
    #[error("order {0}: fibre orientation densities have order 4, 6, 8, 10 or 12")]
    Order(usize),
    /// A regularisation that is none.
    #[error("a regularisation of {0}: it is a small positive number")]
    Regularisation(f64),
    /// The gradient table does not serve.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// No shell has enough directions for the order.
    #[error(
        "order {order} needs {needed} distinct gradient directions on the shells used, {found} were \
         found (and {determined} to be determined by the data without the help of the constraint)"
    )]
    Directions {
        /// The order.
        order: usize,
        /// Directions it needs at least.
        needed: usize,
        /// Directions there are.
        found: usize,
        /// Directions that determine it.
        determined: usize,
    },
    /// Several tissues cannot be told apart.
    #[error("three tissues need unweighted volumes, and there are none")]
    Unweighted,
    /// The gradient table has no weighted volume.
    #[error("no volume is diffusion-weighted (b above {b0_threshold} s/mm²)")]
    NoShell {
        /// b up to which a volume counts as unweighted.
        b0_threshold: f64,
    },
    /// A response was given for a tissue that the model does not have.
    #[error("a response of {0} was given, but the fit has fibres only")]
    UnusedResponse(&'static str),
    /// A response does not fit the data.
    #[error("the response of {tissue}: {source}")]
    Response {
        /// Whose response.
        tissue: &'static str,
        /// What is wrong.
        source: ResponseError,
    },
    /// Single fibres that look the same from everywhere.
    #[error(
        "the response of single fibres does not depend on direction: it is that of another tissue"
    )]
    NoAnisotropy,
    /// Grey matter that loses more signal than fluid.
    #[error(
        "the response of fluid falls less with b than that of grey matter: they are exchanged, or of \
         other tissues"
    )]
    SlowFluid,
    /// The data hold too few voxels to estimate a response from.
    #[error(
        "only {} of the mask can be {tissue} ({criterion}), {needed} are needed to estimate its \
         response; give one", counted(*found, "voxel")
    )]
    TooFewVoxels {
        /// Which tissue.
        tissue: &'static str,
        /// What was asked of them.
        criterion: &'static str,
        /// Voxels found.
        found: usize,
        /// Voxels needed.
        needed: usize,
    },
    /// The equations are singular.
    #[error("the deconvolution has no unique solution: {0}")]
    Singular(#[from] ActiveSetError),
    /// The tensor fit that looks for single fibres failed.
    #[error("looking for single fibres: {0}")]
    Tensor(#[from] DtiError),
    /// The mask lies on another grid than the series.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// There is no memory.
    #[error(transparent)]
    Memory(#[from] HostError),
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl From<JobError> for FodError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Grid(error) => error.into(),
            JobError::Memory(error) => error.into(),
            JobError::Interrupted(error) => error.into(),
        }
    }
}
