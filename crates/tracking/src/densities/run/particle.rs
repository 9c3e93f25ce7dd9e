//! A streamline on its way, step by step.

use pulp::Simd;

use super::flight::Flight;
use crate::EndReason;
use crate::densities::anatomy::{Retries, Step, Way, is_right};
use crate::densities::arcs::{Key, Pose};
use crate::densities::starts::DensityTracking;
use crate::driver::{Half, Judged};

/// A streamline on its way.
pub(super) struct Particle {
    pub(super) seed_index: usize,
    pub(super) number: u32,
    pub(super) key: Key,
    /// Where both halves start.
    pub(super) start: Pose,
    pub(super) at: Pose,
    pub(super) half: u32,
    /// Points of this half, the seed point among them.
    pub(super) point: u32,
    /// Both halves, each from the seed outwards.
    pub(super) points: Vec<[f32; 3]>,
    /// Those of the first half, once the second has begun.
    pub(super) n_first: usize,
    pub(super) ends: [EndReason; 2],
    /// Its way through tissues, and how often it was taken back.
    pub(super) way: Way,
    /// The first half has left the tissue of the seed.
    pub(super) has_left_first: bool,
    pub(super) retries: Retries,
}

impl Particle {
    /// What the random numbers of the next step depend on besides the streamline.
    pub(super) fn step(&self) -> (u32, u32) {
        (self.half, self.retries.point(self.point))
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Flight<'_, S, ORDER, TERMS> {
    /// Puts a particle that knows its direction at its seed.
    pub(super) fn begin_half(&self, particle: &mut Particle) {
        particle.point = 1;
        particle.n_first = particle.points.len();
        if let Some(anatomy) = &self.tracking.anatomy {
            particle.has_left_first = particle.half == 1 && !particle.way.is_in_first();
            let here = anatomy.tissues.at(particle.start.pos);
            particle.way = Way::from_seed(here, particle.points.len(), particle.has_left_first);
            particle.retries.begin(particle.at.dir);
        }
        particle.points.push(particle.start.pos);
    }

    /// Takes a step, if it is one that ends inside the mask, or ends the half; false once the streamline is
    /// handed in.
    #[inline(always)]
    pub(super) fn took(
        &mut self,
        particle: &mut Particle,
        step: Result<Pose, EndReason>,
        is_inside: bool,
    ) -> bool {
        let Some(end) = self.grown(particle, step, is_inside) else { return true };
        let is_wrong = self.tracking.anatomy.is_some() && !is_right(end);
        if is_wrong && self.went_back(particle, end) {
            return true;
        }
        if let Some(anatomy) = self.tracking.anatomy.filter(|anatomy| anatomy.crop) {
            let first = particle.n_first;
            anatomy.cropped(&mut particle.points, first);
        }
        particle.ends[particle.half as usize] = end;
        // It is as long as it may be, or will be rejected.
        let is_over = end == EndReason::Length || (is_wrong && !self.judging.may_stop());
        let from_boundary = self.tracking.anatomy.filter(|anatomy| anatomy.from_boundary);
        // On the boundary they begin anyway, and what lies beyond it is their other end.
        let is_one_way = self.tracking.one_way && from_boundary.is_none();
        if is_one_way {
            particle.n_first = particle.points.len();
            particle.ends[1] = EndReason::Seed;
        }
        if particle.half == 1 || is_one_way {
            self.hand_in(particle);
            return false;
        }
        particle.half = 1;
        particle.at = Pose { dir: particle.start.dir.map(|x| -x), ..particle.start };
        self.begin_half(particle);
        // Each half has the seed point.
        let steps = particle.points.len() as u32 - 2;
        if is_over {
            particle.ends[1] = end;
        } else if steps >= self.tracking.propagation.max_steps() && from_boundary.is_none() {
            particle.ends[1] = EndReason::Length;
        } else if let Some(anatomy) = from_boundary {
            particle.ends[1] = anatomy.beyond(particle.start.pos);
        } else {
            return true;
        }
        self.hand_in(particle);
        false
    }

    /// Adds a point; why the half ends, where it does.
    #[inline(always)]
    fn grown(
        &mut self,
        particle: &mut Particle,
        step: Result<Pose, EndReason>,
        is_inside: bool,
    ) -> Option<EndReason> {
        let DensityTracking { propagation, anatomy, .. } = self.tracking;
        // Why, and where it was about to go.
        let (why, next) = match step {
            Err(reason) => (reason, None),
            Ok(place) if !is_inside => (EndReason::OutsideMask, Some(place.pos)),
            Ok(place) => {
                particle.at = place;
                particle.points.push(place.pos);
                particle.point += 1;
                if let Some(anatomy) = anatomy {
                    particle.retries.enter(place.dir);
                    let (here, at) = (anatomy.tissues.at(place.pos), particle.points.len() - 1);
                    if let Step::End(why, n) = particle.way.enter(here, at) {
                        particle.points.truncate(n);
                        if why == EndReason::Cortex {
                            // A step farther in is nowhere that fibres end.
                            let before = particle.points[at - 1];
                            particle.points[at] = anatomy.tissues.entered(before, place.pos);
                        }
                        return Some(why);
                    }
                }
                // Each half has the seed point.
                let steps = particle.points.len() as u32 - 1 - particle.half;
                if steps < propagation.max_steps() {
                    return None;
                }
                (EndReason::Length, None)
            }
        };
        let Particle { way, points, .. } = particle;
        Some(anatomy.map_or(why, |anatomy| anatomy.end(way, points, why, next)))
    }

    /// Takes a half that ended wrongly back; false where it stays as it is.
    fn went_back(&self, particle: &mut Particle, end: EndReason) -> bool {
        let Some(anatomy) = self.tracking.anatomy.filter(|anatomy| anatomy.backtrack) else {
            return false;
        };
        let (first, stride) = (particle.n_first, self.tracking.propagation.drawn_steps());
        let back = || particle.retries.back(&mut particle.points, first, stride);
        let Some(place) = (end != EndReason::Length).then(back).flatten() else { return false };
        particle.at = place;
        particle.point = (particle.points.len() - first) as u32;
        let tissue = |at: usize| anatomy.tissues.at(particle.points[at]);
        let mut way = Way::from_seed(tissue(first), first, particle.has_left_first);
        for at in first + 1..particle.points.len() {
            way.enter(tissue(at), at);
        }
        particle.way = way;
        true
    }

    /// Judges a streamline whose halves are made.
    pub(super) fn hand_in(&mut self, particle: &mut Particle) {
        let (first, second) = particle.points.split_at(particle.n_first);
        let Particle { seed_index, number, ends, .. } = *particle;
        let seed = &self.tracking.seeds[seed_index];
        let order = self.tracking.order_of(seed_index, number);
        let judged = Judged { seed, seed_index, number, order };
        let is_wrong = |end| self.tracking.anatomy.is_some() && !is_right(end);
        let half = |points, end| Half { points, end, is_wrong: is_wrong(end) };
        let halves = [half(first, ends[0]), half(second, ends[1])];
        self.judging.halves(judged, halves, self.take);
        let mut room = std::mem::take(&mut particle.points);
        room.clear();
        self.room.push(room);
    }
}
