//! Where voxels are: grids and affines.

use serde::{Deserialize, Serialize};

use crate::matrix;

/// An affine map of 3-space, stored as the three upper rows of its 4x4 matrix (row-major).
///
/// Names of variables say the two spaces, target first: `ras_from_vox.apply(pos_vox)` is a
/// position in scanner RAS+ mm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Affine(pub [[f64; 4]; 3]);

impl Affine {
    /// The map that changes nothing.
    pub const IDENTITY: Self =
        Self([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]);

    /// Axes along voxel axes with the given spacing in mm, origin at voxel 0.
    pub fn from_spacing(spacing_mm: [f64; 3]) -> Self {
        let mut a = Self::IDENTITY;
        for i in 0..3 {
            a.0[i][i] = spacing_mm[i];
        }
        a
    }

    /// The linear 3x3 part (row-major).
    pub fn linear(&self) -> [[f64; 3]; 3] {
        self.0.map(|r| [r[0], r[1], r[2]])
    }

    /// The image of a point.
    pub fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        self.0.map(|r| r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3])
    }

    /// The image of a displacement (no translation).
    pub fn apply_linear(&self, d: [f64; 3]) -> [f64; 3] {
        self.0.map(|r| r[0] * d[0] + r[1] * d[1] + r[2] * d[2])
    }

    /// `self` after `first`.
    pub fn after(&self, first: &Self) -> Self {
        let mut out = [[0.0; 4]; 3];
        for i in 0..3 {
            for j in 0..4 {
                out[i][j] = (0..3).map(|k| self.0[i][k] * first.0[k][j]).sum::<f64>();
            }
            out[i][3] += self.0[i][3];
        }
        Self(out)
    }

    /// Determinant of the linear part. Its sign tells FSL's storage convention: positive is
    /// "neurological", and FSL then counts the x component of bvecs the other way.
    pub fn determinant(&self) -> f64 {
        matrix::determinant(&self.linear())
    }

    /// The inverse map, or `None` where the linear part is singular or not finite.
    pub fn inverse(&self) -> Option<Self> {
        let linear = matrix::inverse(&self.linear())?;
        let mut inv = linear.map(|row| [row[0], row[1], row[2], 0.0]);
        for row in &mut inv {
            row[3] = -(0..3).map(|k| row[k] * self.0[k][3]).sum::<f64>();
        }
        Some(Self(inv))
    }

    /// Lengths of the columns: the voxel size in mm along each voxel axis.
    pub fn spacing(&self) -> [f64; 3] {
        std::array::from_fn(|j| (0..3).map(|i| self.0[i][j].powi(2)).sum::<f64>().sqrt())
    }

    /// The orthonormal matrix nearest to the linear part with its column lengths removed
    /// (row-major): the rotation, reflection included, from voxel axes to scanner axes.
    ///
    /// Directions turn with this matrix, not with the affine itself, so that anisotropic voxels
    /// do not bend them. Computed by Newton's iteration for the polar factor, which converges
    /// quadratically for any non-singular matrix.
    pub fn rotation(&self) -> [[f64; 3]; 3] {
        let s = self.spacing();
        let mut q = Self(std::array::from_fn(|i| {
            [self.0[i][0] / s[0], self.0[i][1] / s[1], self.0[i][2] / s[2], 0.0]
        }));
        for _ in 0..30 {
            let Some(inv) = q.inverse() else { return Self::IDENTITY.linear() };
            let mut change = 0.0f64;
            for i in 0..3 {
                for j in 0..3 {
                    let next = 0.5 * (q.0[i][j] + inv.0[j][i]);
                    change = change.max((next - q.0[i][j]).abs());
                    q.0[i][j] = next;
                }
            }
            if change < 1e-15 {
                break;
            }
        }
        q.linear()
    }
}

/// The lattice of an image: dimensions and position in the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Number of voxels along x, y, z.
    pub dims: [usize; 3],
    /// From voxel coordinates (integer = centre) to scanner RAS+ mm.
    pub ras_from_vox: Affine,
}

