//! Streamlines through densities, some at a time on one thread.
//!
//! Particles take turns. One whose way is drawn has the registers to itself for a step, and calls what
//! its next step needs into the cache before the others have theirs; those that follow maxima go side by
//! side, one in each lane. A particle's numbers and its arithmetic depend on its seed and number
//! alone, so that nothing changes with threads, blocks or the width of registers.

mod flight;
mod particle;

use std::ops::Range;

use fimbria_compute::SimdLevel;
use pulp::{Simd, WithSimd};

use self::flight::Flight;
use super::arcs::{Arcs, Drawer, Key, Pose};
use super::device::{Halves, Start, has_kernel};
use super::options::DensityRule;
use super::starts::DensityTracking;
use super::transport::Curves;
use crate::EndReason;
use crate::draws::item_key;
use crate::driver::{Judging, Tracker};
use crate::sample::Take;

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
            8 => simd.run(Starts::<8, 45> { tracking: self, range }),
            10 => simd.run(Starts::<10, 66> { tracking: self, range }),
            // No other is made.
            _ => simd.run(Starts::<12, 91> { tracking: self, range }),
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
            8 => simd.run(Run::<8, 45> { tracking: self, range, made, take }),
            10 => simd.run(Run::<10, 66> { tracking: self, range, made, take }),
            // No other is made.
            _ => simd.run(Run::<12, 91> { tracking: self, range, made, take }),
        }
    }

    /// Where a streamline starts from its seed, and in which direction.
    #[inline(always)]
    fn first_place<S: Simd, const ORDER: usize, const TERMS: usize>(
        &self,
        drawer: &Drawer<'_, S, ORDER, TERMS>,
        Seeded { pos, near, key, .. }: &Seeded,
    ) -> Result<Pose, EndReason> {
        let pos = self.anatomy.map_or(Ok(*pos), |anatomy| anatomy.start(*pos))?;
        if !self.densities.is_inside(pos) {
            return Err(EndReason::OutsideMask);
        }
        let mut dir = drawer.first_direction(pos, *near, *key)?;
        if let Some(anatomy) = self.anatomy.filter(|anatomy| anatomy.from_boundary) {
            let half_step = 0.5 * self.propagation.step_mm;
            let whiteness = |mm| anatomy.tissues.at(drawer.moved(pos, dir, mm)).whiteness();
            if whiteness(-half_step) > whiteness(half_step) {
                dir = dir.map(|x| -x);
            }
        }
        Ok(Pose { pos, dir })
    }

    /// How a streamline starts.
    fn seeded(&self, at: u64) -> Seeded {
        let (seed_index, number, near) = self.seed_of(at);
        let seed = &self.seeds[seed_index];
        let pos = self.space.to_samples(self.start_of(seed, number));
        let key = Key { item: item_key(seed.key, number), region: seed.region };
        Seeded { seed_index, number, pos, near, key }
    }
}

/// How a streamline starts.
struct Seeded {
    seed_index: usize,
    number: u32,
    /// In voxels of the densities.
    pos: [f32; 3],
    /// Near which direction, if that is no matter of the densities alone.
    near: Option<[f32; 3]>,
    /// What its numbers depend on.
    key: Key,
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
            let from = tracking.seeded(at);
            if let Ok(place) = tracking.first_place(&drawer, &from) {
                starts.push(Start { place, key: from.key });
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
            (None, DensityRule::Arcs { .. }) => flight.drawn(Box::<Arcs>::default()),
            (None, DensityRule::Transport { .. }) => {
                let curves = Box::new(Curves::new(&flight.drawer));
                flight.drawn(curves);
            }
        }
    }
}
