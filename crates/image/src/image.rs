//! Volumes of `f32` on a grid.

use crate::Grid;

/// One or more `f32` volumes on one grid, x fastest, then y, z, volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// The lattice all volumes share.
    pub grid: Grid,
    /// Number of volumes; 1 for a scalar map.
    pub n_volumes: usize,
    /// `grid.len() * n_volumes` samples.
    pub data: Vec<f32>,
}

impl Image {
    /// An image full of zeros.
    pub fn zeros(grid: Grid, n_volumes: usize) -> Self {
        Self { grid, n_volumes, data: vec![0.0; grid.len() * n_volumes] }
    }

    /// The samples of one volume.
    ///
    /// # Panics
    /// Where `volume >= n_volumes`.
    pub fn volume(&self, volume: usize) -> &[f32] {
        let n = self.grid.len();
        &self.data[volume * n..(volume + 1) * n]
    }

    /// The samples of one volume, to write to.
    ///
    /// # Panics
    /// Where `volume >= n_volumes`.
    pub fn volume_mut(&mut self, volume: usize) -> &mut [f32] {
        let n = self.grid.len();
        &mut self.data[volume * n..(volume + 1) * n]
    }
}
