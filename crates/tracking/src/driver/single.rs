//! One sample at a time: made by the oracle or by a device, judged and handed in.

use super::{Tracking, jittered};
use crate::device::Paths;
use crate::draws::{Draws, Keyed};
use crate::oracle::{HalfEnd, Visit as _, propagate};
use crate::rules::{Judge, LoopCheck, Verdicts, Watcher};
use crate::sample::{Collect, Sample};
use crate::{EndReason, Propagation, Seed};

/// The oracle with what belongs to one sample.
pub(super) struct Single<'a> {
    tracking: &'a Tracking<'a>,
    judge: Judge<'a>,
    verdicts: Verdicts,
    loops: LoopCheck,
    all: Vec<[f32; 3]>,
}

impl<'a> Single<'a> {
    pub(super) fn new(tracking: &'a Tracking<'a>) -> Self {
        Self {
            tracking,
            judge: Judge::new(tracking.rules),
            verdicts: Verdicts::default(),
            loops: LoopCheck::default(),
            all: Vec::new(),
        }
    }

    /// Makes a sample by the oracle.
    pub(super) fn sample<C: Collect>(
        &mut self,
        seed_index: usize,
        seed: &Seed,
        number: u32,
        draws: &mut dyn Draws,
        collector: &mut C,
    ) {
        let Tracking { field, space, propagation, .. } = *self.tracking;
        let start = space.to_samples(jittered(self.tracking, seed, draws));
        self.judged(seed_index, seed, number, collector, |half, dir, watcher| {
            propagate(field, propagation, half, start, dir, draws, watcher)
        });
    }

    /// Judges a sample whose halves `make` makes, given their number, the direction to start in and
    /// whom to tell their points.
    fn judged<C: Collect>(
        &mut self,
        seed_index: usize,
        seed: &Seed,
        number: u32,
        collector: &mut C,
        mut make: impl FnMut(u32, Option<[f32; 3]>, &mut Watcher<'_, '_>) -> HalfEnd,
    ) {
        let Tracking { space, propagation, .. } = *self.tracking;
        self.all.clear();
        self.verdicts.begin();
        self.judge.begin_sample(seed.region as usize);
        let mut dir: Option<[f32; 3]> = None;
        let (mut n_made_first, mut ends) = (0, [EndReason::OutsideMask; 2]);
        for half in 0..2 {
            let before = self.all.len();
            self.judge.begin_half();
            self.loops.begin_half();
            let mut watcher = Watcher {
                judge: &mut self.judge,
                space,
                path: &mut self.all,
                loops: propagation.loop_check.then_some(&mut self.loops),
            };
            let end = make(half as u32, dir, &mut watcher);
            if half == 0 {
                dir = end.first_dir.map(|dir| dir.map(|x| -x));
                n_made_first = self.all.len();
            }
            ends[half] = end.reason;
            self.verdicts.end_half(&self.judge, self.all.len() - before, propagation.step_mm);
        }
        let made = Made { seed, seed_index, number, n_made_first, ends };
        made.hand_in(&self.judge, &self.verdicts, propagation, &self.all, &[], collector);
    }

    /// Judges a sample that a device made.
    pub(super) fn replay<C: Collect>(
        &mut self,
        seed_index: usize,
        number: u32,
        paths: &Paths,
        item: usize,
        collector: &mut C,
    ) {
        let seed = &self.tracking.seeds[seed_index];
        // A rule that ends the first half at the seed takes its direction from the second, which
        // the device has given it.
        if self.ends_at_seed(seed, paths, item) {
            let mut draws = Keyed::new(self.tracking.rng_seed, seed.region, seed.key, number);
            return self.sample(seed_index, seed, number, &mut draws, collector);
        }
        self.judged(seed_index, seed, number, collector, |half, _, watcher| {
            let half = half as usize;
            let mut reason = paths.reason(half, item);
            for (pos, dir) in paths.half(half, item) {
                let seen = watcher.enter(pos, dir).and_then(|()| watcher.leave());
                if let Err(why) = seen {
                    reason = why;
                    break;
                }
            }
            HalfEnd { first_dir: None, reason }
        });
    }

    fn ends_at_seed(&mut self, seed: &Seed, paths: &Paths, item: usize) -> bool {
        let Some((start, _)) = paths.half(0, item).next() else { return false };
        if self.judge.is_idle() {
            return false;
        }
        let pos = self.tracking.space.from_samples(start);
        self.judge.begin_sample(seed.region as usize);
        self.judge.begin_half();
        let voxel = self.tracking.space.voxel(pos);
        self.judge.enter(pos, voxel).and_then(|()| self.judge.leave()).is_err()
    }
}

/// A sample whose halves are made.
pub(crate) struct Made<'a> {
    pub(crate) seed: &'a Seed,
    pub(crate) seed_index: usize,
    pub(crate) number: u32,
    pub(crate) n_made_first: usize,
    pub(crate) ends: [EndReason; 2],
}

impl Made<'_> {
    /// Judges the halves in `all`, and hands what is kept to the collector. `places`: a number for
    /// each point, as a sample has them, or none.
    pub(crate) fn hand_in<C: Collect>(
        self,
        judge: &Judge<'_>,
        verdicts: &Verdicts,
        propagation: &Propagation,
        all: &[[f32; 3]],
        places: &[u32],
        collector: &mut C,
    ) {
        let Self { seed, seed_index, number, n_made_first, ends } = self;
        let [first, second] = verdicts.kept(judge, propagation.step_mm).0;
        let (kept, n_first) = match (first, second) {
            (true, true) => (0..all.len(), n_made_first),
            (true, false) => (0..n_made_first, n_made_first),
            (false, true) => (n_made_first..all.len(), 0),
            (false, false) => (0..0, 0),
        };
        collector.sample(&Sample {
            seed,
            seed_index,
            number,
            points: &all[kept.clone()],
            places: places.get(kept).unwrap_or_default(),
            n_first,
            n_made_first,
            all_points: all,
            ends,
            kept: first || second,
            network: &judge.network,
        });
    }
}
