//! Arcs drawn at random, many at a time in SIMD lanes.
//!
//! What an arc costs is the densities along it: 8 forms around each place, as many multiply-adds as
//! forms have terms. All places of some arcs that start at one point lie close together, so that their
//! lanes share the forms: each is read once and broadcast, without gathers. A lane gives no weight to
//! forms that are not around it, which changes none of its bits, so that neither the width of registers
//! nor its neighbours do.
//!
//! Arcs are drawn evenly over the cap and kept with their chance over a bound on it (rejection). The
//! bound is made of the densities at 32 directions of the cap at the middle of the step, times a margin
//! that makes it one in practice: what lies above it would be drawn as if it were at it. An arc whose
//! number is too high even for the density at the middle of the step, in its own direction and with that
//! margin, is given up before anything is looked up along it (a squeeze): seven of sixteen are, and of
//! what would have been kept in a head 0.02 %.

mod first;
mod geometry;
mod sums;

use fimbria_compute::math::{atan2, ln, sincos, sincos_turns};
use fimbria_compute::philox::{Philox, uniform};
use fimbria_compute::{Lanes, Real, Word as _, Words};
use pulp::Simd;

pub(super) use self::geometry::{across, limited, reach, unit};
pub(super) use self::sums::hat;
use super::directions::{CAP, HALF_SPHERE, RINGS, cap, half_sphere, load3};
use super::field::{Densities, MAX_TERMS};
use super::form::{monomials, value};
use super::options::{DensityPropagation, DensityRule};
use crate::EndReason;
use crate::Tissues;
use crate::draws::step_key;
use crate::field::Lattice;

/// Lanes of a batch, whatever the width of registers.
pub(super) const LANES: usize = 16;

/// Arcs, or first directions, drawn before a streamline ends for want of one.
pub(super) const MAX_TRIALS: u32 = 1024;

/// It ends after so many that are given up for their densities, or looked at, if the densities along none
/// of them reached the cut-off.
pub(super) const MAX_IN_VAIN: u32 = 64;

/// Most places of an arc.
pub(super) const MAX_PLACES: usize = 8;

/// The largest density of the cap may be so much above that at the 32 directions: rings and the
/// directions on them are 0.3 of the largest angle apart.
pub(super) const MARGIN: f32 = 1.25;

pub(super) type Batch<T> = [T; LANES];

/// Bits of the step of [`Philox`] that count trials.
pub(super) const TRIAL_BITS: u32 = 11;

/// What random numbers depend on besides what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) item: u64,
    pub(super) region: u32,
}

/// Where a particle is, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub(super) pos: [f32; 3],
    pub(super) dir: [f32; 3],
}

/// Draws arcs and first directions.
pub(super) struct Drawer<'a, S: Simd, const ORDER: usize, const TERMS: usize> {
    pub(super) simd: S,
    pub(super) field: &'a Densities,
    pub(super) lattice: Lattice,
    pub(super) philox: Philox,
    pub(super) step_mm: f32,
    /// Length of the arcs that are looked at: a step, or a probe.
    pub(super) arc_mm: f32,
    pub(super) cutoff: f32,
    /// `1 - cos` of the largest angle of an arc: evenly by solid angle.
    height: f32,
    /// By which a probe turns at most.
    pub(super) largest_angle: f32,
    /// The exponent of each density but the last, which has half of it; of a probe that of their mean.
    pub(super) exponent: f32,
    pub(super) places: usize,
    /// The place whose direction tells best what an arc is worth: two thirds of the way, as densities
    /// weigh less at the end.
    telling: usize,
    /// What a probe may end in, where tissues end streamlines.
    pub(super) tissues: Option<&'a Tissues>,
    /// Along the direction, and across it twice.
    cap: Box<[[f32; CAP]; 3]>,
    half_sphere: Box<[[f32; HALF_SPHERE]; 3]>,
}

