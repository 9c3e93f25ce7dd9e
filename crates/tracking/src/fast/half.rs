//! What happens between the halves: judgement, and the next work for a lane.

use std::ops::Range;

use super::state::{IN_FLIGHT, Particles};
use crate::draws::{Draws, Keyed, Lookup, item_key, step_key};
use crate::driver::Made;
use crate::rules::{Judge, LoopCheck, Verdicts};
use crate::sample::Take;
use crate::tracking::{Tracking, jittered};
use crate::{EndReason, Seed};

/// The samples to be made, and those in the lanes.
pub(super) struct Halves<'a> {
    tracking: &'a Tracking<'a>,
    take: &'a mut Take<'a>,
    /// The samples that come next, counted through all seeds.
    next: Range<u64>,
    lanes: Vec<InLane<'a>>,
    loops: LoopCheck,
    /// No region decides over anything, and points need no transform.
    is_free: bool,
}

/// What is known of the sample in a lane.
struct InLane<'a> {
    seed_index: usize,
    number: u32,
    half: u32,
    start: [f32; 3],
    /// Points before the half that is being made.
    before: usize,
    ends: [EndReason; 2],
    judge: Judge<'a>,
    verdicts: Verdicts,
}

impl<'a> Halves<'a> {
    pub(super) fn new(
        tracking: &'a Tracking<'a>,
        next: Range<u64>,
        take: &'a mut Take<'a>,
    ) -> Self {
        let lane = || InLane {
            seed_index: 0,
            number: 0,
            half: 0,
            start: [0.0; 3],
            before: 0,
            ends: [EndReason::OutsideMask; 2],
            judge: Judge::new(tracking.rules),
            verdicts: Verdicts::default(),
        };
        let idle = Judge::new(tracking.rules).is_idle();
        Self {
            tracking,
            take,
            next,
            lanes: (0..IN_FLIGHT).map(|_| lane()).collect(),
            loops: LoopCheck::default(),
            is_free: idle && tracking.space.is_that_of_samples(),
        }
    }

    /// Puts the next sample into a lane; false where none is left.
    pub(super) fn next_sample(&mut self, lane: usize, particles: &mut Particles) -> bool {
        while let Some(next) = self.next.next() {
            let n_samples = u64::from(self.tracking.n_samples);
            let (seed_index, number) = ((next / n_samples) as usize, (next % n_samples) as u32);
            let seed = &self.tracking.seeds[seed_index];
            let mut draws = self.draws(seed, number);
            let start = self.tracking.space.to_samples(jittered(self.tracking, seed, &mut draws));
            let sample = &mut self.lanes[lane];
            (sample.seed_index, sample.number, sample.start) = (seed_index, number, start);
            sample.half = 0;
            sample.before = 0;
            sample.verdicts.begin();
            sample.judge.begin_sample(seed.region as usize);
            let path = &mut particles.paths[lane];
            path.points.clear();
            path.places.clear();
            path.dirs.clear();
            path.wants_dirs = self.tracking.propagation.loop_check;
            particles.is_live[lane] = true;
            if self.tracking.field.is_inside(start) && self.tracking.propagation.half_points() > 0 {
                self.begin_half(lane, None, particles);
                return true;
            }
            // Nothing to propagate: two halves without points.
            for half in 0..2 {
                let sample = &mut self.lanes[lane];
                sample.judge.begin_half();
                sample.ends[half] = EndReason::OutsideMask;
                let step_mm = self.tracking.propagation.step_mm;
                sample.verdicts.end_half(&sample.judge, 0, step_mm);
            }
            self.hand_in(lane, 0, particles);
        }
        particles.is_live[lane] = false;
        false
    }

    fn draws(&self, seed: &Seed, number: u32) -> Keyed {
        Keyed::new(self.tracking.rng_seed, seed.region, seed.key, number)
    }

    /// Starts the half that the lane's sample is at, along `dir` where there is one.
    fn begin_half(&mut self, lane: usize, dir: Option<[f32; 3]>, particles: &mut Particles) {
        let (half, start) = (self.lanes[lane].half, self.lanes[lane].start);
        let (seed_index, number) = (self.lanes[lane].seed_index, self.lanes[lane].number);
        let seed = &self.tracking.seeds[seed_index];
        for axis in 0..3 {
            particles.pos[axis][lane] = start[axis];
            particles.dir[axis][lane] = dir.map_or(0.0, |dir| dir[axis]);
        }
        particles.has_dir[lane] = if dir.is_some() { 1.0 } else { 0.0 };
        particles.is_first[lane] = 1.0;
        particles.point[lane] = 0.0;
        let item = item_key(seed.key, number);
        particles.item_low[lane] = item as u32;
        particles.item_high[lane] = (item >> 32) as u32;
        particles.step[lane] = step_key(half, 0);
        if dir.is_none() {
            let mut draws = self.draws(seed, number);
            draws.step(half, 0);
            particles.sign_here[lane] = draws.sign(Lookup::Here) - 0.5;
            particles.sign_ahead[lane] = draws.sign(Lookup::Ahead) - 0.5;
        }
    }

