//! Echo times, and the times between them.

use fimbria_compute::Progress as _;
use serde_json::Value;

use super::errors::PhaseFilesError;
use super::phase_files::PhaseFiles;
use crate::Logbook;

/// The last echo lies within these, in milliseconds.
const LAST_ECHO_MS: [f64; 2] = [0.1, 1000.0];

impl PhaseFiles {
    /// Seconds.
    pub(super) fn times(
        &self,
        said: &[Value],
        echoes: usize,
        coils: usize,
    ) -> Result<Vec<f64>, PhaseFilesError> {
        let mut times: Vec<f64> = self.te.clone();
        if times.is_empty() {
            for sidecar in said {
                let seconds = match &sidecar["EchoTime"] {
                    Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
                    one => one.as_f64().into_iter().collect::<Vec<_>>(),
                };
                times.extend(seconds.into_iter().map(|t| 1e3 * t));
            }
            // Each coil of images by themselves says the same.
            if coils > 1 && times.len() == coils * echoes {
                times.truncate(echoes);
            }
            if times.is_empty() {
                return Err(PhaseFilesError::NeedsTimes);
            }
        }
        if times.len() != echoes {
            return Err(PhaseFilesError::Times { times: times.len(), echoes });
        }
        let mut before = 0.0;
        for &time in &times {
            if !(time > before && time.is_finite()) {
                return Err(PhaseFilesError::Time(time));
            }
            before = time;
        }
        if !(LAST_ECHO_MS[0]..=LAST_ECHO_MS[1]).contains(&before) {
            return Err(PhaseFilesError::TimeUnit(before));
        }
        Ok(times.into_iter().map(|t| 1e-3 * t).collect())
    }
}

/// The time between two echoes, seconds.
pub(super) fn between(
    [first, second]: [f64; 2],
    log: &Logbook<'_>,
) -> Result<f64, PhaseFilesError> {
    let ms = 1e3 * (second - first);
    if ms <= 0.0 {
        return Err(PhaseFilesError::Time(1e3 * second));
    }
    if !(LAST_ECHO_MS[0]..=LAST_ECHO_MS[1]).contains(&ms) {
        return Err(PhaseFilesError::TimeUnit(ms));
    }
    log.note(&format!(
        "EchoTime1 and EchoTime2: taken for the difference of two phases, {ms:.2} ms apart"
    ));
    Ok(1e-3 * ms)
}
