//! How much room streamlines take.

use fimbria_image::{Affine, Grid, voxels_on_line};

/// The voxels of a grid that streamlines pass.
pub(super) struct Visited {
    grid: Grid,
    vox_from_ras: Affine,
    bits: Vec<u64>,
    count: u64,
}

impl Visited {
    /// None yet; `None` of a grid whose affine has no inverse.
    pub(super) fn on(grid: Grid) -> Option<Self> {
        let vox_from_ras = grid.ras_from_vox.inverse()?;
        Some(Self { grid, vox_from_ras, bits: vec![0; grid.len().div_ceil(64)], count: 0 })
    }

    /// Adds a streamline: every voxel that it crosses.
    pub(super) fn add(&mut self, points: &[[f32; 3]]) {
        let Self { grid, vox_from_ras, bits, count } = self;
        let points_vox = points.iter().map(|point| vox_from_ras.apply(point.map(f64::from)));
        voxels_on_line(grid.dims, points_vox, |voxel| {
            let index = grid.index(voxel);
            let bit = 1 << (index % 64);
            *count += u64::from(bits[index / 64] & bit == 0);
            bits[index / 64] |= bit;
        });
    }

    /// The volume of the voxels, mm³.
    pub(super) fn volume_mm3(&self) -> f64 {
        self.count as f64 * self.grid.ras_from_vox.determinant().abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_along_an_axis_has_the_volume_of_the_voxels_it_runs_through() {
        let ras_from_vox = Affine::from_spacing([2.0, 3.0, 1.0]);
        let mut visited = Visited::on(Grid { dims: [10, 4, 4], ras_from_vox }).unwrap();
        visited.add(&[[0.0, 3.0, 1.0], [18.0, 3.0, 1.0]]);
        visited.add(&[[-9.0, 3.0, 1.0], [5.0, 3.1, 1.0]]);
        assert_eq!(visited.volume_mm3(), 60.0);
    }

    #[test]
    fn a_corner_that_a_line_cuts_counts() {
        let ras_from_vox = Affine::from_spacing([1.0; 3]);
        let mut visited = Visited::on(Grid { dims: [3, 3, 1], ras_from_vox }).unwrap();
        // From voxel 0 0 to 1 1 by way of 1 0, of which it has some hundredths of a millimetre.
        visited.add(&[[0.49, 0.45, 0.0], [0.51, 0.51, 0.0]]);
        assert_eq!(visited.volume_mm3(), 3.0);
    }
}
