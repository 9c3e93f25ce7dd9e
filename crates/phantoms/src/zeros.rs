//! Images to be filled.

use crate::PhantomError;
use fimbria_image::{Grid, Image};
use fimbria_memory::try_zeros;

/// An image of zeros, or an error where memory is short.
pub(crate) fn zeros(grid: Grid, n_volumes: usize) -> Result<Image, PhantomError> {
    let voxels = grid.len();
    let bytes = voxels as u128 * n_volumes as u128 * size_of::<f32>() as u128;
    let memory = || PhantomError::Memory { n_volumes, voxels, bytes };
    let samples = voxels.checked_mul(n_volumes).ok_or_else(memory)?;
    let data = try_zeros(samples).map_err(|_| memory())?;
    Ok(Image { grid, n_volumes, data })
}
