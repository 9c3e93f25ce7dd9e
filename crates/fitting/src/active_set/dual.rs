//! The walk over active sets that solves the dual.

use super::inverse::{Inverse, REGULARISATION};

/// Constraints taken in after which a programme is given up; a hard one takes two hundred.
const MOST_ROUNDS: u32 = 5000;
/// What regularisation may leave violated of the scale of a programme that has a solution.
const INFEASIBLE: f64 = 1e-6;
/// Constraints priced at a time: four or eight registers of sums. Slacks and rows of K are padded
/// to a multiple with constraints that are never violated.
pub(super) const BLOCK: usize = 32;

/// How a programme ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No constraint binds: the unconstrained minimum.
    Free,
    /// The minimum, on one constraint at least.
    Bound,
    /// No x satisfies all constraints; x is a least-violating compromise.
    Infeasible,
    /// Rounding or the limit of rounds ended the walk; x is the last point.
    NotConverged,
}

/// What a solver says of its solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// Constraints taken in on the walk.
    pub rounds: u32,
    /// The largest violation of a constraint, in the metric of H, relative to the largest slack
    /// (of either sign) of the unconstrained minimum.
    pub violation: f64,
}

/// Working memory of one thread, and what a solution leaves in it.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Slacks of the unconstrained minimum, then of the current point.
    pub(super) slack0: Vec<f64>,
    slack: Vec<f64>,
    pub(super) active: Vec<usize>,
    pub(super) lambda: Vec<f64>,
    inverse: Inverse,
    /// Entries of K of a constraint beside the active ones, and the inverse times them.
    beside: Vec<f64>,
    direction: Vec<f64>,
    /// Where the next walk starts; taken by it.
    start: Vec<usize>,
}

impl Work {
    /// Starts the next walk from these active constraints; wrong ones cost time only.
    pub fn warm_start(&mut self, active: &[usize]) {
        self.start.clear();
        self.start.extend_from_slice(active);
    }

    /// The constraints that the last solution meets with equality, in no order.
    pub fn active(&self) -> &[usize] {
        &self.active
    }

    /// Their multipliers, of the constraints as they were given: Hx - f = Cᵀλ.
    pub fn multipliers(&self) -> &[f64] {
        &self.lambda
    }
}

/// Rows of K, padded to [`BLOCK`] with zeros.
pub(super) trait Gram {
    /// Makes row `j` available.
    fn prepare(&mut self, j: usize);
    /// A row that was prepared.
    fn row(&self, j: usize) -> &[f64];
}

/// Minimises ½λᵀKλ + λᵀs₀ over λ ≥ 0 for the padded slacks s₀ in `work.slack0`; leaves `active`, `lambda`
/// and the slacks s₀ + Kλ.
#[inline(always)]
pub(super) fn minimise(gram: &mut impl Gram, tolerance: f64, work: &mut Work) -> Outcome {
    let m = work.slack0.len();
    work.active.clear();
    work.lambda.clear();
    work.inverse.clear();
    work.slack.clear();
    work.slack.extend_from_slice(&work.slack0);
    let scale = largest(&work.slack0);
    let least = -tolerance * scale;
    let start = std::mem::take(&mut work.start);
    for &j in start.iter().filter(|&&j| j < m) {
        if !work.active.contains(&j) && work.slack_of(gram, j) < least {
            work.take_in(gram, j);
        }
    }
    work.start = start;
    work.start.clear();
    work.price(gram);
    let mut rounds = 0;
    let mut corrected = false;
    let mut verdict = None;
    while verdict.is_none() {
        match work.worst(least) {
            Some(j) => {
                rounds += 1;
                work.take_in(gram, j);
                corrected = false;
                if rounds >= MOST_ROUNDS {
                    verdict = Some(Verdict::NotConverged);
                }
            }
            // Rounding of many updates may have left multipliers a little off, or, rarely, one
            // that has to go: then the walk goes on.
            None if !corrected => {
                work.correct(gram);
                corrected = true;
            }
            None => break,
        }
        work.price(gram);
    }
    work.price(gram);
    let verdict = verdict.unwrap_or_else(|| {
        if REGULARISATION * largest(&work.lambda) > INFEASIBLE * scale {
            Verdict::Infeasible
        } else if work.active.is_empty() {
            Verdict::Free
        } else {
            Verdict::Bound
        }
    });
    let violation = work.slack.iter().fold(0.0f64, |most, &s| most.max(-s));
    Outcome { verdict, rounds, violation: if scale > 0.0 { violation / scale } else { 0.0 } }
}