/// Arcs as drawn: positions and directions at each place. Room for them is made once.
pub(super) struct Arcs {
    pos: [[Batch<f32>; 3]; MAX_PLACES],
    dir: [[Batch<f32>; 3]; MAX_PLACES],
    /// The logarithm of the number that decides.
    level: Batch<f32>,
}

impl Default for Arcs {
    fn default() -> Self {
        Self {
            pos: [[[0.0; LANES]; 3]; MAX_PLACES],
            dir: [[[0.0; LANES]; 3]; MAX_PLACES],
            level: [0.0; LANES],
        }
    }
}

// What works on registers has loops in place of closures: those are compiled for another instruction
// set where they are not inlined, which nothing can make them.
impl<'a, S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'a, S, ORDER, TERMS> {
    pub(super) fn new(
        simd: S,
        field: &'a Densities,
        options: &DensityPropagation,
        tissues: Option<&'a Tissues>,
        rng_seed: u64,
    ) -> Self {
        let (step_mm, angle) = (options.step_mm, options.max_angle);
        let half = (0.5 * f64::from(angle)).sin();
        let (exponent, places, arc_mm, largest_angle) = match options.rule {
            DensityRule::Arcs { power, places } => {
                let places = limited(places);
                (power / places as f32, places, step_mm, angle)
            }
            DensityRule::Transport { power, places, probe_mm } => {
                let turn = (options.max_curvature() * probe_mm).min(std::f32::consts::PI);
                (power, limited(places), probe_mm, turn)
            }
            DensityRule::Maximum => (1.0, 1, step_mm, angle),
        };
        Self {
            simd,
            field,
            lattice: field.lattice(),
            philox: Philox::new(rng_seed),
            step_mm,
            arc_mm,
            cutoff: options.cutoff.max(f32::MIN_POSITIVE),
            height: (2.0 * half * half) as f32,
            largest_angle,
            exponent,
            places,
            telling: (2 * places / 3).max(1) - 1,
            tissues,
            cap: Box::new(cap(largest_angle)),
            half_sphere: Box::new(half_sphere()),
        }
    }

    /// The next place, after an arc drawn at random; `step` says which half it is of, and counts its steps.
    ///
    /// # Errors
    /// Why there is none.
    #[inline(always)]
    pub(super) fn next_along_arc(
        &self,
        from: Pose,
        key: Key,
        (half, point): (u32, u32),
        arcs: &mut Arcs,
    ) -> Result<Pose, EndReason> {
        let across = across(from.dir);
        let mut middle = [0.0; MAX_TERMS];
        let Some(bound) = self.bound(from, across, &mut middle) else {
            return Err(self.why(from.pos));
        };
        let middle: &[f32; TERMS] = middle.first_chunk().unwrap_or(&[0.0; TERMS]);
        let philox = self.philox.stream(step_key(half, point));
        let per_batch = LANES / self.places;
        let mut promising = [0; LANES];
        let (mut trial, mut in_vain, mut is_dense) = (0, 0, false);
        while trial < MAX_TRIALS && (is_dense || in_vain < MAX_IN_VAIN) {
            self.draw(from, across, philox, key, trial, arcs);
            let n = self.promising(arcs, middle, bound, &mut promising, &mut in_vain);
            in_vain += n as u32;
            for some in promising[..n].chunks(per_batch) {
                if let Some(arc) = self.accepted(arcs, some, bound, from.pos, &mut is_dense) {
                    let (pos, dir) = (&arcs.pos[self.places - 1], &arcs.dir[self.places - 1]);
                    return Ok(Pose {
                        pos: [pos[0][arc], pos[1][arc], pos[2][arc]],
                        dir: unit([dir[0][arc], dir[1][arc], dir[2][arc]]),
                    });
                }
            }
            trial += LANES as u32;
        }
        Err(self.why(from.pos))
    }

