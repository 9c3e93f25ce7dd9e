//! Particles that take turns on one thread.

use std::ops::Range;

use pulp::Simd;

use super::Seeded;
use super::particle::Particle;
use crate::EndReason;
use crate::densities::anatomy::{Retries, Way};
use crate::densities::arcs::{Arcs, Drawer, Pose};
use crate::densities::device::{Halves, Last};
use crate::densities::maximum::SIDE_BY_SIDE;
use crate::densities::ridges::{Ridges, Turn};
use crate::densities::starts::DensityTracking;
use crate::densities::transport::{Ahead, Curves};
use crate::driver::Judging;
use crate::sample::Take;

/// Particles that take turns at drawing: what they are about to read stays in the first-level cache.
const TURNS: usize = 4;

/// Streamlines of a range, some of them on their way.
pub(super) struct Flight<'a, S: Simd, const ORDER: usize, const TERMS: usize> {
    pub(super) simd: S,
    pub(super) tracking: &'a DensityTracking<'a>,
    pub(super) drawer: Drawer<'a, S, ORDER, TERMS>,
    pub(super) judging: Judging<'a>,
    pub(super) next: Range<u64>,
    pub(super) take: &'a mut Take<'a>,
    /// Room for points, of streamlines that are handed in.
    pub(super) room: Vec<Vec<[f32; 3]>>,
}

/// How steps are drawn.
pub(super) trait Steps<S: Simd, const ORDER: usize, const TERMS: usize> {
    /// What is known of the next steps of a particle.
    type Ahead: Default;

    /// Where the next step leads, or why nowhere.
    fn next(
        &mut self,
        drawer: &Drawer<'_, S, ORDER, TERMS>,
        particle: &Particle,
        ahead: &mut Self::Ahead,
    ) -> Result<Pose, EndReason>;

