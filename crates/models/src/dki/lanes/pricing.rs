//! Slacks of one voxel's constraints, many directions at a time.
//!
//! Both constraints of a direction need V(n), and the terms of all directions fit into the
//! first-level cache in single precision: all slacks cost what a quarter of them do as products
//! with the solver's rows. What rounding to single precision hides is far below
//! [`MARGIN`](crate::dki::constraints::MARGIN).

use fimbria_compute::{Lanes, Real};
use fimbria_fitting::active_set::{Constraints, Pricing, Violated};
use pulp::Simd;

use crate::dki::constraints::{KurtosisConstraints, N_DIRECTIONS, N_FORMS};
use crate::dki::form::N_D;
use crate::dki::lanes::constrain::MAX_LANES;

/// Directions in whole registers of any level.
const PADDED: usize = N_DIRECTIONS.next_multiple_of(MAX_LANES);

/// Prices the constraints of a voxel after the other.
pub(super) struct DirectionPrices<'a, S: Simd> {
    simd: S,
    /// The rows in double precision, V first.
    rows: &'a Constraints,
    slope: f32,
    /// What the entries of D and V are multiplied by, `[entry][direction]`, zero behind the last.
    terms: Vec<[f32; PADDED]>,
    /// What is added for the slacks: minus the bounds; infinite where a constraint is active or
    /// behind the last.
    of_v: [f32; PADDED],
    of_decay: [f32; PADDED],
    lowest: f64,
}

/// The least slack and its place.
#[derive(Clone, Copy)]
struct Least<S: Simd> {
    slack: Lanes<S>,
    /// The first direction of the register it was in; of decay's constraints beyond [`PADDED`].
    first: Lanes<S>,
}

impl<S: Simd> Least<S> {
    #[inline(always)]
    fn see(&mut self, slack: Lanes<S>, first: usize) {
        let lower = slack.less(self.slack);
        self.slack = Lanes::select(lower, slack, self.slack);
        self.first = Lanes::select(lower, slack.splat(first as f32), self.first);
    }
}

impl<'a, S: Simd> DirectionPrices<'a, S> {
    pub(super) fn new(simd: S, constraints: &'a KurtosisConstraints) -> Self {
        let mut terms = vec![[0.0; PADDED]; N_FORMS];
        for (direction, of_direction) in constraints.terms.iter().enumerate() {
            for (row, &term) in terms.iter_mut().zip(of_direction) {
                row[direction] = term;
            }
        }
        let infinite = [f32::INFINITY; PADDED];
        let (rows, slope) = (&constraints.rows, constraints.slope);
        Self { simd, rows, slope, terms, of_v: infinite, of_decay: infinite, lowest: 0.0 }
    }

    /// The least slack of V(n) and of the decay, of `LANES` directions at a time.
    #[inline(always)]
    fn price(&self, x: &[f64]) -> Least<S> {
        let (simd, lanes) = (self.simd, Lanes::<S>::LANES);
        let splat = |x: f32| Lanes::new(simd, x);
        let mut forms = [splat(0.0); N_FORMS];
        for k in 0..N_FORMS {
            forms[k] = splat(x[k] as f32);
        }
        let slope = splat(self.slope);
        let mut least = Least { slack: splat(f32::INFINITY), first: splat(0.0) };
        for first in (0..PADDED).step_by(lanes) {
            let term = |k: usize| Lanes::load(simd, &self.terms[k][first..]);
            let mut d = forms[0] * term(0);
            for k in 1..N_D {
                d = forms[k].mul_add(term(k), d);
            }
            // Two sums, which do not wait for each other.
            let mut even = forms[N_D] * term(N_D);
            let mut odd = forms[N_D + 1] * term(N_D + 1);
            for k in (N_D + 2..N_FORMS - 1).step_by(2) {
                even = forms[k].mul_add(term(k), even);
                odd = forms[k + 1].mul_add(term(k + 1), odd);
            }
            even = forms[N_FORMS - 1].mul_add(term(N_FORMS - 1), even);
            let v = even + odd;
            let decay = v.neg_mul_add(slope, d);
            least.see(v + Lanes::load(simd, &self.of_v[first..]), first);
            least.see(decay + Lanes::load(simd, &self.of_decay[first..]), first + PADDED);
        }
        least
    }

    /// The offset of a constraint.
    #[inline(always)]
    fn offset(&mut self, constraint: usize) -> &mut f32 {
        match constraint.checked_sub(N_DIRECTIONS) {
            Some(direction) => &mut self.of_decay[direction],
            None => &mut self.of_v[constraint],
        }
    }
}

impl<S: Simd> Pricing for DirectionPrices<'_, S> {
    #[inline(always)]
    fn begin(&mut self, x: &[f64]) -> f64 {
        self.of_v[..N_DIRECTIONS].fill(-self.rows.bound(0) as f32);
        self.of_decay[..N_DIRECTIONS].fill(-self.rows.bound(N_DIRECTIONS) as f32);
        // Terms are at most some times 1.
        x.iter().map(|x| x.abs()).sum()
    }

    #[inline(always)]
    fn most_violated(&mut self, x: &[f64], least: f64) -> Option<Violated> {
        let lanes = Lanes::<S>::LANES;
        let found = self.price(x);
        let (mut slacks, mut firsts) = ([f32::INFINITY; MAX_LANES], [0.0; MAX_LANES]);
        found.slack.store(&mut slacks[..lanes]);
        found.first.store(&mut firsts[..lanes]);
        let mut lowest = slacks;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                lowest[lane] = lowest[lane].min(lowest[lane + half]);
            }
        }
        // Of equals the first, so that the number of lanes does not matter.
        let mut place = usize::MAX;
        for lane in 0..lanes {
            let here = firsts[lane] as usize + lane;
            place = if slacks[lane] == lowest[0] { place.min(here) } else { place };
        }
        let constraint = match place.checked_sub(PADDED) {
            Some(direction) => N_DIRECTIONS + direction,
            None => place,
        };
        if constraint >= self.rows.len() {
            return None; // not a number anywhere
        }
        let slack = self.rows.slack(constraint, &x[..N_FORMS]);
        self.lowest = slack;
        (slack < least).then_some(Violated { constraint, slack })
    }

    #[inline(always)]
    fn set_active(&mut self, constraint: usize, is_active: bool) {
        let bound = self.rows.bound(constraint) as f32;
        *self.offset(constraint) = if is_active { f32::INFINITY } else { -bound };
    }

    const MISSES_NONE: bool = true;

    #[inline(always)]
    fn look_again(&mut self, _x: &[f64]) {}

    #[inline(always)]
    fn lowest(&self) -> f64 {
        self.lowest
    }
}
