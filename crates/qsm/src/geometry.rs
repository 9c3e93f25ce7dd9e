//! Where voxels stand relative to each other and to B0.

use fimbria_compute::dense::vec3::unit;
use fimbria_image::{Affine, Grid};

use crate::QsmError;

/// The lattice of a volume and the direction of B0 in it.
///
/// Lengths are in units of the cube root of a voxel's volume, so that every voxel has volume 1 and
/// the kernels keep the published form; axes are the voxel axes, so that oblique volumes need no
/// resampling: B0 and fibre axes are turned instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Number of voxels along each axis.
    pub dims: [usize; 3],
    /// Distance of neighbouring voxels along each axis; the product is 1.
    pub spacing: [f64; 3],
    /// The unit vector along B0, in voxel axes.
    pub b0: [f64; 3],
    /// Whether each voxel axis runs to the left, back or down: against the axis of the scanner (to the right, front
    /// or up) that it is nearest to. Maps whose differences are one-sided are the same however a volume is stored.
    pub reversed: [bool; 3],
}

impl Geometry {
    /// Of `grid` in a field along `b0_ras` (scanner axes, any length).
    ///
    /// # Errors
    /// [`QsmError::B0`] where the direction has no length, [`QsmError::Sheared`] where voxel axes
    /// are not at right angles.
    pub fn new(grid: &Grid, b0_ras: [f64; 3]) -> Result<Self, QsmError> {
        Self::in_voxel_axes(grid, dir_vox(&grid.ras_from_vox, b0_ras))
    }

    /// Of `grid` in a field along `b0_vox` (voxel axes, any length).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_voxel_axes(grid: &Grid, b0_vox: [f64; 3]) -> Result<Self, QsmError> {
        let b0 = unit(b0_vox).ok_or(QsmError::B0(b0_vox))?;
        check_right_angles(&grid.ras_from_vox)?;
        let mm = grid.ras_from_vox.spacing();
        let unit_mm = mm.iter().product::<f64>().cbrt();
        let reversed = reversed_axes(&grid.ras_from_vox);
        Ok(Self { dims: grid.dims, spacing: mm.map(|s| s / unit_mm), b0, reversed })
    }

    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// True where a dimension is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Voxel (i, j, k) of a linear index, x fastest.
    pub fn voxel(&self, index: usize) -> [usize; 3] {
        let [nx, ny, _] = self.dims;
        [index % nx, index / nx % ny, index / (nx * ny)]
    }

    /// The displacement of `steps` voxels along each axis.
    pub fn displacement(&self, steps: [i64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| steps[a] as f64 * self.spacing[a])
    }
}

/// A direction of the scanner's axes in voxel axes.
pub fn dir_vox(ras_from_vox: &Affine, dir_ras: [f64; 3]) -> [f64; 3] {
    let turn = ras_from_vox.rotation();
    std::array::from_fn(|a| (0..3).map(|i| turn[i][a] * dir_ras[i]).sum())
}

/// How much the scanner's axes count where a voxel axis lies between them: at 45°, where rounding must not decide, the
/// earlier is the nearest.
const EARLIER_FIRST: [f64; 3] = [1.0, 0.99, 0.98];

/// Of each voxel axis whether it runs against the scanner's axis that it is nearest to.
fn reversed_axes(ras_from_vox: &Affine) -> [bool; 3] {
    let turn = ras_from_vox.rotation();
    let along = |a: usize| [0, 1, 2].map(|i| turn[i][a] * EARLIER_FIRST[i]);
    let nearest = |axis: [f64; 3]| axis.into_iter().max_by(|x, y| x.abs().total_cmp(&y.abs()));
    [0, 1, 2].map(|a| nearest(along(a)).is_some_and(|part| part < 0.0))
}

/// Voxel axes more than this from a right angle are no lattice the kernels know.
const LARGEST_SHEAR_COS: f64 = 0.01;

fn check_right_angles(affine: &Affine) -> Result<(), QsmError> {
    let (m, s) = (affine.linear(), affine.spacing());
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let cos = (0..3).map(|r| m[r][i] * m[r][j]).sum::<f64>() / (s[i] * s[j]);
        if cos.is_nan() || cos.abs() > LARGEST_SHEAR_COS {
            return Err(QsmError::Sheared { angle_deg: cos.acos().to_degrees() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reversed(columns: [[f64; 3]; 3]) -> [bool; 3] {
        let rows = [0, 1, 2].map(|i| [columns[0][i], columns[1][i], columns[2][i], 7.0]);
        let grid = Grid { dims: [4; 3], ras_from_vox: Affine(rows) };
        Geometry::new(&grid, [0.0, 0.0, 1.0]).unwrap().reversed
    }

    #[test]
    fn axes_are_reversed_where_they_run_against_the_nearest_of_the_scanner() {
        assert_eq!(reversed([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]), [false; 3]);
        // As a scanner writes sagittal slices: to the back, down, to the left.
        assert_eq!(reversed([[0.0, -2.0, 0.0], [0.0, 0.0, -2.0], [-3.0, 0.0, 0.0]]), [true; 3]);
        // 40° about x.
        let (s, c) = 40_f64.to_radians().sin_cos();
        let oblique = [[-1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]];
        assert_eq!(reversed(oblique), [true, false, false]);
    }

    /// Both axes are as near to x as to y, up to rounding either way.
    #[test]
    fn at_half_a_right_angle_the_earlier_axis_decides() {
        for off in [-1e-9, 1e-9] {
            let turned = [[1.0, 1.0 + off, 0.0], [-1.0 - off, 1.0, 0.0], [0.0, 0.0, 1.4]];
            assert_eq!(reversed(turned), [false, true, false], "{off}");
            let flipped = turned.map(|column| column.map(|c| -c));
            assert_eq!(reversed(flipped), [true, false, true], "{off}");
        }
    }
}
