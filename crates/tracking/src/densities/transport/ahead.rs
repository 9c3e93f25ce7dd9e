//! What a curve has drawn for its next steps.
//!
//! Curvatures do not depend on where a curve is, nor do the shapes of probes with them. So those of some
//! steps, as many as a batch has room for, are drawn together.

use fimbria_compute::math::{exp, ln, sincos, sincos_turns};
use fimbria_compute::philox::{Philox, uniform};
use fimbria_compute::{Lanes, Real as _};
use pulp::Simd;

use super::super::arcs::{Batch, Drawer, Key, LANES, trials_of};
use super::super::directions::RINGS;
use super::plan::{BESIDE, MAX_STEPS, Plan, directions_beside};

/// Room for a batch that is read from any trial on.
type Row = [f32; 2 * LANES];

/// Curvatures drawn at random.
#[derive(Clone, Copy)]
pub(super) struct Trials {
    /// By which the probe turns from its start to its end.
    pub(super) angle: Row,
    /// In which direction across: cosine and sine.
    pub(super) turn: [Row; 2],
    /// The number that decides: of the bound on the mean of densities, what has to be reached.
    pub(super) level: Row,
}

/// A batch of probes.
#[derive(Clone, Copy)]
pub(super) struct Probes {
    /// Their curvatures, at all places.
    angle: Row,
    turn: [Row; 2],
    /// Directions: along that of the start, and across it twice.
    pub(super) ahead: Batch<f32>,
    pub(super) across: [Batch<f32>; 2],
    /// What the posts around the telling place count.
    pub(super) beside: [Batch<f32>; BESIDE],
    /// Places, mm, in the same axes as directions.
    pub(super) mm: [Batch<f32>; 3],
}

/// What is drawn for some steps.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    pub(super) trials: Trials,
    pub(super) probes: [Probes; MAX_STEPS],
}

/// What is known of the next steps of a curve.
pub(in crate::densities) struct Ahead {
    /// Of which streamline and from which step on.
    since: Option<(Key, (u32, u32))>,
    pub(super) drawn: Drawn,
    /// The largest densities of the cap up to each of its rings.
    pub(super) rings: [f32; RINGS.len()],
    /// The voxel around whose corner forms were last called into the cache.
    pub(super) fetched: [f32; 3],
}

impl Default for Drawn {
    fn default() -> Self {
        let none = [0.0; LANES];
        let row = [0.0; 2 * LANES];
        let probes = Probes {
            angle: row,
            turn: [row; 2],
            ahead: none,
            across: [none; 2],
            beside: [none; BESIDE],
            mm: [none; 3],
        };
        let trials = Trials { angle: row, turn: [row; 2], level: row };
        Self { trials, probes: [probes; MAX_STEPS] }
    }
}

impl Default for Ahead {
    fn default() -> Self {
        Self {
            since: None,
            drawn: Drawn::default(),
            rings: [0.0; RINGS.len()],
            fetched: [f32::INFINITY; 3],
        }
    }
}

impl Drawn {
    /// Deals the curvatures to the probes of steps.
    #[inline(always)]
    pub(super) fn deal(&mut self, plan: &Plan, places: usize) {
        let Trials { angle, turn, .. } = &self.trials;
        for step in 0..plan.steps {
            let from = step * plan.probes..step * plan.probes + LANES;
            let probes = &mut self.probes[step];
            for place in 0..places {
                // What is too much is overwritten by the next place.
                let to = place * plan.probes..place * plan.probes + LANES;
                probes.angle[to.clone()].copy_from_slice(&angle[from.clone()]);
                probes.turn[0][to.clone()].copy_from_slice(&turn[0][from.clone()]);
                probes.turn[1][to].copy_from_slice(&turn[1][from.clone()]);
            }
        }
    }
}

impl Ahead {
    /// The number of a step among those known; `None` where it is not, and the first from now on.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        plan: &Plan,
        key: Key,
        (half, point): (u32, u32),
    ) -> Option<usize> {
        if let Some((of, (of_half, first))) = self.since
            && of == key
            && of_half == half
            && point.wrapping_sub(first) < plan.steps as u32
        {
            return Some(point.wrapping_sub(first) as usize);
        }
        self.since = Some((key, (half, point)));
        None
    }
}

impl<S: Simd, const ORDER: usize, const TERMS: usize> Drawer<'_, S, ORDER, TERMS> {
    /// Draws sixteen curvatures, of trials from one number on.
    #[inline(always)]
    pub(super) fn draw_trials(&self, trials: &mut Trials, philox: Philox, key: Key, first: u32) {
        let numbers = trials_of(key, first);
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let words = self.words(philox, key, &numbers[at..]);
            // Evenly over a disk.
            let angle = uniform::<Lanes<S>>(words[0]).sqrt() * self.largest_angle;
            angle.store(&mut trials.angle[at..]);
            let (sin, cos) = sincos_turns(uniform::<Lanes<S>>(words[1]));
            cos.store(&mut trials.turn[0][at..]);
            sin.store(&mut trials.turn[1][at..]);
            let mut level = uniform::<Lanes<S>>(words[2]);
            if self.exponent != 1.0 {
                level = exp(ln(level) / self.exponent);
            }
            level.store(&mut trials.level[at..]);
        }
    }

    /// The shapes of the probes of one of the steps that curvatures were dealt to.
    #[inline(always)]
    pub(super) fn shape(&self, probes: &mut Probes, plan: &Plan) {
        for at in (0..LANES).step_by(Lanes::<S>::LANES) {
            let angle = Lanes::load(self.simd, &probes.angle[at..]);
            let mut turn = [angle; 2];
            turn[0] = Lanes::load(self.simd, &probes.turn[0][at..]);
            turn[1] = Lanes::load(self.simd, &probes.turn[1][at..]);
            let (sin, cos) = sincos(angle * Lanes::load(self.simd, &plan.part[at..]));
            let ahead_mm = angle.splat(self.arc_mm) / angle * sin;
            // 1 - cos = sin²/(1 + cos).
            let aside_mm = ahead_mm * sin / (cos + 1.0);
            cos.store(&mut probes.ahead[at..]);
            ahead_mm.store(&mut probes.mm[0][at..]);
            for k in 0..2 {
                (turn[k] * sin).store(&mut probes.across[k][at..]);
                (turn[k] * aside_mm).store(&mut probes.mm[k + 1][at..]);
            }
            let straight = Lanes::load(self.simd, &plan.straight[at..]);
            let beside = aside_mm * plan.per_mm;
            for post in 0..BESIDE {
                let [x, y] = directions_beside()[post];
                let part = turn[0].mul_add(angle.splat(x), turn[1] * y);
                beside.mul_add(part, straight).store(&mut probes.beside[post][at..]);
            }
        }
    }
}
