//! How much room streamlines take.

use fimbria_image::{Affine, Grid};
use fimbria_streamlines::edit::divided;

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

    /// Adds a streamline, looked at every half voxel at least.
    pub(super) fn add(&mut self, points: &[[f32; 3]]) {
        let Self { grid, vox_from_ras, bits, count } = self;
        let edge = grid.ras_from_vox.spacing().into_iter().fold(f64::INFINITY, f64::min);
        divided(points, edge / 2.0, edge / 2.0, |pos| {
            let at = vox_from_ras.apply(pos).map(f64::round);
            if (0..3).all(|a| at[a] >= 0.0 && at[a] < grid.dims[a] as f64) {
                let index = grid.index(at.map(|x| x as usize));
                let bit = 1 << (index % 64);
                *count += u64::from(bits[index / 64] & bit == 0);
                bits[index / 64] |= bit;
            }
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
}
