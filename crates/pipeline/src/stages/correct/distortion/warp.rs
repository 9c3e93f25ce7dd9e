//! Warps of other programs: where each voxel of the head appears.

use std::path::Path;

use fimbria_image::frames::{transposed, turned};
use fimbria_image::{Grid, ImageHeader, Mask, is_image_name};
use fimbria_registration::{Distortion, continued};
use rayon::prelude::*;

use super::DistortionError;
use crate::transforms::{FslSpaces, Transform, TransformFile};
use crate::{Logbook, Page, StageError};

/// NIfTI's code of the displacements of FNIRT, applywarp and convertwarp.
const OF_FSL: i32 = 2006;

/// The distortion of files that take points of the head to where they appear in the series, the first file first; shifts
/// are along the axes of its own grid.
pub(super) fn read(
    files: &[TransformFile],
    dwi: &Path,
    [grid, own]: [&Grid; 2],
    mask: &Mask,
    log: &Logbook<'_>,
) -> Result<Distortion, StageError> {
    let is_fsl = |file: &&TransformFile| {
        is_image_name(&file.path)
            && ImageHeader::read(&file.path).is_ok_and(|header| header.intent().code == OF_FSL)
    };
    // A field of FSL lies on the grid of the image that it leads to.
    let fsl = files.iter().find(is_fsl).map(|file| FslSpaces { moving: dwi, fixed: &file.path });
    let way = Transform::read(files, fsl, log, Page::Correct)?;
    let vox = transposed(&own.ras_from_vox.rotation());
    let shift = |voxel: usize| {
        let from = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
        let there = way.apply(from)?;
        let shift = turned(&vox, std::array::from_fn(|a| there[a] - from[a])).map(|x| x as f32);
        shift.iter().all(|x| x.is_finite()).then_some(shift)
    };
    let workers = log.session().on.workers;
    let shifts: Vec<Option<[f32; 3]>> =
        workers.install(|| (0..grid.len()).into_par_iter().map(shift).collect());
    if mask.voxels.iter().all(|&v| shifts[v as usize].is_none()) {
        let path = files.first().map(|file| file.path.clone()).unwrap_or_default();
        return Err(DistortionError::NoWarp(path).into());
    }
    let is_known: Vec<bool> = shifts.iter().map(Option::is_some).collect();
    let mut shifts: Vec<[f32; 3]> = shifts.into_iter().map(Option::unwrap_or_default).collect();
    if is_known.contains(&false) {
        for axis in 0..3 {
            let mut along: Vec<f32> = shifts.iter().map(|shift| shift[axis]).collect();
            continued(grid.dims, &mut along, &is_known);
            shifts.iter_mut().zip(along).for_each(|(shift, along)| shift[axis] = along);
        }
    }
    Ok(Distortion::new(grid, shifts))
}
