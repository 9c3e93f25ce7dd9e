//! What a map is relative to, and how two maps become one.

use std::path::PathBuf;

use fimbria_image::{Image, Mask, read_mask};

use super::QsmParameters;
use crate::{Logbook, StageError};

/// The reference region in memory, in place of its file.
pub struct GivenReference(pub Mask);

/// No voxel of the reference region lies inside the mask.
#[derive(Debug, thiserror::Error)]
#[error("no voxel of the reference region {} lies inside the mask", .0.display())]
pub struct NoReference(PathBuf);

/// The voxels of `mask` in which the mean of the map is to be zero, if it is.
pub(super) fn reference_of(
    parameters: &QsmParameters,
    given: Option<&GivenReference>,
    mask: &Mask,
    log: &Logbook<'_>,
) -> Result<Option<Mask>, StageError> {
    let Some(path) = &parameters.reference else {
        return Ok(parameters.zero_mean.then(|| mask.clone()));
    };
    let mut reference = match given {
        Some(GivenReference(reference)) => reference.clone(),
        None => log.session().on.workers.install(|| read_mask(path, &mask.grid))?,
    };
    // Elsewhere the map is 0, which is no susceptibility.
    reference.voxels.retain(|voxel| mask.voxels.binary_search(voxel).is_ok());
    if reference.voxels.is_empty() {
        return Err(NoReference(path.clone()).into());
    }
    Ok(Some(reference))
}

/// Subtracts the mean over `reference` from every voxel of `mask`.
pub(super) fn subtract_reference_mean(chi: &mut Image, mask: &Mask, reference: &Mask) {
    let sum: f64 = reference.voxels.iter().map(|&v| f64::from(chi.data[v as usize])).sum();
    let mean = (sum / reference.len().max(1) as f64) as f32;
    mask.voxels.iter().for_each(|&v| chi.data[v as usize] -= mean);
}

/// Replaces `chi` by `second` in the voxels that are `reliable`; the mean difference there is added to the
/// rest of the `mask`.
pub(super) fn replace_where_reliable(
    chi: &mut Image,
    second: &Image,
    mask: &Mask,
    reliable: &Mask,
) {
    let difference =
        |v: &u32| f64::from(second.data[*v as usize]) - f64::from(chi.data[*v as usize]);
    let sum: f64 = reliable.voxels.iter().map(difference).sum();
    let mean = (sum / reliable.len().max(1) as f64) as f32;
    mask.voxels.iter().for_each(|&v| chi.data[v as usize] += mean);
    reliable.voxels.iter().for_each(|&v| chi.data[v as usize] = second.data[v as usize]);
}
