//! One sample at a time, made by the oracle or by a device.

use super::judging::{Judged, Judging, stopped};
use crate::device::Made;
use crate::draws::{Draws, Keyed};
use crate::oracle::{HalfEnd, Propagator, propagate};
use crate::rules::Watcher;
use crate::sample::Take;
use crate::tracking::{Tracking, jittered};
use crate::{EndReason, Seed};

/// The half that a seed on a surface has not.
const NO_HALF: HalfEnd = HalfEnd { first_dir: None, reason: EndReason::OutsideMask };

/// The oracle with what belongs to one sample.
pub(super) struct Single<'a> {
    tracking: &'a Tracking<'a>,
    judging: Judging<'a>,
}

impl<'a> Single<'a> {
    pub(super) fn new(tracking: &'a Tracking<'a>) -> Self {
        let Tracking { space, propagation, rules, .. } = *tracking;
        let judging = Judging::new(space, rules, propagation.step_mm);
        Self { tracking, judging: judging.with_loop_check(propagation.loop_check) }
    }

    /// Makes a sample by the oracle.
    pub(super) fn sample(
        &mut self,
        seed_index: usize,
        seed: &Seed,
        number: u32,
        draws: &mut dyn Draws,
        take: &mut Take<'_>,
    ) {
        let Tracking { field, space, propagation, rules, .. } = *self.tracking;
        let start = space.to_samples(jittered(self.tracking, seed, draws));
        let judged = Judged { seed, seed_index, number, order: (seed_index, number) };
        let local = &rules.local;
        let towards = local.only_towards.get(seed_index).copied().flatten();
        let by = Propagator { field, options: propagation, local, space, towards };
        let mut make = |half, dir, watcher: &mut Watcher<'_, '_>| {
            propagate(by, half, start, dir, draws, watcher)
        };
        if towards.is_none() {
            return self.judging.sample(judged, take, make);
        }
        self.judging.sample(judged, take, |half, _, watcher| {
            // FSL takes the second one.
            if half == 1 { make(half, None, watcher) } else { NO_HALF }
        });
    }

    /// Judges a sample that a device made, which has looked for loops already.
    pub(super) fn replay(
        &mut self,
        seed_index: usize,
        number: u32,
        made: &Made,
        item: usize,
        take: &mut Take<'_>,
    ) {
        let seed = &self.tracking.seeds[seed_index];
        // A rule that ends the first half at the seed takes its direction from the second, which
        // the device has given it.
        let start = made.half(0, item).first();
        if start.is_some_and(|start| self.judging.ends_at(*start, seed.region)) {
            let mut draws = Keyed::new(self.tracking.rng_seed, seed.region, seed.key, number);
            return self.sample(seed_index, seed, number, &mut draws, take);
        }
        let judged = Judged { seed, seed_index, number, order: (seed_index, number) };
        self.judging.sample(judged, take, |half, _, watcher| {
            let half = half as usize;
            // Without directions nothing comes back on itself.
            let points = made.half(half, item).iter().map(|pos| (*pos, [0.0; 3]));
            let ended = stopped(points, watcher);
            HalfEnd { first_dir: None, reason: ended.unwrap_or(made.reason(half, item)) }
        });
    }
}