    /// The half in a lane has ended for this reason, all its points are in its path. Starts what
    /// comes next, in `row`; false where nothing does.
    pub(super) fn end_half(
        &mut self,
        lane: usize,
        reason: u8,
        particles: &mut Particles,
        row: usize,
    ) -> bool {
        let reason = EndReason::of_code(reason);
        let propagation = self.tracking.propagation;
        let sample = &mut self.lanes[lane];
        let made = particles.paths[lane].points.len() - sample.before;
        // The step out of the first point was made where there is a second, or where the first was
        // the last by its number.
        let mut first_dir = (made > 1 || reason == EndReason::Length)
            .then(|| particles.first_dir.map(|axis| axis[lane]));
        if propagation.ends_inside && reason == EndReason::OutsideMask {
            particles.paths[lane].points.pop();
            particles.paths[lane].places.pop();
            particles.paths[lane].dirs.pop();
        }
        let reason = if !self.is_free || propagation.loop_check {
            let (reason, is_at_first) = self.judged(lane, reason, particles);
            if is_at_first {
                first_dir = None;
            }
            reason
        } else {
            reason
        };
        let sample = &mut self.lanes[lane];
        let n_points = particles.paths[lane].points.len();
        sample.ends[sample.half as usize] = reason;
        sample.verdicts.end_half(&sample.judge, n_points - sample.before, propagation.step_mm);
        particles.from_row[lane] = row;
        if sample.half == 0 {
            sample.half = 1;
            sample.before = n_points;
            self.begin_half(lane, first_dir.map(|dir| dir.map(|x| -x)), particles);
            return true;
        }
        let n_made_first = sample.before;
        self.hand_in(lane, n_made_first, particles);
        self.next_sample(lane, particles)
    }

    /// Applies to the half just made what the oracle asks at every point. Gives why it ended, and
    /// whether that was before its first step.
    fn judged(
        &mut self,
        lane: usize,
        reason: EndReason,
        particles: &mut Particles,
    ) -> (EndReason, bool) {
        let (space, loop_check) = (self.tracking.space, self.tracking.propagation.loop_check);
        let InLane { before, judge, .. } = &mut self.lanes[lane];
        let path = &mut particles.paths[lane];
        judge.begin_half();
        self.loops.begin_half();
        let mut ended = None;
        for at in *before..path.points.len() {
            if loop_check && let Err(why) = self.loops.enter(path.points[at], path.dirs[at]) {
                ended = Some((at, why));
                break;
            }
            if self.is_free {
                continue;
            }
            path.points[at] = space.from_samples(path.points[at]);
            let voxel = space.voxel(path.points[at]);
            if let Err(why) = judge.enter(path.points[at], voxel) {
                let left_out = why == EndReason::StopOnLeaving;
                ended = Some((at + usize::from(!left_out), why));
                break;
            }
            if let Err(why) = judge.leave() {
                ended = Some((at + 1, why));
                break;
            }
        }
        let Some((points, why)) = ended else { return (reason, false) };
        path.points.truncate(points);
        path.places.truncate(points);
        path.dirs.truncate(points);
        (why, points <= *before + 1)
    }

    fn hand_in(&mut self, lane: usize, n_made_first: usize, particles: &Particles) {
        let InLane { seed_index, number, ends, judge, verdicts, .. } = &self.lanes[lane];
        let seed = &self.tracking.seeds[*seed_index];
        let (seed_index, number, ends) = (*seed_index, *number, *ends);
        let order = (seed_index, number);
        let made = Made { seed, seed_index, number, order, n_made_first, ends };
        let path = &particles.paths[lane];
        // Places are those of the samples' grid.
        let is_same = self.tracking.space.is_that_of_samples();
        let places = if is_same { &path.places[..] } else { &[] };
        let propagation = self.tracking.propagation;
        made.hand_in(judge, verdicts, propagation.step_mm, &path.points, places, self.take);
    }
}