    /// The logarithm of a bound on the chance of an arc; `None` where no density of the cap reaches
    /// the cut-off. Leaves the form at the middle of the step in `form`.
    #[inline(always)]
    fn bound(&self, from: Pose, [p, q]: [[f32; 3]; 2], form: &mut [f32; MAX_TERMS]) -> Option<f32> {
        self.form(self.moved(from.pos, from.dir, 0.5 * self.arc_mm), form);
        let middle = form.first_chunk().unwrap_or(&[0.0; TERMS]);
        let rings = self.rings(middle, [from.dir, p, q]);
        if rings[RINGS.len() - 1] * MARGIN < self.cutoff {
            return None;
        }
        let mut sum = 0.0;
        for place in 1..=self.places {
            let weight = if place == self.places { 0.5 } else { 1.0 };
            sum += weight * ln((rings[self.reach(place)] * MARGIN).max(self.cutoff));
        }
        Some(self.exponent * sum)
    }

    /// The largest value of a form up to each ring of the cap, given the direction in its middle and two
    /// across that.
    #[inline(always)]
    pub(super) fn rings(
        &self,
        form: &[f32; TERMS],
        [along, p, q]: [[f32; 3]; 3],
    ) -> [f32; RINGS.len()] {
        let mut values = [0.0; CAP];
        for at in (0..CAP).step_by(Lanes::<S>::LANES) {
            let [t, u, v] = load3(self.simd, &self.cap, at);
            let mut dir = [t; 3];
            for a in 0..3 {
                dir[a] = t * along[a] + u * p[a] + v * q[a];
            }
            let monomials = monomials::<Lanes<S>, ORDER, TERMS>(dir);
            value::<S, TERMS>(&monomials, form).store(&mut values[at..]);
        }
        let mut rings = [0.0_f32; RINGS.len()];
        let (mut at, mut largest) = (0, 0.0_f32);
        for (ring, (n, _)) in rings.iter_mut().zip(RINGS) {
            for value in &values[at..at + n] {
                largest = if *value > largest { *value } else { largest };
            }
            at += n;
            *ring = largest;
        }
        rings
    }

    /// The ring up to which a place of an arc can reach, and the one beyond it.
    #[inline(always)]
    pub(super) fn reach(&self, place: usize) -> usize {
        reach(place, self.places)
    }

