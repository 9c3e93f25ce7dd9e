//! How far the head's own field shifts what a series shows: by a map of the field, or as a warp of another program says.

mod field_map;
mod readout;
#[cfg(test)]
mod tests;
mod warp;

use std::path::PathBuf;

use fimbria_compute::Progress as _;
use fimbria_image::{Grid, Mask};
use fimbria_registration::{Distortion, Extent};
use serde_json::{Value, json};

pub use self::field_map::MapUnit;
pub(super) use self::readout::LONGEST_S;
use super::several::of_series;
use super::{CorrectSeries, PhaseEncoding};
use crate::stages::load::SubjectFiles;
use crate::stages::sidecar::sidecars_of;
use crate::transforms::TransformFile;
use crate::{Choice as _, Input, Logbook, Named, Page, StageError};

/// Why a distortion is not known.
#[derive(Debug, thiserror::Error)]
enum DistortionError {
    #[error(
        "nothing says what the numbers of the field map {} are: `Units` of its sidecar would (Hz, rad/s, T); give \
         --field-unit, such as hz; of a phase, EchoTime1 and EchoTime2", .0.display()
    )]
    Unit(PathBuf),
    #[error("the field map {} has {volumes} volumes, and one is taken", path.display())]
    Volumes { path: PathBuf, volumes: usize },
    #[error("the field map {} is known nowhere: it is 0 or not finite, or its magnitude shows no head", .0.display())]
    Nowhere(PathBuf),
    #[error(
        "a field is made of phases where magnitudes say that there is a head: give --field-magnitude"
    )]
    Magnitude,
    #[error(
        "in ppm a field takes the strength of B0, which is MagneticFieldStrength of the sidecar of {0}"
    )]
    Strength(String),
    #[error(
        "nothing says how long the readout of {0} took: its sidecar would, as TotalReadoutTime or EffectiveEchoSpacing; \
         give --readout-time"
    )]
    Readout(String),
    #[error("the sidecar of {dwi} has a {key} of {value}: it is in seconds, above 0 and at most 1")]
    Seconds { dwi: String, key: &'static str, value: String },
    #[error("the field map {} ends before the series: no voxel of the mask lies within it (--field-transform places it)", .0.display())]
    Elsewhere(PathBuf),
    #[error("no voxel of the mask lies within {}: does the warp lead from the space of the series?", .0.display())]
    NoWarp(PathBuf),
    #[error(
        "the distortion takes every voxel of the mask beyond the brain that the series shows: is the field in this unit, and \
         the readout as long?"
    )]
    Gone,
}

/// The distortion of each series, and what it is made of.
pub(super) struct Known {
    pub(super) distortions: Vec<Distortion>,
    /// As records have it.
    source: Value,
}

/// What records call it.
pub(super) const RESULT: &str = "distortion";

/// Half of the brain shifted farther than this is a field in another unit.
const FAR_MM: f64 = 15.0;

impl Known {
    /// The voxels that appear in the mask of the first series as it was measured.
    pub(super) fn undistorted(&self, mask: &Mask) -> Result<Mask, StageError> {
        let mask = self.distortions[0].undistorted(mask);
        if mask.is_empty() { Err(DistortionError::Gone.into()) } else { Ok(mask) }
    }

    /// Says how far the mask is shifted, and whether that can be.
    pub(super) fn report(&self, mask: &Mask, encodings: &[PhaseEncoding], log: &Logbook<'_>) {
        let each = self.distortions.iter().zip(encodings);
        let extents: Vec<Extent> =
            each.map(|(distortion, encoding)| distortion.extent(mask, encoding.axis())).collect();
        for (at, extent) in extents.iter().enumerate() {
            if !extents[..at].contains(extent) {
                Self::report_extent(*extent, log);
            }
        }
        let mut source = self.source.clone();
        source["shifts"] = json!(extents[0]);
        log.result(RESULT, source);
    }

    fn report_extent(extent: Extent, log: &Logbook<'_>) {
        let Extent { median_mm, largest_mm, across_mm, folded } = extent;
        log.note(&format!(
            "distortion: shifts along the phase encoding of {median_mm:.1} mm in the median and {largest_mm:.1} mm at most; \
             {:.1} % of the mask is squeezed to less than a fifth",
            100.0 * folded
        ));
        if median_mm > FAR_MM {
            let message = format!(
                "half of the mask is shifted by {median_mm:.0} mm and more: is the field in this unit, the readout as long?"
            );
            log.warn(Page::Correct, &message);
        }
        // Half a voxel of most series.
        if across_mm > 1.0 {
            let message = format!(
                "the warp moves the head across the phase encoding, by {across_mm:.1} mm in the median: the table is not turned \
                 with it; a warp that leads to another space is not for this"
            );
            log.warn(Page::Correct, &message);
        }
    }
}

