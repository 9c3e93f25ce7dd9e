//! Particles that take turns on one thread.

use std::ops::Range;

use pulp::Simd;

use super::particle::Particle;
use crate::EndReason;
use crate::densities::anatomy::{Retries, Way};
use crate::densities::arcs::{Arcs, Drawer, Pose};
use crate::densities::device::{Halves, Last};
use crate::densities::maximum::SIDE_BY_SIDE;
use crate::densities::ridges::{Ridges, Turn};
use crate::densities::starts::DensityTracking;
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

impl<S: Simd, const ORDER: usize, const TERMS: usize> Flight<'_, S, ORDER, TERMS> {
    #[inline(always)]
    pub(super) fn drawn(&mut self) {
        let mut particles: Vec<_> = (0..TURNS).filter_map(|_| self.started()).collect();
        let mut arcs = Box::new(Arcs::default());
        while !particles.is_empty() {
            let mut turn = 0;
            while turn < particles.len() {
                let particle = &mut particles[turn];
                let step = self.drawer.next(particle.at, particle.key, particle.step(), &mut arcs);
                let densities = self.tracking.densities;
                let is_inside = step.is_ok_and(|place| densities.is_inside(place.pos));
                let goes_on = self.took(particle, step, is_inside);
                if goes_on {
                    self.drawer.fetch(particles[turn].at);
                    turn += 1;
                } else if let Some(next) = self.started() {
                    particles[turn] = next;
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
            let (seed_index, number, pos, key) = self.tracking.seed_at(at);
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
            match self.tracking.first_place(&self.drawer, pos, key) {
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