/// Two images that should share a grid do not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GridMismatch {
    /// The dimensions differ.
    #[error("{what} has {found:?} voxels where {expected:?} are needed")]
    Dimensions {
        /// What was looked at, for the message.
        what: String,
        /// The dimensions it has.
        found: [usize; 3],
        /// The dimensions it should have.
        expected: [usize; 3],
    },
    /// The affines put a corner voxel at different places.
    #[error("{what} lies elsewhere in the scanner: a corner voxel is {distance_mm:.3} mm away")]
    Position {
        /// What was looked at, for the message.
        what: String,
        /// Largest distance between corresponding corner voxels.
        distance_mm: f64,
    },
}

impl Grid {
    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// True where a dimension is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Linear index of voxel (i, j, k): x fastest.
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.dims[0] * (j + self.dims[1] * k)
    }

    /// Voxel (i, j, k) of a linear index.
    pub fn voxel(&self, index: usize) -> [usize; 3] {
        let [nx, ny, _] = self.dims;
        [index % nx, index / nx % ny, index / (nx * ny)]
    }

    /// Checks that `other`, described by `what`, is this grid: same dimensions, and every corner
    /// voxel within a tenth of the smallest voxel size (the rounding that header formats allow
    /// is far below that, a wrong image far above).
    ///
    /// # Errors
    /// [`GridMismatch`] says which of the two failed and by how much.
    pub fn check_same(&self, other: &Grid, what: &str) -> Result<(), GridMismatch> {
        if self.dims != other.dims {
            return Err(GridMismatch::Dimensions {
                what: what.into(),
                found: other.dims,
                expected: self.dims,
            });
        }
        let size = self.ras_from_vox.spacing().into_iter().fold(f64::INFINITY, f64::min);
        let distance_mm = (0..8)
            .map(|c| {
                let corner = std::array::from_fn(|a| {
                    if c >> a & 1 == 1 { self.dims[a].saturating_sub(1) as f64 } else { 0.0 }
                });
                let (p, q) = (self.ras_from_vox.apply(corner), other.ras_from_vox.apply(corner));
                (0..3).map(|a| (p[a] - q[a]).powi(2)).sum::<f64>().sqrt()
            })
            .fold(0.0, f64::max);
        if distance_mm <= 0.1 * size {
            Ok(())
        } else {
            Err(GridMismatch::Position { what: what.into(), distance_mm })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBLIQUE: Affine =
        Affine([[1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);

    #[test]
    fn inverse_undoes_the_affine() {
        let p = [3.0, -7.5, 11.0];
        let back = OBLIQUE.inverse().unwrap().apply(OBLIQUE.apply(p));
        for i in 0..3 {
            assert!((back[i] - p[i]).abs() < 1e-12, "{back:?}");
        }
    }

    #[test]
    fn rotation_is_orthonormal_and_keeps_reflections() {
        let mut flipped = OBLIQUE;
        for row in &mut flipped.0 {
            row[0] = -row[0];
        }
        for (a, det) in [(OBLIQUE, 1.0), (flipped, -1.0)] {
            let r = a.rotation();
            for i in 0..3 {
                for j in 0..3 {
                    let dot: f64 = (0..3).map(|k| r[k][i] * r[k][j]).sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
            let m = Affine(std::array::from_fn(|i| [r[i][0], r[i][1], r[i][2], 0.0]));
            assert!((m.determinant() - det).abs() < 1e-12);
        }
    }

    #[test]
    fn grids_of_other_size_or_place_are_told_apart() {
        let g = Grid { dims: [4, 5, 6], ras_from_vox: OBLIQUE };
        let mut moved = g;
        moved.ras_from_vox.0[1][3] += 1.0;
        let other = Grid { dims: [4, 5, 7], ..g };
        assert!(g.check_same(&g, "mask").is_ok());
        assert!(matches!(g.check_same(&moved, "mask"), Err(GridMismatch::Position { .. })));
        assert!(matches!(g.check_same(&other, "mask"), Err(GridMismatch::Dimensions { .. })));
    }
}
