//! Series read into memory as one.

use std::sync::Arc;

use fimbria_image::{GradientTable, Grid, Image, ImageHeader, Mask, StoredImage, counted};
use fimbria_memory::try_vec;

use super::{CorrectError, CorrectSeries, FEWEST, PhaseEncoding};
use crate::stages::load::{LoadError, Opened, SubjectFiles};
use crate::stages::made_mask::warn_of_made_mask;
use crate::{Carried, Logbook, Page, StageError};

/// Series one after the other.
pub(super) struct Joined {
    /// On the grid of the first.
    pub(super) image: Image,
    /// Of each series its own.
    pub(super) grids: Vec<Grid>,
    /// Of each series how many.
    pub(super) volumes: Vec<usize>,
    /// Of all volumes.
    pub(super) gradients: GradientTable,
    /// The brain as the first shows it.
    pub(super) mask: Mask,
    /// FSL's gradient non-linearity.
    pub(super) grad_dev: Option<Arc<Image>>,
    /// What of the first header goes on.
    pub(super) carried: Carried,
}

impl CorrectSeries {
    /// The grid of each series, all of them those of one after a rigid motion.
    pub(super) fn grids(&self) -> Result<Vec<Grid>, StageError> {
        let grid = |files: &SubjectFiles| Ok(*ImageHeader::read(&files.dwi)?.grid());
        let grids = self.series().map(grid).collect::<Result<Vec<_>, LoadError>>()?;
        self.check_grids(&grids)?;
        Ok(grids)
    }

    /// The series in memory, their table and the mask of the first.
    pub(super) fn read(
        &self,
        encodings: &[PhaseEncoding],
        log: &Logbook<'_>,
    ) -> Result<Joined, StageError> {
        self.check_paths()?;
        let grids = self.grids()?;
        self.check_distortion(encodings, &grids[0], log)?;
        let opened = self.files.open_with(&self.others, log, |stored, table, workers| {
            let mask = self.files.mask_for(&stored[0], table, workers)?;
            if self.files.mask.is_none() {
                warn_of_made_mask(&mask, "the series", log);
            }
            Ok(mask)
        })?;
        let Opened { series, gradients, mask, grad_dev } = opened;
        let carried = Carried::from_header(&series[0]);
        let volumes = series.iter().map(|stored| stored.n_volumes()).collect();
        let workers = log.session().on.workers;
        let mut image = workers.install(|| one_after_the_other(&series))?;
        drop(series);
        if image.n_volumes < FEWEST {
            return Err(CorrectError::Few(counted(image.n_volumes, "volume")).into());
        }
        let bad = workers.install(|| image.count_non_finite());
        if bad > 0 {
            let message = format!("{} not finite: taken as 0", counted(bad, "sample"));
            log.warn(Page::Correct, &message);
            image.data.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
        }
        Ok(Joined { image, grids, volumes, gradients, mask, grad_dev, carried })
    }
}

/// All volumes on the grid of the first series.
fn one_after_the_other(series: &[StoredImage]) -> Result<Image, StageError> {
    let (first, others) = series.split_first().ok_or("no series was read")?;
    let mut image = first.to_image()?;
    if others.is_empty() {
        return Ok(image);
    }
    let n_volumes = series.iter().map(|stored| stored.n_volumes()).sum();
    let mut data = try_vec(n_volumes * image.grid.len())?;
    data.append(&mut image.data);
    for other in others {
        data.append(&mut other.to_image()?.data);
    }
    Ok(Image { data, n_volumes, ..image })
}