    /// Calls what the step after that needs into the cache.
    fn fetch(&self, drawer: &Drawer<'_, S, ORDER, TERMS>, place: Pose, ahead: &mut Self::Ahead);
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Steps<S, ORDER, TERMS> for Box<Arcs> {
    type Ahead = ();

    #[inline(always)]
    fn next(
        &mut self,
        drawer: &Drawer<'_, S, ORDER, TERMS>,
        particle: &Particle,
        (): &mut (),
    ) -> Result<Pose, EndReason> {
        drawer.next_along_arc(particle.at, particle.key, particle.step(), self)
    }

    #[inline(always)]
    fn fetch(&self, drawer: &Drawer<'_, S, ORDER, TERMS>, place: Pose, (): &mut ()) {
        drawer.fetch(place);
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Steps<S, ORDER, TERMS> for Box<Curves> {
    type Ahead = Box<Ahead>;

    #[inline(always)]
    fn next(
        &mut self,
        drawer: &Drawer<'_, S, ORDER, TERMS>,
        particle: &Particle,
        ahead: &mut Box<Ahead>,
    ) -> Result<Pose, EndReason> {
        drawer.next_transported(particle.at, particle.key, particle.step(), self, ahead)
    }

    #[inline(always)]
    fn fetch(&self, drawer: &Drawer<'_, S, ORDER, TERMS>, place: Pose, ahead: &mut Box<Ahead>) {
        drawer.fetch_ahead(place, ahead);
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Flight<'_, S, ORDER, TERMS> {
    /// Streamlines whose steps are drawn by `steps`.
    #[inline(always)]
    pub(super) fn drawn<T: Steps<S, ORDER, TERMS>>(&mut self, mut steps: T) {
        let mut particles = Vec::with_capacity(TURNS);
        for _ in 0..TURNS {
            if let Some(particle) = self.started() {
                particles.push((particle, T::Ahead::default()));
            }
        }
        while !particles.is_empty() {
            let mut turn = 0;
            while turn < particles.len() {
                let (particle, ahead) = &mut particles[turn];
                let step = steps.next(&self.drawer, particle, ahead);
                let densities = self.tracking.densities;
                let is_inside = step.is_ok_and(|place| densities.is_inside(place.pos));
                if self.took(particle, step, is_inside) {
                    steps.fetch(&self.drawer, particle.at, ahead);
                    turn += 1;
                } else if let Some(next) = self.started() {
                    *particle = next;
                    turn += 1;
                } else {
                    particles.swap_remove(turn);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn maxima(&mut self) {
        let DensityTracking { densities, propagation, .. } = *self.tracking;
        let new = || Ridges::<S, ORDER, TERMS>::new(self.simd, densities, propagation);
        // While one group has its turn, what the other looks at comes into the cache.
        let mut groups = [new(), new()];
        let mut particles = [const { [const { None::<Particle> }; SIDE_BY_SIDE] }; 2];
        let mut n = 0;
        for (ridges, particles) in groups.iter_mut().zip(&mut particles) {
            for (lane, place) in particles.iter_mut().enumerate() {
                n += usize::from(self.put_next(ridges, lane, place));
            }
            ridges.look();
        }
        while n > 0 {
            for (ridges, particles) in groups.iter_mut().zip(&mut particles) {
                ridges.turn();
                for (lane, place) in particles.iter_mut().enumerate() {
                    let Some(particle) = place else { continue };
                    let goes_on = match ridges.came_to(lane) {
                        Turn::Climbs => continue,
                        Turn::Start(dir) => {
                            (particle.start.dir, particle.at.dir) = (dir, dir);
                            true
                        }
                        Turn::Step(step, is_inside) => self.took(particle, step, is_inside),
                    };
                    if goes_on {
                        ridges.put(lane, particle.at, false);
                    } else if !self.put_next(ridges, lane, place) {
                        n -= 1;
                    }
                }
                ridges.look();
            }
        }
    }

    /// Lets streamlines take the points of halves that are made.
    #[inline(always)]
    pub(super) fn replayed(&mut self, halves: &Halves, before: usize) {
        let mut streamline = before;
        while let Some(mut particle) = self.started() {
            let mut goes_on = true;
            while goes_on {
                let half = particle.half;
                let (points, last) = halves.half(half as usize, streamline);
                for pos in points {
                    let is_inside = self.tracking.densities.is_inside(*pos);
                    let place = Pose { pos: *pos, dir: [0.0; 3] };
                    goes_on = self.took(&mut particle, Ok(place), is_inside);
                    if !goes_on || particle.half != half {
                        break;
                    }
                }
                if goes_on && particle.half == half {
                    let why = match last {
                        Last::Reason(why) => why,
                        Last::NoArc => self.drawer.why(particle.at.pos),
                    };
                    goes_on = self.took(&mut particle, Err(why), false);
                }
            }
            streamline += 1;
        }
    }

    /// Puts the next streamline in place of one that is handed in; false where there is none.
    #[inline(always)]
    fn put_next(
        &mut self,
        ridges: &mut Ridges<'_, S, ORDER, TERMS>,
        lane: usize,
        place: &mut Option<Particle>,
    ) -> bool {
        *place = self.started();
        // A first direction is one of the density; its maximum is what is followed.
        place.iter().for_each(|particle| ridges.put(lane, particle.at, true));
        place.is_some()
    }

    /// The next streamline, at its seed; those that go nowhere are handed in at once.
    #[inline(always)]
    fn started(&mut self) -> Option<Particle> {
        while let Some(at) = self.next.next() {
            let from = self.tracking.seeded(at);
            let Seeded { seed_index, number, pos, key, .. } = from;
            let place = Pose { pos, dir: [0.0; 3] };
            let mut particle = Particle {
                seed_index,
                number,
                key,
                start: place,
                at: place,
                half: 0,
                point: 1,
                points: self.room.pop().unwrap_or_default(),
                n_first: 0,
                ends: [EndReason::OutsideMask; 2],
                way: Way::default(),
                has_left_first: false,
                retries: Retries::default(),
            };
            match self.tracking.first_place(&self.drawer, &from) {
                Ok(place) => {
                    (particle.start, particle.at) = (place, place);
                    self.begin_half(&mut particle);
                    self.drawer.fetch(particle.at);
                    return Some(particle);
                }
                Err(reason) => particle.ends = [reason; 2],
            }
            self.hand_in(&mut particle);
        }
        None
    }
}
