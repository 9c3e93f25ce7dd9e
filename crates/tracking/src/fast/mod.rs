//! The same streamlines as the oracle's, as many particles side by side as a register has lanes.
//!
//! What a step costs is the latency of memory: the slot of a random corner, then a random sample in
//! it. Particles in lanes overlap those waits, and share the arithmetic; of several registers of them
//! each first asks for its samples and takes them only when all have asked. A lane whose half has
//! ended takes the second half or the next sample at once, so that none runs empty. Points are noted
//! in rows, one lane beside the other, and handed to each particle's path every [`ROWS`] steps.
//!
//! A particle's numbers depend on its seed, sample and step alone, and lanes do the oracle's
//! arithmetic, so which lane it is in changes nothing.

mod half;
mod lookup;
mod state;

use std::ops::Range;

use fimbria_compute::philox::{Philox, uniform};
use fimbria_compute::{Flags, LaneFlags, Lanes, Real, SimdLevel, Word, Words};
use pulp::{Simd, WithSimd};

use crate::EndReason;
use crate::draws::stream;
use crate::field::Lattice;
use crate::field::voxel;
use crate::oracle::scale;
use crate::sample::Take;
use crate::step::{along, dot, halfway, moved, select3};
use crate::tracking::Tracking;
use half::Halves;
use lookup::Wanted;
use state::{Particles, PerLane, REGISTERS, ROWS};

/// Tracks the samples of a stretch of seeds on one thread.
pub(crate) struct FastTracker<'a> {
    tracking: &'a Tracking<'a>,
}

impl<'a> FastTracker<'a> {
    pub(crate) fn new(tracking: &'a Tracking<'a>) -> Self {
        Self { tracking }
    }

    /// The samples in `range`, counted through all seeds, in any order.
    pub(crate) fn run(&self, range: Range<u64>, simd: SimdLevel, take: &mut Take<'_>) {
        let Tracking { seeds, n_samples, .. } = *self.tracking;
        let mut rest = range;
        while !rest.is_empty() {
            // Random numbers are drawn for lanes of one region at a time.
            let first = (rest.start / u64::from(n_samples)) as usize;
            let region = seeds[first].region;
            let last = seeds[first..].iter().position(|seed| seed.region != region);
            let end = last.map_or(rest.end, |n| (first + n) as u64 * u64::from(n_samples));
            let stretch = rest.start..rest.end.min(end);
            rest.start = stretch.end;
            let halves = Halves::new(self.tracking, stretch, take);
            simd.run(Run { tracking: self.tracking, region, halves });
        }
    }
}

/// One stretch of seeds of one region.
struct Run<'a> {
    tracking: &'a Tracking<'a>,
    region: u32,
    halves: Halves<'a>,
}

impl WithSimd for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut particles = Particles::default();
        let n = REGISTERS * Lanes::<S>::LANES;
        let mut live = 0;
        for lane in 0..n {
            live += usize::from(self.halves.next_sample(lane, &mut particles));
        }
        let field = self.tracking.field;
        let philox = Philox::new(self.tracking.rng_seed);
        let stream = |what| philox.stream(self.region * stream::PER_REGION + what);
        let step = Step {
            simd,
            tracking: self.tracking,
            lattice: field.lattice(),
            scale: scale(field, self.tracking.propagation),
            here: stream(stream::HERE),
            ahead: stream(stream::AHEAD),
            choices: stream(stream::CHOICES),
        };
        let mut wanted = Wanted::new(field.n_fibres());
        let mut row = 0;
        while live > 0 {
            if step.advance(&mut particles, row, &mut wanted) {
                for lane in 0..n {
                    let reason = particles.ended[lane];
                    if reason != 0 && particles.is_live[lane] {
                        particles.note(lane, row + 1);
                        if !self.halves.end_half(lane, reason, &mut particles, row + 1) {
                            live -= 1;
                        }
                    }
                }
            }
            row += 1;
            if row == ROWS {
                for lane in 0..n {
                    particles.note(lane, ROWS);
                    particles.from_row[lane] = 0;
                }
                row = 0;
            }
        }
    }
}

/// What all steps share.
struct Step<'a, S: Simd> {
    simd: S,
    tracking: &'a Tracking<'a>,
    lattice: Lattice,
    scale: [f32; 3],
    here: Philox,
    ahead: Philox,
    choices: Philox,
}

