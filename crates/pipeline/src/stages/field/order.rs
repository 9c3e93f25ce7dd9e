//! Images of echoes in the order of their times.

use std::path::PathBuf;

use fimbria_compute::Progress as _;

use super::phase_files::PhaseFiles;
use crate::Logbook;
use crate::stages::sidecar::said_of;

impl PhaseFiles {
    /// Whether the sidecars of all images are asked for their order.
    pub(super) fn follows_times(&self) -> bool {
        self.te.is_empty() && !self.relative && self.coils.is_none_or(|coils| coils == 1)
    }

    /// The same, images of an echo each in the order of the echo times beside them; as they were given
    /// where --te says the times, or where these are not said of each.
    pub(super) fn in_order_of_time(&self, log: &Logbook<'_>) -> Self {
        if !self.follows_times() {
            return self.clone();
        }
        let of_phase = order(&self.phase);
        // What has no times of its own is in the order of the phases.
        let like_phase = |paths: &[PathBuf]| {
            order(paths).or_else(|| of_phase.clone().filter(|order| order.len() == paths.len()))
        };
        let arranged = |paths: &[PathBuf], order: Option<Vec<usize>>| -> Vec<PathBuf> {
            order.map_or(paths.to_vec(), |order| order.iter().map(|&i| paths[i].clone()).collect())
        };
        let sorted = Self {
            magnitude: arranged(&self.magnitude, like_phase(&self.magnitude)),
            imaginary: arranged(&self.imaginary, like_phase(&self.imaginary)),
            phase: arranged(&self.phase, of_phase.clone()),
            ..self.clone()
        };
        if sorted != *self {
            log.note("images are taken in the order of the echo times beside them");
        }
        sorted
    }
}

/// Which image comes when, by the one echo time that the sidecar of each says; `None` where one does
/// not.
fn order(paths: &[PathBuf]) -> Option<Vec<usize>> {
    let time = |path: &PathBuf| said_of(path).ok()??["EchoTime"].as_f64();
    let times: Vec<f64> = paths.iter().map(time).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
    Some(order)
}
