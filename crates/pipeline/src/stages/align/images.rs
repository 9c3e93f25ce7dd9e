//! The two images that are laid on each other.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::morphology::VoxelSet;
use fimbria_image::{
    GradientTable, Image, ImageHeader, Mask, SignalSource, SpaceCodes, StoredImage, read_mask,
};
use fimbria_models::brain_mask::mean_unweighted;

use super::AlignError;
use crate::stages::load::{Subject, SubjectFiles};
use crate::{Input, Logbook, StageError};

/// One volume, and what its file says of the space it lies in.
pub(super) struct Side {
    pub(super) image: Image,
    pub(super) space_codes: Option<SpaceCodes>,
}

/// A table that lies beside an image of several volumes.
fn table_of(files: &SubjectFiles, header: &ImageHeader) -> Option<GradientTable> {
    if header.n_volumes() < 2 {
        return None;
    }
    files.read_gradients(header).ok().map(|read| read.table)
}

/// What is read of a side.
pub(super) fn inputs(role: &str, files: &SubjectFiles) -> Vec<Input> {
    let plain = || vec![(role.to_owned(), files.dwi.clone())];
    let Ok(header) = ImageHeader::read(&files.dwi) else { return plain() };
    match table_of(files, &header) {
        Some(_) => files.inputs(),
        None => plain(),
    }
}

impl Side {
    /// Of a series the mean unweighted volume, of any other image the first volume.
    pub(super) fn read(files: &SubjectFiles, log: &Logbook<'_>) -> Result<Self, StageError> {
        let workers = log.session().on.workers;
        let stored = workers.install(|| StoredImage::open(&files.dwi, &files.open_options()))?;
        let space_codes = stored.space_codes();
        if let Some(table) = table_of(files, &stored) {
            let image = mean_unweighted(&stored, &table, workers);
            return Ok(Self { image, space_codes });
        }
        let grid = *stored.grid();
        let mut image = Image::zeros(grid, 1);
        match stored.n_volumes() {
            1 => image = workers.install(|| stored.to_image())?,
            n => {
                log.note(&format!("{}: the first of {n} volumes", files.dwi.display()));
                const AT_ONCE: usize = 1 << 14;
                let voxels: Vec<u32> = (0..grid.len() as u32).collect();
                let mut samples = vec![0.0; AT_ONCE * n];
                for (voxels, out) in voxels.chunks(AT_ONCE).zip(image.data.chunks_mut(AT_ONCE)) {
                    stored.gather(voxels, AT_ONCE, &mut samples);
                    out.copy_from_slice(&samples[..out.len()]);
                }
            }
        }
        image.data.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 0.0);
        if image.data.iter().all(|v| *v == image.data[0]) {
            return Err(AlignError::Flat(files.dwi.clone()).into());
        }
        Ok(Self { image, space_codes })
    }

    /// The mean unweighted volume of the series of a run.
    pub(super) fn from_subject(subject: &Subject, log: &Logbook<'_>) -> Self {
        let Subject { dwi, gradients, carried, .. } = subject;
        let image = mean_unweighted(&**dwi, gradients, log.session().on.workers);
        Self { image, space_codes: carried.space_codes }
    }

    /// The voxels that are compared: a mask with what is around it, or all.
    pub(super) fn compared(&self, mask: Option<&Path>) -> Result<Mask, StageError> {
        /// Without the edge of the brain nothing shows where it is.
        const AROUND_MM: f64 = 8.0;
        let Some(path) = mask else { return Ok(Mask::full(self.image.grid)) };
        let mask = read_mask(path, &self.image.grid)?;
        if mask.is_empty() {
            return Err(AlignError::Empty(path.to_owned()).into());
        }
        Ok(VoxelSet::from_mask(&mask).dilated(AROUND_MM).to_mask())
    }
}
