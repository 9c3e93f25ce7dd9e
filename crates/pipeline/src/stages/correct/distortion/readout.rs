//! How long a readout took, which says how far a field shifts.

use fimbria_compute::Progress as _;
use serde_json::Value;

use super::{CorrectSeries, DistortionError};
use crate::stages::sidecar::said_of;
use crate::{Logbook, StageError};

/// No readout of an image takes longer, seconds.
pub(in crate::stages::correct) const LONGEST_S: f64 = 1.0;

/// What sidecars say in seconds; converters estimate it where the scanner's files do not say it.
const TOTAL: [&str; 2] = ["TotalReadoutTime", "EstimatedTotalReadoutTime"];
/// The same of one line of the image.
const SPACING: [&str; 2] = ["EffectiveEchoSpacing", "EstimatedEffectiveEchoSpacing"];

impl CorrectSeries {
    /// The time between the first and the last of so many lines along the phase encoding of a series, seconds.
    pub(super) fn readout_s(
        &self,
        series: usize,
        lines: usize,
        log: &Logbook<'_>,
    ) -> Result<f64, StageError> {
        let (seconds, key) = self.readout(series, lines)?;
        if let Some(key) = key.filter(|key| key.starts_with("Estimated")) {
            log.note(&format!("{key}: the converter's estimate"));
        }
        Ok(seconds)
    }

    /// The same, and what says it where it is not given.
    pub(in crate::stages::correct) fn readout(
        &self,
        series: usize,
        lines: usize,
    ) -> Result<(f64, Option<&'static str>), StageError> {
        if let Some(given) = self.for_each("readout-time", &self.settings.readout_time)?[series] {
            return Ok((given, None));
        }
        let path = self.series().nth(series).map(|files| &*files.dwi).unwrap_or(&self.files.dwi);
        let said = said_of(path)?.unwrap_or_default();
        let dwi = || path.display().to_string();
        let total = number(&said, &TOTAL).map(|(key, seconds)| (key, seconds, 1.0));
        // As BIDS has it: of the image as it was reconstructed.
        let lines = said["ReconMatrixPE"].as_f64().unwrap_or(lines as f64);
        let spacing = number(&said, &SPACING).map(|(key, seconds)| (key, seconds, lines - 1.0));
        let (key, value, times) =
            total.or(spacing).ok_or_else(|| DistortionError::Readout(dwi()))?;
        let seconds = value.as_f64().map(|seconds| seconds * times);
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_S);
        let unusable = || DistortionError::Seconds { dwi: dwi(), key, value: value.to_string() };
        Ok((seconds.ok_or_else(unusable)?, Some(key)))
    }
}

fn number<'a>(said: &'a Value, keys: &[&'static str]) -> Option<(&'static str, &'a Value)> {
    keys.iter().find_map(|key| Some((*key, said.get(key)?)))
}