    /// Sixteen arcs.
    #[inline(always)]
    fn draw(
        &self,
        from: Pose,
        [p, q]: [[f32; 3]; 2],
        philox: Philox,
        key: Key,
        trial: u32,
        arcs: &mut Arcs,
    ) {
        let trials = trials_of(key, trial);
        let m = self.field.vox_from_dir();
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let words = self.words(philox, key, &trials[at..]);
            let one = Lanes::new(self.simd, 1.0);
            // 1 - cos is spread evenly; the half angle keeps small angles exact.
            let sin_half = (uniform::<Lanes<S>>(words[0]) * (0.5 * self.height)).sqrt();
            let cos_half = sin_half.neg_mul_add(sin_half, one).max(one.splat(0.0)).sqrt();
            let angle = atan2(sin_half, cos_half) * 2.0;
            let (sin_turn, cos_turn) = sincos_turns(uniform::<Lanes<S>>(words[1]));
            ln(uniform::<Lanes<S>>(words[2])).store(&mut arcs.level[at..]);
            let mut bend = [one; 3];
            for a in 0..3 {
                bend[a] = cos_turn * p[a] + sin_turn * q[a];
            }
            let (sin_part, cos_part) = sincos(angle / self.places as f32);
            let radius_mm = one.splat(self.arc_mm) / angle;
            let (mut sin, mut cos) = (sin_part, cos_part);
            for place in 0..self.places {
                if place > 0 {
                    (sin, cos) = (
                        sin.mul_add(cos_part, cos * sin_part),
                        cos.mul_add(cos_part, -(sin * sin_part)),
                    );
                }
                let ahead = radius_mm * sin;
                // 1 - cos = sin²/(1 + cos).
                let aside = ahead * sin / (cos + 1.0);
                let mut mm = [one; 3];
                for a in 0..3 {
                    bend[a].mul_add(sin, cos * from.dir[a]).store(&mut arcs.dir[place][a][at..]);
                    mm[a] = bend[a].mul_add(aside, ahead * from.dir[a]);
                }
                for a in 0..3 {
                    let pos = mm[0] * m[a][0] + mm[1] * m[a][1] + mm[2] * m[a][2] + from.pos[a];
                    pos.store(&mut arcs.pos[place][a][at..]);
                }
            }
        }
    }

    /// Puts the arcs first that may be kept, and says how many: those that would be if all densities
    /// along them were as at the middle of the step, in the direction of one place, times a margin. Counts
    /// those that would not even reach the cut-off then in `in_vain`.
    #[inline(always)]
    fn promising(
        &self,
        arcs: &Arcs,
        middle: &[f32; TERMS],
        bound: f32,
        promising: &mut Batch<usize>,
        in_vain: &mut u32,
    ) -> usize {
        let exponent = self.exponent * (self.places as f32 - 0.5);
        let (mut values, mut chances) = ([0.0; LANES], [0.0; LANES]);
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let along = load3(self.simd, &arcs.dir[self.telling], at);
            let monomials = monomials::<Lanes<S>, ORDER, TERMS>(along);
            let value = value::<S, TERMS>(&monomials, middle) * MARGIN;
            (ln(value.max(value.splat(self.cutoff))) * exponent).store(&mut chances[at..]);
            value.store(&mut values[at..]);
        }
        let mut n = 0;
        for arc in 0..LANES {
            // What is no number does not.
            let is_dense = values[arc] >= self.cutoff;
            if is_dense && bound + arcs.level[arc] <= chances[arc] {
                promising[n] = arc;
                n += 1;
            }
            *in_vain += u32::from(!is_dense);
        }
        n
    }

    /// The first of some arcs, at most a batch, that is kept; notes whether any has a chance.
    #[inline(always)]
    fn accepted(
        &self,
        arcs: &Arcs,
        some: &[usize],
        bound: f32,
        start: [f32; 3],
        any_dense: &mut bool,
    ) -> Option<usize> {
        let n = some.len();
        let values = self.along(arcs, some, start);
        let mut logs = [0.0; LANES];
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let values = Lanes::load(self.simd, &values[at..]);
            ln(values.max(values.splat(self.cutoff))).store(&mut logs[at..]);
        }
        for (i, arc) in some.iter().enumerate() {
            let (mut sum, mut is_dense) = (0.0, true);
            for place in 0..self.places {
                let lane = place * n + i;
                // What is no number is not.
                is_dense &= values[lane] >= self.cutoff;
                sum += if place + 1 == self.places { 0.5 } else { 1.0 } * logs[lane];
            }
            *any_dense |= is_dense;
            if is_dense && bound + arcs.level[*arc] <= self.exponent * sum {
                return Some(*arc);
            }
        }
        None
    }

    #[inline(always)]
    pub(super) fn words(&self, philox: Philox, key: Key, trials: &[u32]) -> [Words<S>; 4] {
        let trials = Words::load(self.simd, trials);
        let low = trials.splat(key.item as u32);
        philox.lanes(low, low.splat((key.item >> 32) as u32), trials)
    }

    /// A point so far along a direction.
    #[inline(always)]
    pub(super) fn moved(&self, pos: [f32; 3], dir: [f32; 3], mm: f32) -> [f32; 3] {
        let m = self.field.vox_from_dir();
        let mut moved = pos;
        for a in 0..3 {
            moved[a] += mm * (m[a][0] * dir[0] + m[a][1] * dir[1] + m[a][2] * dir[2]);
        }
        moved
    }

    /// Calls what the next step needs into the cache.
    #[inline(always)]
    pub(super) fn fetch(&self, place: Pose) {
        self.field.fetch(&self.lattice, self.moved(place.pos, place.dir, 0.5 * self.arc_mm));
    }
}

/// What sixteen trials' numbers depend on.
#[inline(always)]
pub(super) fn trials_of(key: Key, first: u32) -> Batch<u32> {
    let mut trials = [0; LANES];
    for (lane, trial) in (0..).zip(&mut trials) {
        *trial = key.region << TRIAL_BITS | (first + lane);
    }
    trials
}
