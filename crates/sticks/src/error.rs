//! Why nothing was sampled.

use fimbria_compute::Interrupted;
use fimbria_image::GridMismatch;
use fimbria_models::ProtocolError;
use fimbria_models::dti::DtiError;

use crate::BadOption;
use crate::start::StartError;

/// Why nothing was sampled.
#[derive(Debug, thiserror::Error)]
pub enum SticksError {
    /// An option that makes no sense.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// The gradient table does not serve.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Fewer measurements than parameters.
    #[error("{measurements} volumes cannot determine {parameters} parameters; sample fewer fibres")]
    TooFew {
        /// Volumes.
        measurements: usize,
        /// Parameters of a voxel.
        parameters: usize,
    },
    /// The start needs a tensor, and the table determines none.
    #[error("a tensor, where chains start, cannot be fitted: {0}")]
    Tensor(#[from] DtiError),
    /// The mask or the gradient deviation lies on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A gradient deviation has nine volumes.
    #[error("the gradient deviation has {0} volumes; it must have 9")]
    Deviation(usize),
    /// The mask has no voxel.
    #[error("the mask is empty")]
    EmptyMask,
    /// There is not enough memory for the samples.
    #[error("{samples} samples of {fibres} fibres in {voxels} voxels do not fit into memory")]
    Memory {
        /// Samples of a voxel.
        samples: usize,
        /// Fibres.
        fibres: usize,
        /// Voxels.
        voxels: usize,
    },
    /// A start could not be computed.
    #[error("no start for the chains: {0}")]
    Start(String),
    /// Another process does not sample what the first one does.
    #[error(
        "process {0} hands over samples of other voxels than the first has: all need the same input"
    )]
    OtherWork(usize),
    /// Finished chunks could not be kept.
    #[error(transparent)]
    Keep(#[from] std::io::Error),
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl From<StartError> for SticksError {
    fn from(error: StartError) -> Self {
        Self::Start(error.to_string())
    }
}
