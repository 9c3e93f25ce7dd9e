//! Streamlines through densities, some at a time on one thread.
//!
//! Particles take turns. One whose way is drawn has the registers to itself for a step, and calls what
//! its next step needs into the cache before the others have theirs; those that follow maxima go side by
//! side, one in each lane. A particle's numbers and its arithmetic depend on its seed and number
//! alone, so that nothing changes with threads, blocks or the width of registers.

use std::ops::Range;

use fimbria_compute::SimdLevel;
use pulp::{Simd, WithSimd};

use super::anatomy::{Retries, Step, Way, is_right};
use super::arcs::{Arcs, Drawer, Key, Pose};
use super::device::{Halves, Last, Start, has_kernel};
use super::maximum::SIDE_BY_SIDE;
use super::options::DensityRule;
use super::ridges::{Ridges, Turn};
use super::starts::DensityTracking;
use crate::EndReason;
use crate::draws::item_key;
use crate::driver::{Half, Judged, Judging, Tracker};
use crate::sample::Take;

/// Particles that take turns at drawing: what they are about to read stays in the first-level cache.
const TURNS: usize = 4;

impl Tracker for DensityTracking<'_> {
    fn total(&self) -> u64 {
        DensityTracking::total(self)
    }

    fn run(&self, range: Range<u64>, simd: SimdLevel, take: &mut Take<'_>) {
        self.ran(range, simd, None, take);
    }
}

impl DensityTracking<'_> {
    /// True where a device can make the halves of streamlines.
    pub fn may_use_devices(&self) -> bool {
        has_kernel(self.propagation.rule) && !self.anatomy.is_some_and(|anatomy| anatomy.backtrack)
    }

    /// Where streamlines of a range start that go somewhere.
    pub(crate) fn starts(&self, range: Range<u64>, simd: SimdLevel) -> Vec<Start> {
        match self.densities.order() {
            4 => simd.run(Starts::<4, 15> { tracking: self, range }),
            6 => simd.run(Starts::<6, 28> { tracking: self, range }),
            // No other is made.
            _ => simd.run(Starts::<8, 45> { tracking: self, range }),
        }
    }

    /// Makes the streamlines of a range of halves made elsewhere, of which so many are of streamlines before
    /// them.
    pub(crate) fn replay(
        &self,
        range: Range<u64>,
        simd: SimdLevel,
        halves: &Halves,
        before: usize,
        take: &mut Take<'_>,
    ) {
        self.ran(range, simd, Some((halves, before)), take);
    }

    fn ran(
        &self,
        range: Range<u64>,
        simd: SimdLevel,
        made: Option<(&Halves, usize)>,
        take: &mut Take<'_>,
    ) {
        match self.densities.order() {
            4 => simd.run(Run::<4, 15> { tracking: self, range, made, take }),
            6 => simd.run(Run::<6, 28> { tracking: self, range, made, take }),
            // No other is made.
            _ => simd.run(Run::<8, 45> { tracking: self, range, made, take }),
        }
    }

    /// Where a streamline with its seed at `pos` starts, and in which direction.
    #[inline(always)]
    fn first_place<S: Simd, const ORDER: usize, const TERMS: usize>(
        &self,
        drawer: &Drawer<'_, S, ORDER, TERMS>,
        pos: [f32; 3],
        key: Key,
    ) -> Result<Pose, EndReason> {
        let pos = self.anatomy.map_or(Ok(pos), |anatomy| anatomy.start(pos))?;
        if !self.densities.is_inside(pos) {
            return Err(EndReason::OutsideMask);
        }
        let mut dir = drawer.first_direction(pos, key)?;
        if let Some(anatomy) = self.anatomy.filter(|anatomy| anatomy.from_boundary) {
            let half_step = 0.5 * self.propagation.step_mm;
            let whiteness = |mm| anatomy.tissues.at(drawer.moved(pos, dir, mm)).whiteness();
            if whiteness(-half_step) > whiteness(half_step) {
                dir = dir.map(|x| -x);
            }
        }
        Ok(Pose { pos, dir })
    }

    /// Where the seed of a streamline is, in voxels of the densities, and what its numbers depend on.
    fn seed_at(&self, at: u64) -> (usize, u32, [f32; 3], Key) {
        let (seed_index, number) = self.seed_of(at);
        let seed = &self.seeds[seed_index];
        let pos = self.space.to_samples(self.start_of(seed, number));
        (seed_index, number, pos, Key { item: item_key(seed.key, number), region: seed.region })
    }
}

