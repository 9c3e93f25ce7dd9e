//! Volumes of `f32` on a grid.

use fimbria_memory::zeros;
use rayon::prelude::*;

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
        Self { grid, n_volumes, data: zeros(grid.len() * n_volumes) }
    }

    /// The samples of one volume.
    ///
    /// # Panics
    /// Where `volume >= n_volumes`.
    pub fn volume(&self, volume: usize) -> &[f32] {
        let n = self.grid.len();
        &self.data[volume * n..(volume + 1) * n]
    }

    /// How many samples are NaN or infinite, on the threads of the current rayon pool.
    pub fn count_non_finite(&self) -> usize {
        let count = |part: &[f32]| part.iter().filter(|v| !v.is_finite()).count();
        self.data.par_chunks(1 << 16).map(count).sum()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Affine;

    #[test]
    fn nan_and_infinity_are_counted() {
        let grid = Grid { dims: [100, 100, 10], ras_from_vox: Affine::IDENTITY };
        let mut image = Image::zeros(grid, 1);
        assert_eq!(image.count_non_finite(), 0);
        image.data[3] = f32::NAN;
        image.data[99_999] = f32::NEG_INFINITY;
        assert_eq!(image.count_non_finite(), 2);
    }
}
