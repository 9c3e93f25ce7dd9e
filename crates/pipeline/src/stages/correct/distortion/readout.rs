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
    /// Whether the sidecar is asked for the readout.
    pub(super) fn asks_readout(&self) -> bool {
        !self.settings.field.is_empty() && self.settings.readout_time.is_none()
    }

    /// The time between the first and the last of so many lines along the phase encoding, seconds.
    pub(super) fn readout_s(&self, lines: usize, log: &Logbook<'_>) -> Result<f64, StageError> {
        if let Some(given) = self.settings.readout_time {
            return Ok(given);
        }
        let said = said_of(&self.files.dwi)?.unwrap_or_default();
        let dwi = || self.files.dwi.display().to_string();
        let total = number(&said, &TOTAL).map(|(key, seconds)| (key, seconds, 1.0));
        // As BIDS has it: of the image as it was reconstructed.
        let lines = said["ReconMatrixPE"].as_f64().unwrap_or(lines as f64);
        let spacing = number(&said, &SPACING).map(|(key, seconds)| (key, seconds, lines - 1.0));
        let (key, value, times) =
            total.or(spacing).ok_or_else(|| DistortionError::Readout(dwi()))?;
        let seconds = value.as_f64().map(|seconds| seconds * times);
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_S);
        if key.starts_with("Estimated") {
            log.note(&format!("{key}: the converter's estimate"));
        }
        let value = || value.to_string();
        Ok(seconds.ok_or_else(|| DistortionError::Seconds { dwi: dwi(), key, value: value() })?)
    }
}

fn number<'a>(said: &'a Value, keys: &[&'static str]) -> Option<(&'static str, &'a Value)> {
    keys.iter().find_map(|key| Some((*key, said.get(key)?)))
}
