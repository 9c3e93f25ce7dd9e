//! Gradient non-linearity: the true gradient of a voxel is (I + L) times the nominal one.
//!
//! With g' = (I + L) g the model is S0 exp(-b gᵀ (I + L)ᵀ D (I + L) g): the fit with the nominal
//! table yields (I + L)ᵀ D (I + L) exactly, for every method and every weighting, since all of
//! them depend on the prediction only. So the fit runs as if there were no deviation, and the
//! tensor is carried back afterwards, instead of a design matrix per voxel. Volumes with b = 0
//! stay at b = 0, as in FSL.

use fimbria_image::frames::{Matrix3, inverse, transposed, turned_tensor};
use fimbria_image::gradients::GradientDeviation;
use fimbria_image::{BvecFrame, Grid, Image};

use super::DtiError;

/// A deviation image and the frame its matrices are in.
pub(crate) struct Deviation<'a> {
    image: &'a Image,
    ras_from_fsl: Matrix3,
}

impl<'a> Deviation<'a> {
    /// Nine volumes as FSL's `grad_dev` has them (see [`GradientDeviation`]).
    pub(crate) fn new(image: &'a Image, grid: &Grid) -> Result<Self, DtiError> {
        grid.check_same(&image.grid, "the gradient deviation image")?;
        if image.n_volumes != 9 {
            return Err(DtiError::DeviationVolumes { found: image.n_volumes });
        }
        let ras_from_fsl = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
        Ok(Self { image, ras_from_fsl })
    }

    /// The tensor xx xy xz yy yz zz of a voxel in scanner RAS axes from the one fitted with
    /// nominal gradients; `None` where the deviation is none of a gradient coil.
    pub(crate) fn correct(&self, voxel: u32, nominal: [f64; 6]) -> Option<[f64; 6]> {
        let sample = |volume| f64::from(self.image.volume(volume)[voxel as usize]);
        let deviation =
            GradientDeviation::from_fsl(std::array::from_fn(sample), &self.ras_from_fsl)?;
        Some(turned_tensor(&transposed(&inverse(deviation.matrix_ras())?), nominal))
    }
}
