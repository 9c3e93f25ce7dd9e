//! Gradient non-linearity: the true gradient of a voxel is (I + L) times the nominal one.
//!
//! With g' = (I + L) g the model is S0 exp(-b gᵀ (I + L)ᵀ D (I + L) g): the fit with the nominal
//! table yields (I + L)ᵀ D (I + L) exactly, for every method and every weighting, since all of
//! them depend on the prediction only. So the fit runs as if there were no deviation, and the
//! tensor is carried back afterwards, instead of a design matrix per voxel. Volumes with b = 0
//! stay at b = 0, as in FSL.

use fimbria_image::{Grid, Image};

use super::DtiError;

/// A deviation image and the frame its matrices are in.
pub(crate) struct Deviation<'a> {
    image: &'a Image,
    /// From the frame of FSL's bvecs to scanner RAS: the rotation of the grid, x flipped where
    /// its determinant is positive.
    ras_from_fsl: [[f64; 3]; 3],
}

type Matrix = [[f64; 3]; 3];

impl<'a> Deviation<'a> {
    /// Nine volumes in the order of FSL's `grad_dev`: the columns of L one after the other,
    /// L in the frame of FSL's bvecs.
    pub(crate) fn new(image: &'a Image, grid: &Grid) -> Result<Self, DtiError> {
        grid.check_same(&image.grid, "the gradient deviation image")?;
        if image.n_volumes != 9 {
            return Err(DtiError::DeviationVolumes { found: image.n_volumes });
        }
        let mut ras_from_fsl = grid.ras_from_vox.rotation();
        if grid.ras_from_vox.determinant() > 0.0 {
            for row in &mut ras_from_fsl {
                row[0] = -row[0];
            }
        }
        Ok(Self { image, ras_from_fsl })
    }

    /// (I + L)⁻¹ of a voxel in scanner RAS axes, `None` where it does not exist.
    fn inverse(&self, voxel: u32) -> Option<Matrix> {
        let m: Matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let l = f64::from(self.image.volume(3 * j + i)[voxel as usize]);
                if i == j { 1.0 + l } else { l }
            })
        });
        let inverse = inverse(&m)?;
        let r = &self.ras_from_fsl;
        Some(multiply(&multiply(r, &inverse), &transpose(r)))
    }

    /// The tensor xx xy xz yy yz zz of a voxel from the one fitted with nominal gradients; `None`
    /// where the deviation has no inverse.
    pub(crate) fn correct(&self, voxel: u32, nominal: [f64; 6]) -> Option<[f64; 6]> {
        let b = self.inverse(voxel)?;
        let [xx, xy, xz, yy, yz, zz] = nominal;
        let full = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let d = multiply(&multiply(&transpose(&b), &full), &b);
        Some([d[0][0], d[0][1], d[0][2], d[1][1], d[1][2], d[2][2]])
    }
}

fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j])
    })
}

fn transpose(a: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// The inverse by cofactors, `None` where a deviation so large or so odd makes no sense.
fn inverse(m: &Matrix) -> Option<Matrix> {
    let cofactor = |i: usize, j: usize| {
        let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let det: f64 = (0..3).map(|j| m[0][j] * cofactor(0, j)).sum();
    (det.is_finite() && det > 1e-3)
        .then(|| std::array::from_fn(|i| std::array::from_fn(|j| cofactor(j, i) / det)))
}
