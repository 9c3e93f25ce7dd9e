//! Which constraint comes in next.

use super::Constraints;
use super::constraints::BLOCK;
use super::sums::{dot, least_of};

/// A constraint that is violated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violated {
    /// The constraint.
    pub constraint: usize,
    /// Its slack cx - d, less than zero.
    pub slack: f64,
}

/// Finds violated constraints along a walk. Points x may be longer than there are unknowns.
pub trait Pricing {
    /// True where [`most_violated`](Self::most_violated) always looks at all constraints.
    const MISSES_NONE: bool;

    /// A walk begins at x with no constraint active; returns the size of slacks there, which
    /// tolerances are relative to.
    fn begin(&mut self, x: &[f64]) -> f64;

    /// A constraint that is not active and whose slack at x is below `least`: the lowest, as far as
    /// is known. `None` where it knows none.
    fn most_violated(&mut self, x: &[f64], least: f64) -> Option<Violated>;

    /// A constraint becomes active, which is not priced, or inactive.
    fn set_active(&mut self, constraint: usize, is_active: bool);

    /// The walk has come to an end at x: from here on nothing is missed.
    fn look_again(&mut self, x: &[f64]);

    /// No slack of an inactive constraint was lower when last priced.
    fn lowest(&self) -> f64;
}

/// What [`Blocks`] remembers of a walk.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockPrices {
    /// What Cx is added to for the slack of each place: -d, infinite for active constraints, which
    /// are never priced.
    offsets: Vec<f64>,
    /// The least slack of each block when it was last priced, or a lower bound of it.
    lowest: Vec<f64>,
    /// x in single precision.
    single: Vec<f32>,
}

/// Pricing of any constraints: only blocks of like ones that promise the worst, by what they were
/// when last priced, are priced again: two of ten.
pub(super) struct Blocks<'a> {
    pub(super) constraints: &'a Constraints,
    pub(super) prices: &'a mut BlockPrices,
}

impl Blocks<'_> {
    /// Bounds the slacks of every block by a look in single precision, which takes half the memory's
    /// bandwidth; returns the largest of them, of either sign.
    #[inline(always)]
    fn screen(&mut self, x: &[f64]) -> f64 {
        let BlockPrices { lowest, single, .. } = &mut *self.prices;
        single.clear();
        single.extend(x.iter().map(|&x| x as f32));
        let doubt = self.constraints.doubt(dot(x, x).sqrt());
        lowest.clear();
        let mut largest = 0.0;
        for block in 0..self.constraints.n_blocks() {
            let screened = self.constraints.screen(block, single, doubt);
            lowest.push(screened.least);
            largest = f64::max(largest, screened.largest);
        }
        largest
    }
}

impl Pricing for Blocks<'_> {
    const MISSES_NONE: bool = false;

    #[inline(always)]
    fn begin(&mut self, x: &[f64]) -> f64 {
        self.prices.offsets.clear();
        self.prices.offsets.extend_from_slice(&self.constraints.offsets);
        self.screen(x)
    }

    #[inline(always)]
    fn most_violated(&mut self, x: &[f64], least: f64) -> Option<Violated> {
        let BlockPrices { offsets, lowest, .. } = &mut *self.prices;
        loop {
            let (mut block, mut known) = (None, least);
            for (b, &low) in lowest.iter().enumerate() {
                if low < known {
                    (block, known) = (Some(b), low);
                }
            }
            let block = block?;
            let slacks = self.constraints.block_of_slacks(block, offsets, x);
            let low = least_of(&slacks);
            lowest[block] = low;
            if low < least && lowest.iter().all(|&other| low <= other) {
                let within = slacks.iter().position(|&slack| slack == low)?;
                let constraint = self.constraints.order[block * BLOCK + within];
                return Some(Violated { constraint, slack: low });
            }
        }
    }

    #[inline(always)]
    fn set_active(&mut self, constraint: usize, is_active: bool) {
        let place = self.constraints.places[constraint];
        let offset = if is_active { f64::INFINITY } else { self.constraints.offsets[place] };
        self.prices.offsets[place] = offset;
    }

    #[inline(always)]
    fn look_again(&mut self, x: &[f64]) {
        self.screen(x);
    }

    #[inline(always)]
    fn lowest(&self) -> f64 {
        self.prices.lowest.iter().copied().fold(0.0, f64::min)
    }
}
