//! A function on the sphere in every voxel, as unique entries whatever it is stored as.

use fimbria_image::{BvecFrame, Mask, SignalSource};

use crate::sh::{ShBasis, ShError, ShToForm, sh_count};

/// A function on the sphere in every voxel.
#[derive(Clone, Copy)]
pub struct Functions<'a> {
    /// The coefficients, one volume for each.
    pub coefficients: &'a (dyn SignalSource + Sync),
    /// Order of the form, or the highest degree.
    pub order: usize,
    /// The basis; `None` for unique entries of a form.
    pub basis: Option<ShBasis>,
    /// The axes they refer to.
    pub frame: BvecFrame,
    /// The voxels that have one.
    pub mask: &'a Mask,
}

impl Functions<'_> {
    /// What writes the unique entries of the form of a voxel, lexicographic, given its index.
    ///
    /// # Errors
    /// Where harmonics of this degree cannot be converted.
    pub fn entries(&self) -> Result<impl Fn(u32, &mut [f32]) + Sync, ShError> {
        let form = self.basis.map(|basis| ShToForm::new(basis, self.order)).transpose()?;
        let form: Option<Vec<f32>> =
            form.map(|form| form.form_from_sh().iter().map(|x| *x as f32).collect());
        let n = sh_count(self.order);
        Ok(move |voxel: u32, entries: &mut [f32]| {
            let Some(form) = &form else {
                return self.coefficients.gather(&[voxel], 1, entries);
            };
            let mut harmonics = vec![0.0; n];
            self.coefficients.gather(&[voxel], 1, &mut harmonics);
            for (entry, row) in entries.iter_mut().zip(form.chunks_exact(n)) {
                *entry = row.iter().zip(&harmonics).map(|(a, b)| a * b).sum();
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid, Image};

    use super::*;

    #[test]
    fn harmonics_and_unique_entries_of_one_function_give_the_same_entries() {
        let grid = Grid { dims: [2, 1, 1], ras_from_vox: Affine::IDENTITY };
        let mask = Mask::full(grid);
        let form = ShToForm::new(ShBasis::Dipy, 4).unwrap();
        let entries: Vec<f64> = (0..15).map(|i| f64::from(i).sin()).collect();
        let images = [form.to_sh(&entries), entries.clone()].map(|coefficients| {
            let mut image = Image::zeros(grid, 15);
            // The second voxel.
            (0..15).for_each(|i| image.volume_mut(i)[1] = coefficients[i] as f32);
            image
        });
        for (image, basis) in images.iter().zip([Some(ShBasis::Dipy), None]) {
            let frame = BvecFrame::Scanner;
            let functions = Functions { coefficients: image, order: 4, basis, frame, mask: &mask };
            let mut found = vec![0.0; 15];
            functions.entries().unwrap()(1, &mut found);
            for (found, entry) in found.iter().zip(&entries) {
                // Single precision, and sums of 15.
                assert!((f64::from(*found) - entry).abs() < 1e-5, "{basis:?}: {found} {entry}");
            }
        }
    }
}
