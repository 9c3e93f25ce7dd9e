//! Curves whose curvature is drawn at every step: parallel transport tractography (Aydogan, Shi, IEEE
//! Trans Med Imaging 40, 635 (2021)).
//!
//! A curve carries a frame, its direction and two across it that do not turn about it, and goes on along
//! the circle that its two curvatures in that frame say. At each step these are drawn evenly from a disk
//! and kept with a chance in proportion to the mean of the densities along a probe, a piece of that circle
//! longer than the step, in the direction of the circle at each place; none below the cut-off. So a curve
//! bends no more than the disk allows, and looks farther ahead than it goes.
//!
//! With tissues a probe ends where a curve does: in cortex, and outside the brain. Of one that gets there the
//! mean is that of the places before. One that enters fluid with its first place has no chance: no fibre
//! goes on there.
//!
//! No draw depends on an earlier one but by place and direction, and the disk is round: with the frame
//! turned about the direction the same curves have the same chances. So a frame is taken anew at each
//! step; the oracle carries it along, and a test finds no difference.

use fimbria_compute::math::{ln, sincos};
use fimbria_compute::{Lanes, Real as _};
use pulp::Simd;

use super::anatomy::ends_rightly;
use super::arcs::{Arcs, Drawer, Key, LANES, MARGIN, MAX_IN_VAIN, MAX_TRIALS, Pose, across, unit};
use super::field::MAX_TERMS;
use super::form::{monomials, value};
use crate::EndReason;
use crate::draws::step_key;
use crate::tissues::MET;

impl<S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'_, S, ORDER, TERMS> {
    /// The next place of a curve, a step along the circle of two curvatures drawn at random.
    #[inline(always)]
    pub(super) fn next_transported(
        &self,
        from: Pose,
        key: Key,
        (half, point): (u32, u32),
        arcs: &mut Arcs,
    ) -> Result<Pose, EndReason> {
        let across = across(from.dir);
        let here = self.density(from);
        // What is no number is not.
        let is_dense = here >= self.cutoff;
        if !is_dense {
            return Err(self.why(from.pos));
        }
        let bound = self.bound_on_mean(from, across, here);
        let philox = self.philox.stream(step_key(half, point));
        let per_batch = LANES / self.places;
        let mut numbers = [0; LANES];
        for (number, at) in (0..).zip(&mut numbers) {
            *at = number;
        }
        // Batches are full ones.
        let looked_at = &numbers[..LANES - LANES % per_batch];
        let (mut trial, mut in_vain, mut is_dense) = (0, 0, false);
        while trial < MAX_TRIALS && (is_dense || in_vain < MAX_IN_VAIN) {
            self.draw(from, across, philox, key, trial, arcs);
            for some in looked_at.chunks(per_batch) {
                if let Some(arc) = self.supported(arcs, some, bound, from.pos, here, &mut is_dense)
                {
                    return Ok(self.a_step_along(arcs, arc, from));
                }
            }
            in_vain += looked_at.len() as u32;
            trial += LANES as u32;
        }
        Err(self.why(from.pos))
    }

    /// The density at a place, in its direction.
    #[inline(always)]
    fn density(&self, at: Pose) -> f32 {
        let mut form = [0.0; MAX_TERMS];
        self.form(at.pos, &mut form);
        let mut dir = [Lanes::new(self.simd, 0.0); 3];
        for a in 0..3 {
            dir[a] = dir[a].splat(at.dir[a]);
        }
        let form: &[f32; TERMS] = form.first_chunk().unwrap_or(&[0.0; TERMS]);
        let monomials = monomials::<Lanes<S>, ORDER, TERMS>(dir);
        let mut values = [0.0; LANES];
        // The same in every lane: sums side by side do not wait for each other.
        value::<S, TERMS>(&monomials, form).store(&mut values);
        values[0]
    }

    /// The logarithm of a bound on the chance of a probe, given the density at its start.
    #[inline(always)]
    fn bound_on_mean(&self, from: Pose, across: [[f32; 3]; 2], here: f32) -> f32 {
        let rings = self.rings(from, across, &mut [0.0; MAX_TERMS]);
        let mut sum = here;
        for place in 1..=self.places {
            sum += rings[self.reach(place)] * MARGIN;
        }
        self.log_chance(sum, self.places)
    }

    /// The logarithm of the chance of a probe, given the sum of the densities at its start and so many places.
    #[inline(always)]
    fn log_chance(&self, sum: f32, places: usize) -> f32 {
        self.exponent * ln((sum / (places + 1) as f32).max(self.cutoff))
    }

    /// The first of some probes, at most a batch, that is kept; notes whether any has a chance.
    #[inline(always)]
    fn supported(
        &self,
        arcs: &Arcs,
        some: &[usize],
        bound: f32,
        start: [f32; 3],
        here: f32,
        any_dense: &mut bool,
    ) -> Option<usize> {
        let n = some.len();
        let values = self.along(arcs, some, start);
        for (i, arc) in some.iter().enumerate() {
            let Some(places) = self.places_seen(arcs, *arc) else { continue };
            let (mut sum, mut is_dense) = (here, true);
            for place in 0..places {
                let value = values[place * n + i];
                // What is no number is not.
                is_dense &= value >= self.cutoff;
                sum += value;
            }
            *any_dense |= is_dense;
            if is_dense && bound + arcs.level[*arc] <= self.log_chance(sum, places) {
                return Some(*arc);
            }
        }
        None
    }

    /// How many places of a probe are looked at: with tissues those before it comes to where a curve ends
    /// rightly, as what lies beyond is no matter of that curve; `None` where it enters fluid at once.
    #[inline(always)]
    fn places_seen(&self, arcs: &Arcs, arc: usize) -> Option<usize> {
        let Some(tissues) = self.tissues else { return Some(self.places) };
        let at = |place: usize| {
            let [x, y, z] = &arcs.pos[place];
            tissues.at([x[arc], y[arc], z[arc]])
        };
        let ends = |place: &usize| ends_rightly(at(*place));
        let farthest = at(self.places - 1);
        if farthest.fluid < MET && !ends_rightly(farthest) {
            return Some(self.places);
        }
        (at(0).fluid < MET).then(|| (0..self.places).find(ends).unwrap_or(self.places))
    }

    /// A step along the circle of a probe.
    #[inline(always)]
    fn a_step_along(&self, arcs: &Arcs, arc: usize, from: Pose) -> Pose {
        let angle = arcs.angle[arc];
        let bend = [arcs.bend[0][arc], arcs.bend[1][arc], arcs.bend[2][arc]];
        let (sin, cos) = sincos(angle * (self.step_mm / self.arc_mm));
        let ahead = self.arc_mm / angle * sin;
        // 1 - cos = sin²/(1 + cos).
        let aside = ahead * sin / (cos + 1.0);
        let (mut mm, mut dir) = ([0.0; 3], [0.0; 3]);
        for a in 0..3 {
            mm[a] = bend[a].mul_add(aside, ahead * from.dir[a]);
            dir[a] = bend[a].mul_add(sin, cos * from.dir[a]);
        }
        Pose { pos: self.moved(from.pos, mm, 1.0), dir: unit(dir) }
    }
}
