//! What a map is relative to, and how two maps become one.

use std::path::{Path, PathBuf};

use fimbria_image::{Image, Mask, read_mask};

use super::QsmParameters;
use crate::stages::connectome::read_labels;
use crate::stages::label_names::table_beside;
use crate::stages::tract::LabelNames;
use crate::{Logbook, StageError};

/// The reference region in memory, in place of its file.
pub struct GivenReference(pub Mask);

/// No voxel of the reference region lies inside the mask.
#[derive(Debug, thiserror::Error)]
#[error("no voxel of the reference region {} lies inside the mask", .0.display())]
pub struct NoReference(PathBuf);

/// A region of the reference that is named where no table says which it is.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is no number of a label, and no table of names lies beside {}", .labels.display())]
pub struct NoNames {
    name: String,
    labels: PathBuf,
}

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
        Some(_) if parameters.reference_label.is_some() => {
            return Err("reference_label is of a file of labels, not of an array"
                .to_owned()
                .into());
        }
        Some(GivenReference(reference)) => reference.clone(),
        None => match &parameters.reference_label {
            Some(regions) => labelled(path, regions, mask, log)?,
            None => log.session().on.workers.install(|| read_mask(path, &mask.grid))?,
        },
    };
    // Elsewhere the map is 0, which is no susceptibility.
    reference.voxels.retain(|voxel| mask.voxels.binary_search(voxel).is_ok());
    if reference.voxels.is_empty() {
        return Err(NoReference(path.clone()).into());
    }
    Ok(Some(reference))
}

/// Where `path` has one of the labels, given by number or name.
fn labelled(
    path: &Path,
    regions: &[String],
    mask: &Mask,
    log: &Logbook<'_>,
) -> Result<Mask, StageError> {
    let labels = read_labels(path, log)?;
    let table = table_beside(path).map(|table| LabelNames::read(&table)).transpose()?;
    let mut wanted = Vec::new();
    for name in regions {
        if table.is_none() && name.parse::<u32>().is_err() {
            return Err(NoNames { name: name.clone(), labels: path.to_owned() }.into());
        }
        wanted.extend(LabelNames::labels(table.as_ref(), name)?);
    }
    let there = labels.at_nearest_voxels(&mask.grid);
    let is_wanted = |v: &u32| wanted.contains(&(there.data[*v as usize] as u32));
    Ok(Mask { voxels: mask.voxels.iter().copied().filter(is_wanted).collect(), ..*mask })
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