impl CorrectSeries {
    /// The phase encoding of each series, with its polarity where a field or another series needs it.
    pub(super) fn encodings(&self) -> Result<Vec<PhaseEncoding>, StageError> {
        let needs_polarity = !self.settings.field.is_empty() || !self.others.is_empty();
        let given = self.for_each("phase-encoding", &self.settings.phase_encoding)?;
        let encoding = |(files, given): (&SubjectFiles, Option<Named<PhaseEncoding>>)| match given {
            Some(given) => Ok(given.0),
            None => Ok(PhaseEncoding::from_sidecars(&files.dwi, needs_polarity)?),
        };
        self.series().zip(given).map(encoding).collect()
    }

    /// How far series on these grids are distorted, at each voxel of the first; `None` where nothing is given that says it.
    pub(super) fn distortion(
        &self,
        grids: &[Grid],
        mask: &Mask,
        encodings: &[PhaseEncoding],
        log: &Logbook<'_>,
    ) -> Result<Option<Known>, StageError> {
        if !self.settings.warp.is_empty() {
            return self.by_warps(grids, mask, log).map(Some);
        }
        if self.settings.field.is_empty() {
            return Ok(None);
        }
        let grid = &grids[0];
        let map = self.field_map(log)?;
        let hertz = map.onto(grid, &self.way(log)?, self.settings.field_fwhm, mask, log)?;
        let (mut distortions, mut readouts) = (Vec::new(), Vec::new());
        for (series, encoding) in encodings.iter().enumerate() {
            let axis = encoding.axis();
            let seconds = self.readout_s(series, grid.dims[axis], log)?;
            log.note(&format!("readout of {seconds:.4} s along {}", encoding.name()));
            let mm_per_hertz = encoding.sign() * seconds * grid.ras_from_vox.spacing()[axis];
            let shifts: Vec<f32> = hertz.iter().map(|hz| hz * mm_per_hertz as f32).collect();
            distortions.push(Distortion::along(axis, grid, &shifts));
            readouts.push(json!(seconds));
        }
        let names = encodings.iter().map(|encoding| json!(encoding.name())).collect();
        let source = json!({
            "source": map.source,
            "readout_time_s": of_series(readouts),
            "phase_encoding": of_series(names),
        });
        Ok(Some(Known { distortions, source }))
    }

    /// The same by warps: those of the one series together, of several one for all or one for each.
    fn by_warps(
        &self,
        grids: &[Grid],
        mask: &Mask,
        log: &Logbook<'_>,
    ) -> Result<Known, StageError> {
        let given = &self.settings.warp;
        let warps: Vec<Vec<TransformFile>> = match self.others.is_empty() {
            true => vec![given.clone()],
            false => {
                let each = self.for_each("warp", given)?;
                each.into_iter().map(|warp| warp.into_iter().collect()).collect()
            }
        };
        let mut distortions = Vec::new();
        for ((warp, files), own) in warps.iter().zip(self.series()).zip(grids) {
            distortions.push(warp::read(warp, &files.dwi, [&grids[0], own], mask, log)?);
        }
        Ok(Known { distortions, source: json!({ "source": "warp" }) })
    }

    /// Files that say how the series is distorted, with their sidecars.
    pub(super) fn distortion_inputs(&self) -> Vec<Input> {
        let settings = &self.settings;
        let mut inputs = Vec::new();
        for (role, paths) in [("field", &settings.field), ("magnitude", &settings.field_magnitude)]
        {
            for path in paths {
                inputs.push((role.to_owned(), path.clone()));
                let there = sidecars_of(path).into_iter().filter(|sidecar| sidecar.is_file());
                inputs.extend(there.map(|sidecar| (format!("{role} sidecar"), sidecar)));
            }
        }
        let mut transforms = |role: &str, files: &[TransformFile]| {
            inputs.extend(files.iter().map(|file| (role.to_owned(), file.path.clone())));
        };
        transforms("field transform", &settings.field_transform);
        transforms("warp", &settings.warp);
        let sidecars = self.series().flat_map(|files| sidecars_of(&files.dwi));
        inputs.extend(sidecars.map(|path| ("dwi sidecar".to_owned(), path)));
        inputs
    }
}
