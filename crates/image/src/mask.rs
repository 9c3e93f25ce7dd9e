//! Which voxels to work on.

use crate::{Grid, Image};

/// A set of voxels of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// The lattice.
    pub grid: Grid,
    /// Linear indices of the voxels inside, ascending.
    pub voxels: Vec<u32>,
}

impl Mask {
    /// Every voxel of the grid.
    pub fn full(grid: Grid) -> Self {
        Self { grid, voxels: (0..grid.len() as u32).collect() }
    }

    /// The voxels of the first volume that are above zero (NaN is outside).
    pub fn from_image(image: &Image) -> Self {
        let inside = image.volume(0).iter().enumerate().filter(|(_, v)| **v > 0.0);
        Self { grid: image.grid, voxels: inside.map(|(i, _)| i as u32).collect() }
    }

    /// Number of voxels inside.
    pub fn len(&self) -> usize {
        self.voxels.len()
    }

    /// True where no voxel is inside.
    pub fn is_empty(&self) -> bool {
        self.voxels.is_empty()
    }
}
