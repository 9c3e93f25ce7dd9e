//! Upright pictures whatever the storage order: voxel axes matched to scanner axes.

use fimbria_image::Grid;

/// A grid looked at along the axes nearest to scanner RAS+: x to the right, y to the front, z up.
///
/// Voxels are only renumbered, never resampled, so an oblique volume keeps its own planes.
#[derive(Clone, Debug)]
pub(crate) struct Canonical {
    grid: Grid,
    /// Storage axis that runs along canonical axis 0, 1, 2.
    storage_axis: [usize; 3],
    /// True where that storage axis runs to the left, the back or down.
    reversed: [bool; 3],
    /// From voxel axes to scanner axes, orthonormal.
    rotation: [[f64; 3]; 3],
    /// Voxels along each canonical axis.
    pub(crate) dims: [usize; 3],
    /// Distance of neighbouring voxels along each canonical axis.
    pub(crate) spacing_mm: [f64; 3],
}

const PERMUTATIONS: [[usize; 3]; 6] =
    [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]];

impl Canonical {
    pub(crate) fn new(grid: &Grid) -> Self {
        let rotation = grid.ras_from_vox.rotation();
        let alignment = |p: &[usize; 3]| (0..3).map(|c| rotation[c][p[c]].abs()).sum::<f64>();
        let storage_axis = PERMUTATIONS.into_iter().fold(PERMUTATIONS[0], |best, p| {
            // The margin keeps the storage order where a grid is turned by 45 degrees.
            if alignment(&p) > alignment(&best) + 1e-9 { p } else { best }
        });
        let spacing = grid.ras_from_vox.spacing();
        Self {
            grid: *grid,
            storage_axis,
            reversed: std::array::from_fn(|c| rotation[c][storage_axis[c]] < 0.0),
            rotation,
            dims: storage_axis.map(|a| grid.dims[a]),
            spacing_mm: storage_axis.map(|a| if spacing[a] > 0.0 { spacing[a] } else { 1.0 }),
        }
    }

    /// Storage voxel of a canonical voxel.
    fn storage(&self, voxel: [usize; 3]) -> [usize; 3] {
        let mut stored = [0; 3];
        for c in 0..3 {
            stored[self.storage_axis[c]] =
                if self.reversed[c] { self.dims[c] - 1 - voxel[c] } else { voxel[c] };
        }
        stored
    }

    /// Linear storage index of a canonical voxel.
    pub(crate) fn index(&self, voxel: [usize; 3]) -> usize {
        self.grid.index(self.storage(voxel))
    }

    /// Canonical voxel of a linear storage index.
    pub(crate) fn voxel(&self, index: usize) -> [usize; 3] {
        let stored = self.grid.voxel(index);
        std::array::from_fn(|c| {
            let i = stored[self.storage_axis[c]];
            if self.reversed[c] { self.dims[c] - 1 - i } else { i }
        })
    }

    /// Canonical voxel coordinates (integer = centre) of storage voxel coordinates.
    pub(crate) fn coordinates(&self, pos_vox: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|c| {
            let x = pos_vox[self.storage_axis[c]];
            if self.reversed[c] { self.dims[c] as f64 - 1.0 - x } else { x }
        })
    }

    /// Scanner position of a canonical voxel's centre.
    pub(crate) fn pos_ras(&self, voxel: [usize; 3]) -> [f64; 3] {
        self.grid.ras_from_vox.apply(self.storage(voxel).map(|i| i as f64))
    }

    /// A scanner direction in canonical axes: turned with the grid, so that a stick drawn over
    /// the voxels of an oblique volume follows its structures.
    pub(crate) fn turn(&self, dir_ras: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|c| {
            let a = self.storage_axis[c];
            let along: f64 = (0..3).map(|r| self.rotation[r][a] * dir_ras[r]).sum();
            if self.reversed[c] { -along } else { along }
        })
    }

    /// True where a canonical axis leaves its scanner axis by more than half a degree, so that
    /// the scanner coordinate of a slice is only that of its centre.
    pub(crate) fn is_oblique(&self) -> bool {
        (0..3).any(|c| self.rotation[c][self.storage_axis[c]].abs() < 0.5f64.to_radians().cos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::Affine;

    fn grid(rows: [[f64; 4]; 3]) -> Grid {
        Grid { dims: [5, 6, 7], ras_from_vox: Affine(rows) }
    }

    #[test]
    fn every_storage_order_is_turned_to_right_front_up() {
        // Signed permutations of the axes, and a rotation by 20 degrees about z on top of them.
        let (cos, sin) = (20f64.to_radians().cos(), 20f64.to_radians().sin());
        for p in PERMUTATIONS {
            for signs in 0..8 {
                let mut rows = [[0.0; 4]; 3];
                for (r, &axis) in p.iter().enumerate() {
                    rows[r][axis] = if signs >> r & 1 == 1 { -2.0 } else { 2.0 };
                }
                let mut oblique = rows;
                for j in 0..3 {
                    oblique[0][j] = cos * rows[0][j] - sin * rows[1][j];
                    oblique[1][j] = sin * rows[0][j] + cos * rows[1][j];
                }
                for rows in [rows, oblique] {
                    let grid = grid(rows);
                    let canonical = Canonical::new(&grid);
                    let origin = canonical.pos_ras([1, 1, 1]);
                    for c in 0..3 {
                        let mut next = [1, 1, 1];
                        next[c] = 2;
                        let step: Vec<f64> =
                            (0..3).map(|r| canonical.pos_ras(next)[r] - origin[r]).collect();
                        assert!(step[c] > 1.8, "axis {c} of {rows:?} steps by {step:?}");
                        let turned = canonical.turn([step[0], step[1], step[2]]);
                        assert!((turned[c] - 2.0).abs() < 1e-9, "{turned:?}");
                    }
                    for voxel in [[0, 3, 4], [2, 1, 0]] {
                        let pos_vox = canonical.storage(voxel).map(|i| i as f64);
                        assert_eq!(canonical.coordinates(pos_vox), voxel.map(|i| i as f64));
                    }
                    for index in 0..grid.len() {
                        assert_eq!(canonical.index(canonical.voxel(index)), index);
                    }
                }
            }
        }
    }

    #[test]
    fn a_degenerate_affine_still_has_pixels_of_some_size() {
        let canonical = Canonical::new(&grid([[0.0; 4]; 3]));
        assert_eq!(canonical.spacing_mm, [1.0; 3]);
        assert_eq!(canonical.storage_axis, [0, 1, 2]);
    }
}