impl<S: Simd> Step<'_, S> {
    /// Notes where all particles are in `row` and moves them one step, or notes why not; true where
    /// some half has ended.
    #[inline(always)]
    fn advance(&self, particles: &mut Particles, row: usize, wanted: &mut Wanted) -> bool {
        let lanes = Lanes::<S>::LANES;
        for at in (0..REGISTERS * lanes).step_by(lanes) {
            let pos = self.load3(&particles.pos, at);
            self.store3(pos, &mut particles.rows[row], at);
            if self.tracking.propagation.loop_check {
                let dir = self.load3(&particles.dir, at);
                self.store3(dir, &mut particles.dir_rows[row], at);
            }
            self.lattice.place(voxel(pos)).store(&mut particles.place_rows[row][at..]);
            self.ask(self.here, pos, Some(row), particles, at, wanted);
        }
        let mut any_ended = false;
        for at in (0..REGISTERS * lanes).step_by(lanes) {
            let (v, ended) = self.decide(particles, at, wanted);
            any_ended |= ended;
            if !self.tracking.propagation.modified_euler {
                self.go(v, particles, at);
                continue;
            }
            let (pos, dir) = (self.load3(&particles.pos, at), self.load3(&particles.dir, at));
            let sign_ahead = self.lanes(&particles.sign_ahead, at);
            let sign = Lanes::select(self.moves(particles, at), dot(v, dir), sign_ahead);
            let trial = moved(pos, along(v, sign), self.scale);
            self.store3(v, &mut particles.here, at);
            self.ask(self.ahead, trial, None, particles, at, wanted);
        }
        if self.tracking.propagation.modified_euler {
            for at in (0..REGISTERS * lanes).step_by(lanes) {
                let ahead = self.take(None, particles, at, wanted);
                let known = ahead.has_samples & ahead.stick.has_direction;
                let zero = Lanes::new(self.simd, 0.0);
                let z_axis = [zero, zero, zero.splat(1.0)];
                let v = self.load3(&particles.here, at);
                self.go(halfway(v, select3(known, ahead.stick.dir, z_axis)), particles, at);
            }
        }
        particles.has_dir = [1.0; state::IN_FLIGHT];
        particles.is_first = [0.0; state::IN_FLIGHT];
        any_ended
    }

    /// The direction that each particle of a register follows, and whether some half ends here.
    #[inline(always)]
    fn decide(
        &self,
        particles: &mut Particles,
        at: usize,
        wanted: &mut Wanted,
    ) -> ([Lanes<S>; 3], bool) {
        let options = self.tracking.propagation;
        let zero = Lanes::new(self.simd, 0.0);
        let is_first = self.lanes(&particles.is_first, at).equals(zero.splat(1.0));
        let found = self.take(Some(is_first), particles, at, wanted);
        let limit = if options.use_fraction {
            let words = self.words(self.choices, particles, at);
            uniform::<Lanes<S>>(words[1])
        } else {
            zero
        };
        let v = found.stick.dir;
        let cos = dot(v, self.load3(&particles.dir, at));
        let follows = zero.splat(options.min_cos).less(cos.abs()) | !self.moves(particles, at);
        let goes_on = found.has_samples
            & limit.less(found.fraction)
            & follows
            & found.stick.has_direction
            & found.is_in_mask;
        let point = self.lanes(&particles.point, at) + 1.0;
        let is_longest = zero.splat(options.half_points() as f32).at_most(point);
        point.store(&mut particles.point[at..]);
        let ended = (is_longest | !goes_on).any();
        let mut reason = zero;
        if ended {
            // The tests in the oracle's order; the last one written is the first one made.
            reason = Lanes::select(is_longest, code(zero, EndReason::Length), zero);
            let mut note = |holds: LaneFlags<S>, why| {
                reason = Lanes::select(holds, reason, code(zero, why));
            };
            note(found.is_in_mask, EndReason::OutsideMask);
            note(found.stick.has_direction, EndReason::NoDirection);
            note(follows, EndReason::Curvature);
            note(limit.less(found.fraction), EndReason::Fraction);
            note(found.has_samples, EndReason::OutsideSamples);
            if options.ends_inside {
                note(found.is_in_mask, EndReason::OutsideMask);
            }
        }
        let mut codes = [0.0; state::MAX_LANES];
        reason.store(&mut codes);
        for (ended, code) in particles.ended[at..].iter_mut().zip(&codes[..Lanes::<S>::LANES]) {
            *ended = *code as u8;
        }
        (v, ended)
    }

    /// Moves the particles of a register along `v`, in the sense that turns least.
    #[inline(always)]
    fn go(&self, v: [Lanes<S>; 3], particles: &mut Particles, at: usize) {
        let (pos, dir) = (self.load3(&particles.pos, at), self.load3(&particles.dir, at));
        let sign_here = self.lanes(&particles.sign_here, at);
        let sign = Lanes::select(self.moves(particles, at), dot(v, dir), sign_here);
        let next = along(v, sign);
        self.store3(moved(pos, next, self.scale), &mut particles.pos, at);
        self.store3(next, &mut particles.dir, at);
        let is_first = self.lanes(&particles.is_first, at).equals(sign.splat(1.0));
        let first_dir = select3(is_first, next, self.load3(&particles.first_dir, at));
        self.store3(first_dir, &mut particles.first_dir, at);
        let step = Words::load(self.simd, &particles.step[at..]);
        step.wrapping_add(step.splat(1)).store(&mut particles.step[at..]);
    }

    #[inline(always)]
    fn moves(&self, particles: &Particles, at: usize) -> LaneFlags<S> {
        Lanes::new(self.simd, 0.0).less(self.lanes(&particles.has_dir, at))
    }

    #[inline(always)]
    fn words(&self, numbers: Philox, particles: &Particles, at: usize) -> [Words<S>; 4] {
        numbers.lanes(
            Words::load(self.simd, &particles.item_low[at..]),
            Words::load(self.simd, &particles.item_high[at..]),
            Words::load(self.simd, &particles.step[at..]),
        )
    }

    #[inline(always)]
    fn lanes(&self, from: &PerLane<f32>, at: usize) -> Lanes<S> {
        Lanes::load(self.simd, &from[at..])
    }

    #[inline(always)]
    fn load3(&self, from: &[PerLane<f32>; 3], at: usize) -> [Lanes<S>; 3] {
        [self.lanes(&from[0], at), self.lanes(&from[1], at), self.lanes(&from[2], at)]
    }

    #[inline(always)]
    fn store3(&self, v: [Lanes<S>; 3], to: &mut [PerLane<f32>; 3], at: usize) {
        v[0].store(&mut to[0][at..]);
        v[1].store(&mut to[1][at..]);
        v[2].store(&mut to[2][at..]);
    }
}

#[inline(always)]
fn code<R: Real>(like: R, reason: EndReason) -> R {
    like.splat(f32::from(reason as u8))
}
