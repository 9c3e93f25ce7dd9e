//! Fibre directions of a local field, and what else tells tissues apart.

use std::path::Path;

use fimbria_image::frames::turn_vectors;
use fimbria_image::{BvecFrame, Grid, Image, ImageHeader, Mask, read_image};
use fimbria_qsm::variation::Guidance;
use fimbria_qsm::{Shape, dqsm_files, shapes_of, whole_length};

use super::{LocalFieldError, LocalFieldFiles};
use crate::stages::contents::check_directions;
use crate::{Choice as _, Logbook, Page};

impl LocalFieldFiles {
    /// Fibre directions, and the axes that their file says they are in.
    pub(super) fn vectors(
        &self,
        grid: &Grid,
    ) -> Result<Option<(Image, Option<BvecFrame>)>, LocalFieldError> {
        let Some(v1) = &self.directions() else { return Ok(None) };
        if self.dqsm_files {
            return Ok(Some((dqsm_files::read_models(v1, grid)?, None)));
        }
        let image = read_image(v1)?;
        expect_triples(v1, &image)?;
        let claim = check_directions(&ImageHeader::read(v1)?, &image)?;
        Ok(Some((image, claim.and_then(|claim| claim.frame))))
    }

    /// The shape of each voxel of the mask, all spheres where no directions are given; and what else is
    /// known of it.
    pub(super) fn shapes(
        &self,
        v1: Option<(Image, Option<BvecFrame>)>,
        mut fa: Option<Image>,
        mut tissue: Vec<Image>,
        mask: &Mask,
        fa_threshold: f64,
        log: &Logbook<'_>,
    ) -> Result<(Vec<Shape>, Option<Guidance>), LocalFieldError> {
        let Some((mut vectors, said)) = v1 else {
            return Ok((vec![Shape::Sphere; mask.len()], None));
        };
        if let Some(path) = self.directions() {
            expect_triples(&path, &vectors)?;
        }
        let frame = match (self.v1_frame, said) {
            (None, Some(said)) => said,
            _ => self.v1_frame(),
        };
        log.result("v1_frame", frame.name());
        if frame != BvecFrame::Scanner {
            let turn = frame.ras_from_frame(&vectors.grid.ras_from_vox);
            turn_vectors(&mut vectors, &turn);
        }
        if let (Some(path), Some(fa)) = (self.anisotropy(), &fa) {
            self.expect_volumes(&path, fa, 1)?;
        }
        if self.resample {
            vectors = vectors.at_nearest_voxels(&mask.grid);
            fa = fa.map(|fa| fa.at_nearest_voxels(&mask.grid));
            tissue.iter_mut().for_each(|image| *image = image.at_nearest_voxels(&mask.grid));
        }
        tissue.iter().try_for_each(|image| mask.grid.check_same(&image.grid, "MD or S0"))?;
        if fa.is_none() && vectors.n_volumes == 3 && nearly_all_are_units(&vectors, mask) {
            log.warn(
                Page::Susceptibility,
                "the fibre directions have length 1 nearly everywhere, which is taken for FA = 1: is --fa \
                 missing?",
            );
        }
        let shapes = shapes_of(&vectors, fa.as_ref(), mask, fa_threshold)?;
        Ok((shapes, Some(guidance_of(&vectors, fa.as_ref(), &tissue, mask))))
    }
}

/// Directions have three volumes each.
pub(super) fn expect_triples(path: &Path, image: &Image) -> Result<(), LocalFieldError> {
    if image.n_volumes > 0 && image.n_volumes.is_multiple_of(3) {
        return Ok(());
    }
    Err(LocalFieldError::Volumes { path: path.to_owned(), found: image.n_volumes, expected: 3 })
}

/// What is known of every voxel of `mask`, on whose grid all images are: FA, or the vectors' length, and
/// the images of tissue.
pub(in crate::stages) fn guidance_of(
    vectors: &Image,
    fa: Option<&Image>,
    tissue: &[Image],
    mask: &Mask,
) -> Guidance {
    let pick = |value: &dyn Fn(usize) -> f32| -> Vec<f32> {
        mask.voxels.iter().map(|&v| value(v as usize)).collect()
    };
    let length = |voxel: usize| whole_length(vectors, voxel) as f32;
    let fa = match fa {
        Some(fa) => pick(&|voxel| fa.data[voxel]),
        None => pick(&length),
    };
    let images = tissue.iter().map(|image| pick(&|voxel| image.data[voxel])).collect();
    Guidance { fa, images }
}

/// Whether 19 of 20 of the vectors of a mask that have a direction are of length 1, as those of V1 are and
/// hardly any of FA·V1.
fn nearly_all_are_units(vectors: &Image, mask: &Mask) -> bool {
    let lengths = mask.voxels.iter().map(|&voxel| whole_length(vectors, voxel as usize));
    let (mut units, mut all) = (0, 0);
    for length in lengths.filter(|length| *length > 0.0) {
        all += 1;
        units += usize::from((length - 1.0).abs() < 1e-3);
    }
    all > 0 && 20 * units >= 19 * all
}
