//! What a launch has made, as it came back.

use std::ops::Range;

use super::work::Work;
use crate::EndReason;
use crate::counts::Counts;
use crate::met::{Met, Passage};

/// What a launch has made.
#[derive(Default)]
pub(crate) struct Made {
    pub(super) n: usize,
    /// Of every item how many points both halves have, then why they ended, with [`IS_KEPT`].
    pub(super) ends: Vec<u32>,
    /// Of the first half of every item, then of the second of every item; more than there are.
    pub(super) points: Vec<[f32; 3]>,
    /// Where the points of half `h` of item `i` start: at `[h * n + i]`, and one more.
    pub(super) firsts: Vec<u64>,
    /// Of each region of the network the steps to it of every item, 0 where it is not reached.
    pub(super) network: Vec<u32>,
    /// Voxels with places that every item has met, on the grid of the seeds, then on another; more than there are.
    pub(super) met: Vec<Passage>,
    /// Where those of item `i` on grid `g` start: at `[g * n + i]`, and one more.
    pub(super) met_firsts: Vec<u64>,
    /// What was counted.
    pub(crate) counts: Counts,
}

/// Beside the reason for the end of a half that is kept.
pub(super) const IS_KEPT: u32 = 1 << 8;

impl Made {
    /// Points of one half of an item; none where they were not asked for.
    pub(crate) fn half(&self, half: usize, item: usize) -> &[[f32; 3]] {
        let at = half * self.n + item;
        match self.firsts.get(at..at + 2) {
            Some(ends) => &self.points[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }

    /// What an item, which is of a seed, has met.
    pub(crate) fn met(&self, seed_index: usize, item: usize) -> Met<'_> {
        let of = |grid: usize| match self.met_firsts.get(grid * self.n + item..) {
            Some([begin, end, ..]) => &self.met[*begin as usize..*end as usize],
            _ => &[],
        };
        let kept = self.kept(item);
        let points = |half: usize| if kept[half] { self.ends[half * self.n + item] } else { 0 };
        let n_points = (points(0) + points(1)) as usize;
        Met { seed_index, n_points, visits: of(0), elsewhere: of(1) }
    }

    /// Why it ended.
    pub(crate) fn reason(&self, half: usize, item: usize) -> EndReason {
        EndReason::of_code(self.ends[(2 + half) * self.n + item] as u8)
    }

    /// Which halves are kept, where the device has judged.
    pub(crate) fn kept(&self, item: usize) -> [bool; 2] {
        [2, 3].map(|row| self.ends[row * self.n + item] & IS_KEPT != 0)
    }

    /// Points from the seed at which each region of the network was first reached.
    pub(crate) fn network(&self, item: usize) -> impl Iterator<Item = Option<u32>> + '_ {
        self.network
            .chunks(self.n.max(1))
            .map(move |steps| (steps[item] > 0).then_some(steps[item]))
    }
}

/// Counts what the ends of samples say.
pub(super) fn add_up(made: &mut Made, work: &Work<'_>, samples: Range<u64>) {
    let Made { n, ends, counts, .. } = made;
    let n = *n;
    let n_samples = u64::from(work.tracking.n_samples);
    counts.made = n as u64;
    counts.points = 0;
    counts.ends.fill(0);
    counts.kept.clear();
    counts.kept.resize(work.n_regions, 0);
    for half in 0..2 {
        let (points, reasons) = (&ends[half * n..][..n], &ends[(2 + half) * n..][..n]);
        for (points, reason) in points.iter().zip(reasons) {
            counts.ends[EndReason::of_code(*reason as u8) as usize - 1] += 1;
            counts.points += if reason & IS_KEPT != 0 { u64::from(*points) } else { 0 };
        }
    }
    for (item, at) in samples.enumerate() {
        if made.kept(item).contains(&true) {
            let region = work.tracking.seeds[(at / n_samples) as usize].region;
            made.counts.kept[region as usize] += 1;
        }
    }
}
