//! Several series that are corrected as one: what must be alike, and what each of them is told.

use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::Grid;
use fimbria_registration::{Corrected, are_alike, turned_deg};
use serde_json::{Value, json};

use super::{CorrectSeries, PhaseEncoding};
use crate::stages::load::SubjectFiles;
use crate::stages::sidecar::said_of;
use crate::{Choice as _, Logbook, Page, StageError};

/// Why series are not corrected as one.
#[derive(Debug, thiserror::Error)]
pub(super) enum SeveralError {
    #[error("{} is given twice", .0.display())]
    Twice(PathBuf),
    #[error(
        "--{option} has {given} values, and there are {series} series: give one for all, or one for each in their order"
    )]
    Values { option: &'static str, given: usize, series: usize },
    #[error(
        "{} has {own} voxels and {} {others}: series that are corrected together have as many voxels of the same size \
         (correct each alone, or resample one before)", path.display(), first.display()
    )]
    Grid { path: PathBuf, own: String, first: PathBuf, others: String },
    #[error(
        "{} and {} are stored along other axes (turned by {degrees:.0}°): bring both into one order of axes before",
        path.display(), first.display()
    )]
    Axes { path: PathBuf, first: PathBuf, degrees: f64 },
    #[error(
        "{} ({own}) and {} ({others}) are distorted in different ways, and nothing says how: together they would be \
         blurred. A map of the field (--field) says it, or a warp of each (--warp), which topup, DRBUDDI or unpile make of \
         opposed encodings; without them correct each alone, or with --keep-distortion together as they are",
        path.display(), first.display()
    )]
    Distorted { path: PathBuf, own: String, first: PathBuf, others: String },
}

/// What records call the factors that make series as bright as the first.
pub(super) const SCALES: &str = "intensity_scales";

/// A head and its field of view are turned by less between two series, degrees.
const MOST_TURNED_DEG: f64 = 45.0;
/// Readouts that differ by less distort alike.
const SAME_READOUT: f64 = 0.05;
/// Scanners repeat the brightness of a protocol to less than this.
const ALIKE: f64 = 1.5;
/// What sidecars call the time to the echo, seconds.
pub(super) const ECHO_TIME: &str = "EchoTime";
/// Times of the sequence that differ by less are the same.
const SAME_TIME: f64 = 0.01;

impl CorrectSeries {
    /// Every series, in order.
    pub(super) fn series(&self) -> impl Iterator<Item = &SubjectFiles> + Clone {
        std::iter::once(&self.files).chain(&self.others)
    }

    /// The value of an option for each series: as given for all or for each, or `None`.
    pub(super) fn for_each<T: Clone>(
        &self,
        option: &'static str,
        given: &[T],
    ) -> Result<Vec<Option<T>>, SeveralError> {
        let series = 1 + self.others.len();
        match given.len() {
            0 => Ok(vec![None; series]),
            1 => Ok(vec![Some(given[0].clone()); series]),
            n if n == series => Ok(given.iter().cloned().map(Some).collect()),
            given => Err(SeveralError::Values { option, given, series }),
        }
    }

    /// Whether no series is there twice.
    pub(super) fn check_paths(&self) -> Result<(), SeveralError> {
        let all: Vec<&Path> = self.series().map(|files| &*files.dwi).collect();
        let twice = (1..all.len()).find(|at| all[..*at].contains(&all[*at]));
        twice.map_or(Ok(()), |at| Err(SeveralError::Twice(all[at].to_owned())))
    }

    /// Whether volumes on these grids are those of one after a rigid motion.
    pub(super) fn check_grids(&self, grids: &[Grid]) -> Result<(), SeveralError> {
        let of = |grid: &Grid| {
            let [x, y, z] = grid.dims;
            let [a, b, c] = grid.ras_from_vox.spacing();
            format!("{x} x {y} x {z} ({a:.3} x {b:.3} x {c:.3} mm)")
        };
        for (files, grid) in self.series().zip(grids).skip(1) {
            let (path, first) = (files.dwi.clone(), self.files.dwi.clone());
            if !are_alike(&grids[0], grid) {
                let (own, others) = (of(grid), of(&grids[0]));
                return Err(SeveralError::Grid { path, own, first, others });
            }
            let degrees = turned_deg(&grids[0], grid);
            if degrees > MOST_TURNED_DEG {
                return Err(SeveralError::Axes { path, first, degrees });
            }
        }
        Ok(())
    }

