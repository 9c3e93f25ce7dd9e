//! Samples of fibre directions from what was found without samples: from peaks.

mod peaks;

use fimbria_image::Mask;
use fimbria_image::sticks::StickSamples;

pub use self::peaks::{Scatter, from_peaks};

/// Samples drawn in each voxel.
const N_SAMPLES: usize = 50;

/// Why no samples are drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SamplesError {
    /// There is not enough memory.
    #[error("{samples} samples of {voxels} voxels need more memory than the system gives")]
    Memory {
        /// Of each voxel.
        samples: usize,
        /// Voxels of the mask.
        voxels: usize,
    },
}

/// Room for samples in the voxels of `mask` where `has` says that there are any; `None` where there are
/// none.
fn room(
    mask: Mask,
    has: impl Fn(usize) -> bool,
    n_fibres: usize,
    n_samples: usize,
) -> Result<Option<StickSamples>, SamplesError> {
    let voxels: Vec<_> = mask.voxels.into_iter().filter(|v| has(*v as usize)).collect();
    if voxels.is_empty() {
        return Ok(None);
    }
    let n = voxels.len();
    StickSamples::empty(Mask { grid: mask.grid, voxels }, n_fibres, n_samples)
        .map(Some)
        .ok_or(SamplesError::Memory { samples: n_samples, voxels: n })
}
