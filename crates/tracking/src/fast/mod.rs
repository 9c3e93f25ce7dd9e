//! The same streamlines as the oracle's, as many particles side by side as a register has lanes.
//!
//! What a step costs is the latency of memory: the slot of a random corner, then a random sample in
//! it. Particles in lanes overlap those waits, and share the arithmetic. A lane whose half has ended
//! takes the second half or the next sample at once, so that none runs empty. Points are noted in
//! rows, one lane beside the other, and handed to each particle's path every [`ROWS`] steps.
//!
//! A particle's numbers depend on its seed, sample and step alone, and lanes do the oracle's
//! arithmetic, so which lane it is in changes nothing.

mod half;
mod state;

use std::ops::Range;

use fimbria_compute::philox::{Philox, uniform};
use fimbria_compute::{LaneMask, Lanes, Mask, Real, SimdLevel, Word, Words};
use pulp::{Simd, WithSimd};

use crate::draws::stream;
use crate::driver::Tracking;
use crate::field::{Lattice, Stick, unpacked};
use crate::oracle::{first_fibre, scale};
use crate::sample::Collect;
use crate::step::{
    Nearest, along, chosen, corner, dot, halfway, moved, sample_index, select3, voxel,
};
use crate::{EndReason, FirstFibre};
use half::Halves;
use state::{MAX_LANES, Particles, ROWS};

/// Tracks the samples of a stretch of seeds on one thread.
pub(crate) struct FastTracker<'a> {
    tracking: &'a Tracking<'a>,
}

impl<'a> FastTracker<'a> {
    pub(crate) fn new(tracking: &'a Tracking<'a>) -> Self {
        Self { tracking }
    }

    /// The samples in `range`, counted through all seeds, in any order.
    pub(crate) fn run<C: Collect>(&self, range: Range<u64>, simd: SimdLevel, collector: &mut C) {
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
            let halves = Halves::new(self.tracking, stretch, collector);
            simd.run(Run { tracking: self.tracking, region, halves });
        }
    }
}

/// One stretch of seeds of one region.
struct Run<'a, 'c, C: Collect> {
    tracking: &'a Tracking<'a>,
    region: u32,
    halves: Halves<'a, 'c, C>,
}

