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
//!
//! What a step costs is the forms around it and their values along probes. Probes of one step lie close
//! together: forms are interpolated once a step at the few [posts] of a [plan], and the densities of all
//! probes are sums of theirs. What does not depend on the place is drawn [ahead], and a bound holds for as many
//! steps.

mod ahead;
mod plan;
mod posts;

use fimbria_compute::math::sincos;
use pulp::Simd;

pub(super) use self::ahead::Ahead;
use self::ahead::{Drawn, Probes, Trials};
use self::plan::{Plan, START};
use self::posts::{Frame, Posts};
use super::anatomy::ends_rightly;
use super::arcs::{Batch, Drawer, Key, LANES, MARGIN, MAX_IN_VAIN, MAX_TRIALS, Pose, across, unit};
use crate::EndReason;
use crate::draws::step_key;
use crate::field::floor;
use crate::tissues::{MET, Tissues};

/// What steps are made with. Room for it is made once.
pub(super) struct Curves {
    plan: Plan,
    posts: Posts,
    /// Probes drawn after the first ones of a step, where none of those is kept.
    further: Drawn,
}

/// Where the probes of a step start, and what they are judged by.
struct Judged<'a> {
    plan: &'a Plan,
    from: Pose,
    /// Its direction and two across it.
    axes: Frame,
    /// The same in voxels of a millimetre.
    frame: Frame,
    /// The density at the start, and a bound on the sum of those of a probe.
    here: f32,
    bound: f32,
    /// Some probe has a chance.
    any_dense: bool,
}

impl Curves {
    /// For the probes of a drawer.
    pub(super) fn new<S: Simd, const ORDER: usize, const TERMS: usize>(
        drawer: &Drawer<'_, S, ORDER, TERMS>,
    ) -> Self {
        let plan = Plan::new(drawer.arc_mm, drawer.largest_angle, drawer.places);
        Self { plan, posts: Posts::default(), further: Drawn::default() }
    }
}

