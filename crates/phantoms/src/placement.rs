//! Where the image lies in the scanner.

use fimbria_image::{Affine, Grid};

use crate::PhantomError;
use crate::anatomy::Anatomy;

/// The image grid: its centre is the scanner's origin, where the phantom's centre is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Number of voxels along x, y, z of the array.
    pub dims: [usize; 3],
    /// Voxel size in mm.
    pub voxel_mm: [f64; 3],
    /// Turns of the grid about scanner x, then y, then z, in degrees: an oblique acquisition.
    pub tilt_deg: [f64; 3],
    /// True where the array's x axis runs from right to left (det(affine) < 0), as most scanners
    /// store it.
    pub x_right_to_left: bool,
}

impl Placement {
    /// That the grid is one that a head lies in: its tracts are made at a fixed distance.
    ///
    /// # Errors
    /// Where it is metres long.
    pub(crate) fn check_head(&self) -> Result<(), PhantomError> {
        let longest = (0..3).map(|a| self.dims[a] as f64 * self.voxel_mm[a]).fold(0.0, f64::max);
        let needed = "a grid of 1000 mm or less along each axis, as a head lies in";
        PhantomError::require(longest <= 1000.0, "longest side in mm", longest, needed)
    }

    /// The grid.
    ///
    /// # Errors
    /// Where there are no voxels or too many, or sizes and angles are not finite.
    pub fn grid(&self) -> Result<Grid, PhantomError> {
        let voxels = self.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        if !voxels.is_some_and(|n| n >= 1 && u32::try_from(n).is_ok()) {
            return Err(PhantomError::Grid { dims: self.dims });
        }
        // Headers hold places in f32.
        let sizes = self.voxel_mm.iter().all(|s| s.is_finite() && *s >= 1e-3);
        PhantomError::require(sizes, "voxel size", self.voxel_mm, "0.001 mm at least")?;
        let angles = self.tilt_deg.iter().all(|a| a.is_finite());
        PhantomError::require(angles, "tilt", self.tilt_deg, "finite, in degrees")?;

        let mut ras_from_vox = Affine::from_spacing(self.voxel_mm);
        if self.x_right_to_left {
            ras_from_vox.0[0][0] *= -1.0;
        }
        for (axis, angle) in self.tilt_deg.into_iter().enumerate() {
            ras_from_vox = turn_about(axis, angle.to_radians()).after(&ras_from_vox);
        }
        let centre = ras_from_vox.apply_linear(self.dims.map(|d| 0.5 * (d - 1) as f64));
        for (row, c) in ras_from_vox.0.iter_mut().zip(centre) {
            row[3] = -c;
        }
        Ok(Grid { dims: self.dims, ras_from_vox })
    }
}

/// The turn about a scanner axis.
pub(crate) fn turn_about(axis: usize, angle: f64) -> Affine {
    let (sin, cos) = angle.sin_cos();
    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut turn = Affine::IDENTITY;
    (turn.0[a][a], turn.0[b][b], turn.0[a][b], turn.0[b][a]) = (cos, cos, -sin, sin);
    turn
}

/// Millimetres per unit of the anatomy, so that the brain fills the grid. Where the grid is a
/// slab, thinner than half of what the other directions would allow, the slab cuts through the
/// brain instead of shrinking it.
pub(crate) fn unit_mm(grid: &Grid, anatomy: &Anatomy) -> f64 {
    /// Part of the field of view that the brain takes.
    const FILL: f64 = 0.97;
    let (turn, spacing) = (grid.ras_from_vox.rotation(), grid.ras_from_vox.spacing());
    let fit: [f64; 3] = std::array::from_fn(|axis| {
        // Half the extent of an ellipsoid along the unit vector of a grid axis.
        let half: f64 = (0..3)
            .map(|i| (anatomy.brain.semi_axes[i] * turn[i][axis]).powi(2))
            .sum::<f64>()
            .sqrt();
        0.5 * grid.dims[axis] as f64 * spacing[axis] / half
    });
    let largest = fit.into_iter().fold(0.0, f64::max);
    FILL * fit.into_iter().filter(|f| *f > 0.5 * largest).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBLIQUE: Placement = Placement {
        dims: [20, 24, 18],
        voxel_mm: [2.0, 2.5, 3.0],
        tilt_deg: [10.0, -20.0, 30.0],
        x_right_to_left: true,
    };

    #[test]
    fn the_grid_is_centred_turned_and_keeps_its_voxel_size() {
        let grid = OBLIQUE.grid().unwrap();
        let centre = grid.ras_from_vox.apply([9.5, 11.5, 8.5]);
        assert!(centre.iter().all(|c| c.abs() < 1e-12), "{centre:?}");
        for (s, expected) in grid.ras_from_vox.spacing().into_iter().zip(OBLIQUE.voxel_mm) {
            assert!((s - expected).abs() < 1e-12);
        }
        assert!(grid.ras_from_vox.determinant() < 0.0);
        assert!(grid.ras_from_vox.0[0][1].abs() > 0.1, "not oblique");
        let upright = Placement { x_right_to_left: false, ..OBLIQUE };
        assert!(upright.grid().unwrap().ras_from_vox.determinant() > 0.0);
    }

    #[test]
    fn the_brain_fits_the_grid_and_slabs_cut_it() {
        let anatomy = Anatomy::living();
        let full = Placement { dims: [60, 72, 56], voxel_mm: [2.0; 3], ..OBLIQUE };
        let slab = Placement { dims: [60, 72, 5], ..full };
        let [a, b] = [full, slab].map(|p| unit_mm(&p.grid().unwrap(), &anatomy));
        // No corner of the grid is inside, and the slab shows the same brain, a little larger at
        // most.
        assert!(a > 60.0 && a < 80.0, "{a}");
        assert!(b >= a && b < 1.2 * a, "{a} {b}");
    }

    #[test]
    fn impossible_grids_are_refused() {
        for dims in [[0, 5, 5], [1 << 16, 1 << 16, 1], [usize::MAX, 2, 1]] {
            let placement = Placement { dims, ..OBLIQUE };
            assert_eq!(placement.grid().unwrap_err(), PhantomError::Grid { dims });
        }
        let metres = Placement { voxel_mm: [65536.0; 3], ..OBLIQUE };
        assert!(metres.check_head().is_err() && OBLIQUE.check_head().is_ok());
        let placement = Placement { voxel_mm: [2.0, 0.0, 2.0], ..OBLIQUE };
        assert!(placement.grid().is_err());
    }
}
