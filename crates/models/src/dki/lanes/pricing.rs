//! Slacks of one voxel's constraints, many directions at a time.
//!
//! Both constraints of a direction need V(n), and all directions fit into a quarter of the
//! first-level cache in single precision: all slacks cost what a quarter of them do as products
//! with the solver's rows. What rounding to single precision hides is far below
//! [`MARGIN`](crate::dki::constraints::MARGIN).

use fimbria_compute::{Lanes, Real};
use fimbria_fitting::active_set::{Constraints, Pricing, Violated};
use pulp::Simd;

use crate::dki::constraints::{KurtosisConstraints, N_DIRECTIONS, N_FORMS};
use crate::dki::form::N_D;
use crate::dki::lanes::along::{along, multiply_by_times};
use crate::dki::lanes::constrain::MAX_LANES;

/// Directions in whole registers of any level.
const PADDED: usize = N_DIRECTIONS.next_multiple_of(MAX_LANES);

const LANE_NUMBERS: [f32; MAX_LANES] =
    [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.];

/// Prices the constraints of a voxel after the other.
pub(super) struct DirectionPrices<'a, S: Simd> {
    simd: S,
    /// The rows in double precision, V first.
    rows: &'a Constraints,
    slope: f32,
    /// xx xy xz yy yz zz of the directions, zero behind the last.
    products: [[f32; PADDED]; N_D],
    /// What is added for the slacks: minus the bounds; infinite where a constraint is active or
    /// behind the last.
    of_v: [f32; PADDED],
    of_decay: [f32; PADDED],
    lowest: f64,
}

impl<'a, S: Simd> DirectionPrices<'a, S> {
    pub(super) fn new(simd: S, constraints: &'a KurtosisConstraints) -> Self {
        let mut products = [[0.0; PADDED]; N_D];
        for (direction, of_direction) in constraints.products.iter().enumerate() {
            for (row, &product) in products.iter_mut().zip(of_direction) {
                row[direction] = product;
            }
        }
        let infinite = [f32::INFINITY; PADDED];
        let (rows, slope) = (&constraints.rows, constraints.slope);
        Self { simd, rows, slope, products, of_v: infinite, of_decay: infinite, lowest: 0.0 }
    }

    /// The direction of the least slack, of V(n) or of the decay; behind the last where no slack
    /// is a number.
    #[inline(always)]
    fn worst_direction(&self, x: &[f64]) -> usize {
        let (simd, lanes) = (self.simd, Lanes::<S>::LANES);
        let splat = |x: f32| Lanes::new(simd, x);
        let mut forms = [splat(0.0); N_FORMS];
        for k in 0..N_FORMS {
            forms[k] = splat(x[k] as f32);
        }
        multiply_by_times(&mut forms);
        let slope = splat(self.slope);
        let (mut least, mut firsts) = (splat(f32::INFINITY), splat(PADDED as f32));
        for first in (0..PADDED).step_by(lanes) {
            let mut products = [slope; N_D];
            for k in 0..N_D {
                products[k] = Lanes::load(simd, &self.products[k][first..]);
            }
            let (d, v) = along(&forms, &products);
            let decay = v.neg_mul_add(slope, d) + Lanes::load(simd, &self.of_decay[first..]);
            let slack = (v + Lanes::load(simd, &self.of_v[first..])).min(decay);
            let lower = slack.less(least);
            least = slack.min(least);
            firsts = Lanes::select(lower, splat(first as f32), firsts);
        }
        // Of equals the first, so that the number of lanes does not matter.
        let lowest = splat(least.least());
        let place = firsts + Lanes::load(simd, &LANE_NUMBERS);
        Lanes::select(least.equals(lowest), place, splat(PADDED as f32)).least() as usize
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
        let direction = self.worst_direction(x);
        if direction >= N_DIRECTIONS {
            return None; // not a number anywhere
        }
        // Which of its two constraints, that are not active, the rows in double precision say.
        let mut slack = f64::INFINITY;
        let mut constraint = direction;
        for (one, offset) in [
            (direction, self.of_v[direction]),
            (N_DIRECTIONS + direction, self.of_decay[direction]),
        ] {
            let of_one = self.rows.slack(one, &x[..N_FORMS]);
            if offset.is_finite() && of_one < slack {
                (slack, constraint) = (of_one, one);
            }
        }
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
