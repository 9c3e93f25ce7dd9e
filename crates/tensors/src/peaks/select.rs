//! Which of a voxel's maxima are reported.

use super::options::{PeakOptions, PeakStatus};
use super::tile::{Climb, End, Plan};

/// Two maxima nearer than this are one that was reached twice, degrees.
const SAME_DEG: f64 = 1.0;

/// The rules in the form in which they are applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection {
    pub(crate) n_peaks: usize,
    /// Peaks whose |cosine| exceeds this are too near.
    pub(crate) near: f32,
}

impl Selection {
    pub(crate) fn new(options: &PeakOptions) -> Self {
        let near = options.min_separation_deg.max(SAME_DEG).to_radians().cos() as f32;
        Self { n_peaks: options.n_peaks, near }
    }
}

impl Plan {
    /// Writes one voxel's rows from its ascents, which are reordered.
    pub(super) fn select_voxel(
        &self,
        mut status: PeakStatus,
        climbs: &mut [Climb],
        rows: &mut [f32],
        column: usize,
    ) {
        let n_peaks = self.selection.n_peaks;
        let at = |row: usize| row * self.tile + column;
        for row in 0..4 * n_peaks {
            rows[at(row)] = f32::NAN;
        }
        climbs.sort_by(|a, b| b.value.total_cmp(&a.value));
        let largest = climbs.iter().find(|c| c.end == End::Certified).map(|c| c.value);
        let threshold = self.threshold(largest.unwrap_or(0.0));
        let near = |a: &[f32; 3], b: &[f32; 3]| {
            let cosine = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]));
            cosine.abs() > self.selection.near
        };

        let mut kept: Vec<[f32; 3]> = Vec::with_capacity(n_peaks);
        let counts = |value: f32| value >= threshold && value > self.absolute;
        for climb in climbs.iter().filter(|c| c.end == End::Certified && counts(c.value)) {
            if kept.len() == n_peaks {
                break;
            }
            if kept.iter().any(|k| near(k, &climb.x)) {
                continue;
            }
            let x = upward(climb.x);
            for (i, x) in x.iter().enumerate() {
                rows[at(3 * kept.len() + i)] = x * climb.value;
            }
            rows[at(3 * n_peaks + kept.len())] = climb.value;
            kept.push(climb.x);
        }
        if status == PeakStatus::Below {
            let lost = |c: &&Climb| c.end != End::Certified && counts(c.value);
            let mut lost = climbs.iter().filter(lost);
            if lost.any(|c| !kept.iter().any(|k| near(k, &c.x))) {
                status = PeakStatus::Uncertain;
            } else if !kept.is_empty() {
                status = PeakStatus::Found;
            }
        }
        rows[at(4 * n_peaks)] = kept.len() as f32;
        rows[at(4 * n_peaks + 1)] = status.code();
    }
}

/// Of ±x the one with z > 0 (y > 0 where z is 0, x > 0 where both are).
fn upward(x: [f32; 3]) -> [f32; 3] {
    let first = [x[2], x[1], x[0]].into_iter().find(|&c| c != 0.0);
    if first.is_some_and(|c| c < 0.0) { x.map(|c| -c) } else { x }
}