#[cfg(test)]
impl Curves {
    /// Of each place of some probes from a place its curvatures, 1/mm, how far along it is, mm, and the density.
    pub(super) fn looks<S: Simd, const ORDER: usize, const TERMS: usize>(
        &mut self,
        drawer: &Drawer<'_, S, ORDER, TERMS>,
        from: Pose,
        key: Key,
    ) -> Vec<([f32; 2], f32, f32)> {
        let Self { plan, posts, further } = self;
        let [p, q] = across(from.dir);
        let axes = [from.dir, p, q];
        let frame = axes.map(|axis| drawer.moved([0.0; 3], axis, 1.0));
        drawer.set(posts, plan, from.pos, &frame);
        drawer.draw_trials(&mut further.trials, drawer.philox, key, 0);
        further.deal(plan, drawer.places);
        let mut looks = Vec::new();
        for step in 0..plan.steps {
            drawer.shape(&mut further.probes[step], plan);
            let along = drawer.along_probes(posts, plan, &further.probes[step], &axes);
            for lane in 0..plan.probes * drawer.places {
                let trial = step * plan.probes + lane % plan.probes;
                let bend = further.trials.angle[trial] / drawer.arc_mm;
                let k = [0, 1].map(|axis| bend * further.trials.turn[axis][trial]);
                looks.push((k, plan.part[lane] * drawer.arc_mm, along[lane]));
            }
        }
        looks
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'_, S, ORDER, TERMS> {
    /// The next place of a curve, a step along the circle of two curvatures drawn at random.
    ///
    /// # Errors
    /// Why there is none.
    #[inline(always)]
    pub(super) fn next_transported(
        &self,
        from: Pose,
        key: Key,
        step: (u32, u32),
        curves: &mut Curves,
        ahead: &mut Ahead,
    ) -> Result<Pose, EndReason> {
        let Curves { plan, posts, further } = curves;
        let [p, q] = across(from.dir);
        let axes = [from.dir, p, q];
        let mut frame = axes;
        for k in 0..3 {
            frame[k] = self.moved([0.0; 3], axes[k], 1.0);
        }
        let philox = self.philox.stream(step_key(step.0, step.1));
        let known = ahead.step(plan, key, step);
        // Long before they are read in other pieces than they are written in.
        if known.is_none() {
            self.draw_trials(&mut ahead.drawn.trials, philox, key, 0);
        }
        self.set(posts, plan, from.pos, &frame);
        if known.is_none() {
            ahead.drawn.deal(plan, self.places);
            ahead.rings = self.rings(&posts.telling::<TERMS>(), axes);
        }
        let number = known.unwrap_or(0);
        let probes = &mut ahead.drawn.probes[number];
        self.shape(probes, plan);
        let along = self.along_probes(posts, plan, probes, &axes);
        let here = along[START];
        // What is no number is not.
        let is_dense = here >= self.cutoff;
        if !is_dense {
            return Err(self.why(from.pos));
        }
        let bound = self.bound_on_sum(here, &ahead.rings);
        let mut judged = Judged { plan, from, axes, frame, here, bound, any_dense: false };
        if let Some(next) = self.kept(&ahead.drawn, number, &along, &mut judged) {
            return Ok(next);
        }
        let (mut batch, mut looked_at) = (1, plan.probes as u32);
        while looked_at < MAX_TRIALS && (judged.any_dense || looked_at < MAX_IN_VAIN) {
            self.draw_trials(&mut further.trials, philox, key, batch * LANES as u32);
            further.deal(plan, self.places);
            for number in 0..plan.steps {
                self.shape(&mut further.probes[number], plan);
                let along = self.along_probes(posts, plan, &further.probes[number], &axes);
                if let Some(next) = self.kept(further, number, &along, &mut judged) {
                    return Ok(next);
                }
                looked_at += plan.probes as u32;
            }
            batch += 1;
        }
        Err(self.why(from.pos))
    }

    /// A bound on the sum of the densities of a probe, given that at its start.
    #[inline(always)]
    fn bound_on_sum(&self, here: f32, rings: &[f32]) -> f32 {
        let mut sum = here;
        for place in 1..=self.places {
            sum += rings[self.reach(place)] * MARGIN;
        }
        sum.max(self.cutoff * (self.places + 1) as f32)
    }

    /// Where a step along the first of the probes of a batch that is kept leads.
    #[inline(always)]
    fn kept(
        &self,
        drawn: &Drawn,
        number: usize,
        along: &Batch<f32>,
        judged: &mut Judged<'_>,
    ) -> Option<Pose> {
        let n = judged.plan.probes;
        let all = (self.places + 1) as f32;
        for probe in 0..n {
            let places = match self.tissues {
                None => self.places,
                Some(tissues) => {
                    match self.places_seen(tissues, &drawn.probes[number], probe, judged) {
                        Some(places) => places,
                        None => continue,
                    }
                }
            };
            let (mut sum, mut is_dense) = (judged.here, true);
            for place in 0..places {
                let value = along[place * n + probe];
                // What is no number is not.
                is_dense &= value >= self.cutoff;
                sum += value;
            }
            judged.any_dense |= is_dense;
            let trial = number * n + probe;
            // Both are means times both numbers of places.
            let least = drawn.trials.level[trial] * judged.bound * (places + 1) as f32;
            if is_dense && least <= sum * all {
                return Some(self.a_step_along(&drawn.trials, trial, judged));
            }
        }
        None
    }

    /// How many places of a probe are looked at: those before it comes to where a curve ends rightly, as
    /// what lies beyond is no matter of that curve; `None` where it enters fluid at once.
    #[inline(always)]
    fn places_seen(
        &self,
        tissues: &Tissues,
        probes: &Probes,
        probe: usize,
        judged: &Judged<'_>,
    ) -> Option<usize> {
        let at = |place: usize| {
            let lane = place * judged.plan.probes + probe;
            let mut pos = judged.from.pos;
            for a in 0..3 {
                for k in 0..3 {
                    pos[a] += probes.mm[k][lane] * judged.frame[k][a];
                }
            }
            tissues.at(pos)
        };
        let ends = |place: &usize| ends_rightly(at(*place));
        let farthest = at(self.places - 1);
        if farthest.fluid < MET && !ends_rightly(farthest) {
            return Some(self.places);
        }
        (at(0).fluid < MET).then(|| (0..self.places).find(ends).unwrap_or(self.places))
    }

    /// A step along the circle of a trial.
    #[inline(always)]
    fn a_step_along(&self, trials: &Trials, trial: usize, judged: &Judged<'_>) -> Pose {
        let Judged { from, axes: [t, p, q], .. } = judged;
        let angle = trials.angle[trial];
        let (along_p, along_q) = (trials.turn[0][trial], trials.turn[1][trial]);
        let (sin, cos) = sincos(angle * (self.step_mm / self.arc_mm));
        let ahead = self.arc_mm / angle * sin;
        // 1 - cos = sin²/(1 + cos).
        let aside = ahead * sin / (cos + 1.0);
        let (mut mm, mut dir) = ([0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let bend = along_p.mul_add(p[a], along_q * q[a]);
            mm[a] = bend.mul_add(aside, ahead * t[a]);
            dir[a] = bend.mul_add(sin, cos * t[a]);
        }
        Pose { pos: self.moved(from.pos, mm, 1.0), dir: unit(dir) }
    }

    /// Calls what comes into the reach of probes into the cache, where that is in another voxel than before.
    #[inline(always)]
    pub(super) fn fetch_ahead(&self, place: Pose, ahead: &mut Ahead) {
        let end = self.moved(place.pos, place.dir, self.arc_mm + self.step_mm);
        let low = [floor(end[0]), floor(end[1]), floor(end[2])];
        if low != ahead.fetched {
            ahead.fetched = low;
            self.field.fetch(&self.lattice, end);
        }
    }
}