impl<C: Collect> WithSimd for Run<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut particles = Particles::default();
        let n = Lanes::<S>::LANES;
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
        let mut sticks = vec![[[0u32; MAX_LANES]; 2]; field.n_fibres()];
        let mut row = 0;
        while live > 0 {
            step.advance(&mut particles, row, &mut sticks);
            if particles.any_ended {
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

/// What a lookup finds.
struct Found<S: Simd> {
    stick: Stick<Lanes<S>>,
    /// The fraction to test.
    fraction: Lanes<S>,
    has_samples: LaneMask<S>,
    is_in_mask: LaneMask<S>,
}

impl<S: Simd> Step<'_, S> {
    /// Notes where all particles are in `row` and moves them one step, or notes why not.
    #[inline(always)]
    fn advance(&self, particles: &mut Particles, row: usize, sticks: &mut [[[u32; MAX_LANES]; 2]]) {
        let options = self.tracking.propagation;
        let pos = self.load3(&particles.pos);
        let dir = self.load3(&particles.dir);
        self.store3(pos, &mut particles.rows[row]);
        if options.loop_check {
            self.store3(dir, &mut particles.dir_rows[row]);
        }
        let zero = pos[0].splat(0.0);
        let is_first = self.lanes(&particles.is_first).equals(zero.splat(1.0));
        let moves = zero.less(self.lanes(&particles.has_dir));
        let found = self.lookup(self.here, pos, dir, Some(is_first), particles, sticks);
        let limit = if options.use_fraction {
            let words = self.words(self.choices, particles);
            uniform::<Lanes<S>>(words[1])
        } else {
            zero
        };
        let v = found.stick.dir;
        let cos = dot(v, dir);
        let follows = zero.splat(options.min_cos).less(cos.abs()) | !moves;
        let goes_on = found.has_samples
            & limit.less(found.fraction)
            & follows
            & found.stick.has_direction
            & found.is_in_mask;

        let v = if options.modified_euler {
            let sign = Lanes::select(moves, cos, self.lanes(&particles.sign_ahead));
            let trial = moved(pos, along(v, sign), self.scale);
            let ahead = self.lookup(self.ahead, trial, dir, None, particles, sticks);
            let known = ahead.has_samples & ahead.stick.has_direction;
            let z_axis = [zero, zero, zero.splat(1.0)];
            halfway(v, select3(known, ahead.stick.dir, z_axis))
        } else {
            v
        };
        let sign = Lanes::select(moves, dot(v, dir), self.lanes(&particles.sign_here));
        let next = along(v, sign);
        self.store3(moved(pos, next, self.scale), &mut particles.pos);
        self.store3(next, &mut particles.dir);
        let first_dir = select3(is_first, next, self.load3(&particles.first_dir));
        self.store3(first_dir, &mut particles.first_dir);
        let step = Words::load(self.simd, &particles.step);
        step.wrapping_add(step.splat(1)).store(&mut particles.step);
        particles.has_dir = [1.0; MAX_LANES];
        particles.is_first = [0.0; MAX_LANES];

        let point = self.lanes(&particles.point) + 1.0;
        let n_points = zero.splat(options.half_points() as f32);
        let is_longest = n_points.at_most(point);
        point.store(&mut particles.point);
        particles.any_ended = (is_longest | !goes_on).any();
        if particles.any_ended {
            // The tests in the oracle's order; the last one written is the first one made.
            let mut reason = Lanes::select(is_longest, code(zero, EndReason::Length), zero);
            let mut note = |holds: LaneMask<S>, why| {
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
            let mut codes = [0.0; MAX_LANES];
            reason.store(&mut codes);
            particles.ended = codes.map(|code| code as u8);
        }
    }

    /// The stick to follow from a random sample at a random corner.
    #[inline(always)]
    fn lookup(
        &self,
        numbers: Philox,
        pos: [Lanes<S>; 3],
        dir: [Lanes<S>; 3],
        is_first: Option<LaneMask<S>>,
        particles: &Particles,
        sticks: &mut [[[u32; MAX_LANES]; 2]],
    ) -> Found<S> {
        let options = self.tracking.propagation;
        let field = self.tracking.field;
        let words = self.words(numbers, particles);
        let [ux, uy, uz, us] = [
            uniform::<Lanes<S>>(words[0]),
            uniform::<Lanes<S>>(words[1]),
            uniform::<Lanes<S>>(words[2]),
            uniform::<Lanes<S>>(words[3]),
        ];
        let (mut corners, mut voxels) = ([0; MAX_LANES], [0; MAX_LANES]);
        self.lattice.place(corner(pos, [ux, uy, uz])).store(&mut corners);
        if is_first.is_some() {
            self.lattice.place(voxel(pos)).store(&mut voxels);
        }
        let mut samples = [0.0; MAX_LANES];
        sample_index(options.sample_choice, field.n_samples(), us).store(&mut samples);

        let (mut has_samples, mut is_in_mask) = ([0.0; MAX_LANES], [1.0; MAX_LANES]);
        let mut first_fibres = [0.0; MAX_LANES];
        for lane in 0..Lanes::<S>::LANES {
            if is_first.is_some() {
                is_in_mask[lane] = if field.slot(voxels[lane]).is_some() { 1.0 } else { 0.0 };
            }
            let Some(slot) = field.slot(corners[lane]) else { continue };
            has_samples[lane] = 1.0;
            let sample = field.sample(slot, samples[lane] as usize);
            for (fibre, packed) in sample.iter().enumerate() {
                sticks[fibre][0][lane] = packed.0 as u32;
                sticks[fibre][1][lane] = (packed.0 >> 32) as u32;
            }
            if is_first.is_some() && particles.is_first[lane] > 0.0 {
                first_fibres[lane] = match options.first_fibre {
                    FirstFibre::Number(fibre) => fibre.min(sample.len() - 1),
                    _ => first_fibre(
                        options,
                        sample.len(),
                        |fibre| sample[fibre].fraction(),
                        || particles.fibre_number(self.choices, lane),
                    ),
                } as f32;
            }
        }
        let zero = pos[0].splat(0.0);
        let first = self.unpack(&sticks[0]);
        let mut nearest = Nearest::first(first, dir, options.fibre_threshold);
        let wanted = self.lanes(&first_fibres);
        let mut start = first;
        for (fibre, packed) in sticks.iter().enumerate().skip(1) {
            let stick = self.unpack(packed);
            nearest = nearest.or(stick, dir, options.fibre_threshold);
            start = chosen(wanted.equals(zero.splat(fibre as f32)), stick, start);
        }
        let (stick, fraction) = match is_first {
            Some(is_first) => (
                chosen(is_first, start, nearest.stick),
                Lanes::select(is_first, first.fraction, nearest.stick.fraction),
            ),
            None => (nearest.stick, nearest.stick.fraction),
        };
        Found {
            stick,
            fraction,
            has_samples: zero.less(self.lanes(&has_samples)),
            is_in_mask: zero.less(self.lanes(&is_in_mask)),
        }
    }

    #[inline(always)]
    fn unpack(&self, packed: &[[u32; MAX_LANES]; 2]) -> Stick<Lanes<S>> {
        let low = Words::load(self.simd, &packed[0]);
        let high = Words::load(self.simd, &packed[1]);
        unpacked(Lanes::new(self.simd, 0.0), low, high)
    }

    #[inline(always)]
    fn words(&self, numbers: Philox, particles: &Particles) -> [Words<S>; 4] {
        numbers.lanes(
            Words::load(self.simd, &particles.item_low),
            Words::load(self.simd, &particles.item_high),
            Words::load(self.simd, &particles.step),
        )
    }

    #[inline(always)]
    fn lanes(&self, from: &[f32; MAX_LANES]) -> Lanes<S> {
        Lanes::load(self.simd, from)
    }

    #[inline(always)]
    fn load3(&self, from: &[[f32; MAX_LANES]; 3]) -> [Lanes<S>; 3] {
        [self.lanes(&from[0]), self.lanes(&from[1]), self.lanes(&from[2])]
    }

    #[inline(always)]
    fn store3(&self, v: [Lanes<S>; 3], to: &mut [[f32; MAX_LANES]; 3]) {
        v[0].store(&mut to[0]);
        v[1].store(&mut to[1]);
        v[2].store(&mut to[2]);
    }
}

#[inline(always)]
fn code<R: Real>(like: R, reason: EndReason) -> R {
    like.splat(f32::from(reason as u8))
}