    /// Whether all series are distorted alike where nothing says how; where the user wants them as they are, that is said.
    pub(super) fn check_distortion(
        &self,
        encodings: &[PhaseEncoding],
        grid: &Grid,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Err(error) = self.check_alike(encodings, grid) else { return Ok(()) };
        match error.downcast::<SeveralError>().map(|error| *error) {
            Ok(SeveralError::Distorted { own, others, .. }) if self.settings.keep_distortion => {
                let message = format!(
                    "series are distorted in different ways ({others} and {own}), which is left: where the field is \
                     disturbed their volumes do not meet, and maps are blurred"
                );
                log.warn(Page::Correct, &message);
                Ok(())
            }
            Ok(error) => Err(error.into()),
            Err(error) => Err(error),
        }
    }

    /// Whether all series are distorted alike, or something says how each is.
    pub(super) fn check_alike(
        &self,
        encodings: &[PhaseEncoding],
        grid: &Grid,
    ) -> Result<(), StageError> {
        // As many values as there are series, whether or not they are used.
        self.for_each("readout-time", &self.settings.readout_time)?;
        if !self.settings.field.is_empty() || !self.settings.warp.is_empty() {
            return Ok(());
        }
        let readout = |(at, encoding): (usize, &PhaseEncoding)| {
            Some(self.readout(at, grid.dims[encoding.axis()]).ok()?.0)
        };
        let readouts: Vec<Option<f64>> = encodings.iter().enumerate().map(readout).collect();
        let differs = |at: &usize| {
            let far = readouts[*at].zip(readouts[0]);
            let far = far.is_some_and(|(own, first)| (own / first - 1.0).abs() > SAME_READOUT);
            encodings[*at] != encodings[0] || far
        };
        let Some(at) = (1..encodings.len()).find(differs) else { return Ok(()) };
        let shown = |at: usize| {
            let readout =
                readouts[at].map(|seconds| format!(", {seconds:.4} s")).unwrap_or_default();
            format!("{}{readout}", encodings[at].name())
        };
        let path = self.others[at - 1].dwi.clone();
        let first = self.files.dwi.clone();
        let (own, others) = (shown(at), shown(0));
        Err(SeveralError::Distorted { path, own, first, others }.into())
    }

    /// Warns of series of other sequences, whose contrast no factor makes alike.
    pub(super) fn warn_of_contrast(&self, log: &Logbook<'_>) -> Result<(), StageError> {
        for key in [ECHO_TIME, "RepetitionTime"] {
            for sentence in self.other_times(key)? {
                log.warn(Page::Correct, &sentence);
            }
        }
        Ok(())
    }

    /// What is to be said of each series whose sidecar has another time than that of the first.
    pub(super) fn other_times(&self, key: &str) -> Result<Vec<String>, StageError> {
        let seconds = |files: &SubjectFiles| -> Result<Option<f64>, StageError> {
            Ok(said_of(&files.dwi)?.and_then(|said| said[key].as_f64()))
        };
        let Some(first) = seconds(&self.files)? else { return Ok(Vec::new()) };
        let mut sentences = Vec::new();
        for files in &self.others {
            let own = seconds(files)?.filter(|own| (own / first - 1.0).abs() > SAME_TIME);
            sentences.extend(own.map(|own| {
                format!(
                    "{} has a {key} of {own} s, and the first series one of {first} s: tissues differ in brightness between \
                     them, which no factor mends",
                    files.dwi.display()
                )
            }));
        }
        Ok(sentences)
    }

    /// Says what signals of each series were multiplied by.
    pub(super) fn report_scales(&self, corrected: &Corrected, log: &Logbook<'_>) {
        if self.others.is_empty() {
            return;
        }
        for (files, scale) in self.others.iter().zip(&corrected.scales[1..]) {
            let path = files.dwi.display();
            match scale {
                Some(scale) => {
                    log.note(&format!(
                        "signals of {path} times {scale:.4}, as bright as the first"
                    ));
                    if *scale > ALIKE || *scale < 1.0 / ALIKE {
                        let message = format!(
                            "signals of {path} are {:.2} times those of the first series: are both of one protocol?",
                            1.0 / scale
                        );
                        log.warn(Page::Correct, &message);
                    }
                }
                None => {
                    let message = format!(
                        "{path} has no shell in common with the first series, not even unweighted volumes: its brightness is \
                         left as it is"
                    );
                    log.warn(Page::Correct, &message);
                }
            }
        }
        log.result(SCALES, json!(corrected.scales));
    }
}

/// A number for one series, a list for several: as records have it.
pub(super) fn of_series(values: Vec<Value>) -> Value {
    match <[Value; 1]>::try_from(values) {
        Ok([only]) => only,
        Err(several) => Value::Array(several),
    }
}