struct Starts<'a, const ORDER: usize, const TERMS: usize> {
    tracking: &'a DensityTracking<'a>,
    range: Range<u64>,
}

impl<const ORDER: usize, const TERMS: usize> WithSimd for Starts<'_, ORDER, TERMS> {
    type Output = Vec<Start>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<Start> {
        let Self { tracking, range } = self;
        let DensityTracking { densities, propagation, rng_seed, .. } = *tracking;
        let tissues = tracking.anatomy.map(|anatomy| anatomy.tissues);
        let drawer =
            Drawer::<S, ORDER, TERMS>::new(simd, densities, propagation, tissues, rng_seed);
        let mut starts = Vec::new();
        for at in range {
            let (_, _, pos, key) = tracking.seed_at(at);
            if let Ok(place) = tracking.first_place(&drawer, pos, key) {
                starts.push(Start { place, key });
            }
        }
        starts
    }
}

struct Run<'a, const ORDER: usize, const TERMS: usize> {
    tracking: &'a DensityTracking<'a>,
    range: Range<u64>,
    /// Their halves, where they are made, and how many streamlines before these have some.
    made: Option<(&'a Halves, usize)>,
    take: &'a mut Take<'a>,
}

impl<const ORDER: usize, const TERMS: usize> WithSimd for Run<'_, ORDER, TERMS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tracking, range, made, take } = self;
        let options = tracking.propagation;
        let tissues = tracking.anatomy.map(|anatomy| anatomy.tissues);
        let mut flight = Flight::<S, ORDER, TERMS> {
            simd,
            drawer: Drawer::new(simd, tracking.densities, options, tissues, tracking.rng_seed),
            judging: Judging::new(tracking.space, tracking.rules, options.step_mm),
            tracking,
            next: range,
            take,
            room: Vec::new(),
        };
        match (made, options.rule) {
            (Some((halves, before)), _) => flight.replayed(halves, before),
            (None, DensityRule::Maximum) => flight.maxima(),
            (None, DensityRule::Arcs { .. } | DensityRule::Transport { .. }) => flight.drawn(),
        }
    }
}

struct Flight<'a, S: Simd, const ORDER: usize, const TERMS: usize> {
    simd: S,
    tracking: &'a DensityTracking<'a>,
    drawer: Drawer<'a, S, ORDER, TERMS>,
    judging: Judging<'a>,
    next: Range<u64>,
    take: &'a mut Take<'a>,
    /// Room for points, of streamlines that are handed in.
    room: Vec<Vec<[f32; 3]>>,
}

/// A streamline on its way.
struct Particle {
    seed_index: usize,
    number: u32,
    key: Key,
    /// Where both halves start.
    start: Pose,
    at: Pose,
    half: u32,
    /// Points of this half, the seed point among them.
    point: u32,
    /// Both halves, each from the seed outwards.
    points: Vec<[f32; 3]>,
    /// Those of the first half, once the second has begun.
    n_first: usize,
    ends: [EndReason; 2],
    /// Its way through tissues, and how often it was taken back.
    way: Way,
    /// The first half has left the tissue of the seed.
    has_left_first: bool,
    retries: Retries,
}

impl Particle {
    /// What the random numbers of the next step depend on besides the streamline.
    fn step(&self) -> (u32, u32) {
        (self.half, self.retries.point(self.point))
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Flight<'_, S, ORDER, TERMS> {
    #[inline(always)]
    fn drawn(&mut self) {
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
    fn maxima(&mut self) {
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
    fn replayed(&mut self, halves: &Halves, before: usize) {
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

    /// Puts a particle that knows its direction at its seed.
    fn begin_half(&self, particle: &mut Particle) {
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
    fn took(
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
        if particle.half == 1 {
            self.hand_in(particle);
            return false;
        }
        particle.half = 1;
        particle.at = Pose { dir: particle.start.dir.map(|x| -x), ..particle.start };
        self.begin_half(particle);
        let from_boundary = self.tracking.anatomy.filter(|anatomy| anatomy.from_boundary);
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
        let first = particle.n_first;
        let back = || particle.retries.back(&mut particle.points, first);
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
    fn hand_in(&mut self, particle: &mut Particle) {
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
