//! What the lanes of a batch are for: places of probes, and posts.
//!
//! A batch of [`LANES`] holds some probes at all their places, all of the first place, then of the next; its
//! last lane is where they start. Forms are interpolated at *posts*, which the probes of a step share: at the
//! start, at each place of the probe that goes straight on, and in place of the telling one at three
//! around it, a triangle across the direction. What lies beside the straight probe is as these three say, to
//! first order in how far it lies from it.

use super::super::arcs::{Batch, LANES, MAX_PLACES};

/// Posts around the telling place.
pub(super) const BESIDE: usize = 3;

/// Posts whose forms are summed and evaluated side by side, so that multiply-adds do not wait for each other.
pub(super) const TOGETHER: usize = 6;

/// Most posts, in whole groups.
pub(super) const MAX_POSTS: usize = (BESIDE + MAX_PLACES).next_multiple_of(TOGETHER);

/// Most steps whose trials are drawn together, and for which one bound holds.
pub(super) const MAX_STEPS: usize = 3;

/// The lane of the start.
pub(super) const START: usize = LANES - 1;

/// What lanes are for.
pub(in crate::densities) struct Plan {
    /// Probes of a batch.
    pub(super) probes: usize,
    /// Steps whose trials are drawn together.
    pub(super) steps: usize,
    /// How far along the probe each lane is, as a part of its length.
    pub(super) part: Batch<f32>,
    /// Of the posts around the telling place on a probe that goes straight on: a third at that place.
    pub(super) straight: Batch<f32>,
    /// What a post beside counts for each millimetre in its direction.
    pub(super) per_mm: f32,
    /// Posts in whole groups; those beside come first, then the start.
    pub(super) posts: usize,
    /// Where they are, mm: along the direction, and across it twice.
    pub(super) post_mm: [Batch<f32>; 3],
    /// What each post counts for each lane, but for those beside.
    pub(super) weights: [Batch<f32>; MAX_POSTS],
}

impl Plan {
    /// For probes of this length and so many places, up to 8, that turn by `angle` at most.
    pub(super) fn new(arc_mm: f32, angle: f32, places: usize) -> Self {
        let probes = (LANES - 1) / places;
        // The place whose direction tells best what a probe is worth.
        let telling = (2 * places / 3).max(1) - 1;
        let beside_mm = arc_mm / angle * (1.0 - angle.cos());
        let mut plan = Self {
            probes,
            steps: (LANES / probes).min(MAX_STEPS),
            part: [0.0; LANES],
            straight: [0.0; LANES],
            per_mm: 2.0 / 3.0 / beside_mm,
            posts: (BESIDE + places).next_multiple_of(TOGETHER),
            post_mm: [[0.0; LANES]; 3],
            weights: [[0.0; LANES]; MAX_POSTS],
        };
        plan.weights[BESIDE][START] = 1.0;
        let mut post = BESIDE + 1;
        for place in 0..places {
            let part = (place + 1) as f32 / places as f32;
            let lanes = place * probes..(place + 1) * probes;
            plan.part[lanes.clone()].fill(part);
            // Curvatures are even over a disk: half the square of the largest in the mean.
            let ahead_mm = part * arc_mm * (1.0 - (part * angle).powi(2) / 12.0);
            if place != telling {
                plan.weights[post][lanes].fill(1.0);
                plan.post_mm[0][post] = ahead_mm;
                post += 1;
                continue;
            }
            plan.straight[lanes].fill(1.0 / BESIDE as f32);
            for (beside, [cos, sin]) in directions_beside().into_iter().enumerate() {
                plan.post_mm[0][beside] = ahead_mm;
                plan.post_mm[1][beside] = beside_mm * cos;
                plan.post_mm[2][beside] = beside_mm * sin;
            }
        }
        plan
    }
}

/// In which directions across the posts beside lie: a third of a turn apart.
#[inline(always)]
pub(super) fn directions_beside() -> [[f32; 2]; BESIDE] {
    const HALF_ROOT_3: f32 = 0.866_025_4;
    [[1.0, 0.0], [-0.5, HALF_ROOT_3], [-0.5, -HALF_ROOT_3]]
}