#[inline(always)]
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0f64, |most, x| most.max(x.abs()))
}

impl Work {
    /// The most violated constraint that is not active, below `least`.
    #[inline(always)]
    fn worst(&mut self, least: f64) -> Option<usize> {
        // Rounding apart this is what active ones have.
        for &j in &self.active {
            self.slack[j] = 0.0;
        }
        let (mut place, mut most) = (None, least);
        for (j, &s) in self.slack.iter().enumerate() {
            if s < most {
                (place, most) = (Some(j), s);
            }
        }
        place
    }

    /// s₀ + Kλ of constraint `j`.
    #[inline(always)]
    fn slack_of(&self, gram: &mut impl Gram, j: usize) -> f64 {
        gram.prepare(j);
        let row = gram.row(j);
        let mut slack = self.slack0[j];
        for (&i, l) in self.active.iter().zip(&self.lambda) {
            slack += l * row[i];
        }
        slack
    }

    /// Raises the multiplier of `j` until its slack is zero. The other multipliers follow so that
    /// theirs stay zero; one that would become negative is dropped on the way.
    #[inline(always)]
    fn take_in(&mut self, gram: &mut impl Gram, j: usize) {
        let mut slack = self.slack_of(gram, j);
        let row = gram.row(j);
        let mut own = 0.0;
        loop {
            self.beside.clear();
            for &i in &self.active {
                self.beside.push(row[i]);
            }
            self.inverse.apply(&self.beside, &mut self.direction);
            let pivot = Inverse::pivot(row[j], &self.beside, &self.direction);
            let mut step = -slack / pivot;
            let mut blocking = None;
            for (i, (l, u)) in self.lambda.iter().zip(&self.direction).enumerate() {
                if *u > 0.0 && *l < step * u {
                    (step, blocking) = (l / u, Some(i));
                }
            }
            for (l, u) in self.lambda.iter_mut().zip(&self.direction) {
                *l -= step * u;
            }
            own += step;
            let Some(gone) = blocking else {
                self.inverse.push(&self.direction, pivot);
                self.active.push(j);
                self.lambda.push(own);
                return;
            };
            slack += step * pivot;
            self.remove(gone);
        }
    }

    #[inline(always)]
    fn remove(&mut self, gone: usize) {
        self.inverse.swap_remove(gone);
        self.active.swap_remove(gone);
        self.lambda.swap_remove(gone);
    }

    /// One step of iterative refinement: λ -= M (s₀ + (K + ρI)λ) over the active constraints. What
    /// is negative then is dropped.
    #[inline(always)]
    fn correct(&mut self, gram: &impl Gram) {
        self.beside.clear();
        for (&j, l) in self.active.iter().zip(&self.lambda) {
            let row = gram.row(j);
            let mut slack = self.slack0[j] + REGULARISATION * l;
            for (&i, l) in self.active.iter().zip(&self.lambda) {
                slack += l * row[i];
            }
            self.beside.push(slack);
        }
        self.inverse.apply(&self.beside, &mut self.direction);
        for (l, u) in self.lambda.iter_mut().zip(&self.direction) {
            *l -= u;
        }
        while let Some(gone) = self.lambda.iter().position(|l| *l < 0.0) {
            // The others take over what the dropped one held.
            let l = self.lambda[gone];
            self.inverse.unit_row(gone, &mut self.direction);
            for (other, u) in self.lambda.iter_mut().zip(&self.direction) {
                *other -= l * u;
            }
            self.remove(gone);
        }
    }

    /// Slacks s₀ + Kλ of every constraint.
    #[inline(always)]
    fn price(&mut self, gram: &impl Gram) {
        for (block, slack) in self.slack.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let at = block * BLOCK;
            let mut sums = [0.0; BLOCK];
            sums.copy_from_slice(&self.slack0[at..at + BLOCK]);
            for (&j, &l) in self.active.iter().zip(&self.lambda) {
                let row = &gram.row(j)[at..at + BLOCK];
                for i in 0..BLOCK {
                    sums[i] += l * row[i];
                }
            }
            *slack = sums;
        }
    }
}
