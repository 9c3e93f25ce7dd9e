//! Volumes of `f32` on a grid.

use fimbria_memory::zeros;
use rayon::prelude::*;

use crate::{Affine, Grid};

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

    /// What the voxels of `grid` hold of this image: the samples of the nearest voxel in the scanner, 0
    /// beyond its volume.
    #[must_use]
    pub fn at_nearest_voxels(&self, grid: &Grid) -> Self {
        let mut taken = Self::zeros(*grid, self.n_volumes);
        // A grid whose affine is singular cannot be read.
        let vox_from_ras = self.grid.ras_from_vox.inverse().unwrap_or(Affine::IDENTITY);
        let from = vox_from_ras.after(&grid.ras_from_vox);
        for voxel in 0..grid.len() {
            let at = from.apply(grid.voxel(voxel).map(|i| i as f64)).map(f64::round);
            let inside = (0..3).all(|a| at[a] >= 0.0 && at[a] < self.grid.dims[a] as f64);
            if inside {
                let source = self.grid.index(at.map(|i| i as usize));
                for volume in 0..self.n_volumes {
                    taken.volume_mut(volume)[voxel] = self.volume(volume)[source];
                }
            }
        }
        taken
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

    #[test]
    fn a_finer_grid_takes_each_voxel_several_times_and_zero_beyond() {
        let grid = Grid { dims: [2, 1, 1], ras_from_vox: Affine::from_spacing([2.0, 1.0, 1.0]) };
        let image = Image { grid, n_volumes: 2, data: vec![1.0, 2.0, 3.0, 4.0] };
        let mut fine = Grid { dims: [6, 1, 1], ras_from_vox: Affine::IDENTITY };
        // Voxels at -1.4, -0.4, ... 3.6 mm; those of the image are 2 mm wide about 0 and 2.
        fine.ras_from_vox.0[0][3] = -1.4;
        let taken = image.at_nearest_voxels(&fine);
        assert_eq!(taken.volume(0), [0.0, 1.0, 1.0, 2.0, 2.0, 0.0]);
        assert_eq!(taken.volume(1), [0.0, 3.0, 3.0, 4.0, 4.0, 0.0]);
        assert_eq!(image.at_nearest_voxels(&grid), image);
    }

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
