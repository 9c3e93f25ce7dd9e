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
    /// Slacks of the unconstrained minimum.
    pub(super) slack0: Vec<f64>,
    /// The same, infinite for active constraints, which are never priced.
    start: Vec<f64>,
    /// Slacks of the current point, of the blocks in `candidates`.
    slack: Vec<f64>,
    /// The blocks that had a violated constraint when all were last priced.
    candidates: Vec<usize>,
    pub(super) active: Vec<usize>,
    pub(super) lambda: Vec<f64>,
    inverse: Inverse,
    /// Entries of K of a constraint beside the active ones, and the inverse times them.
    beside: Vec<f64>,
    direction: Vec<f64>,
    /// Where the next walk starts; taken by it.
    warm: Vec<usize>,
}

impl Work {
    /// Starts the next walk from these active constraints; wrong ones cost time only.
    pub fn warm_start(&mut self, active: &[usize]) {
        self.warm.clear();
        self.warm.extend_from_slice(active);
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

/// Minimises ½λᵀKλ + λᵀs₀ over λ ≥ 0 for the padded slacks s₀ in `work.slack0`; leaves `active`
/// and `lambda`.
#[inline(always)]
pub(super) fn minimise(gram: &mut impl Gram, tolerance: f64, work: &mut Work) -> Outcome {
    let scale = largest(&work.slack0);
    let least = -tolerance * scale;
    work.begin();
    work.enter_warm(gram, least);
    let mut rounds = 0;
    let mut corrected = false;
    let walked_to_its_end = loop {
        match work.most_violated(gram, least) {
            _ if rounds >= MOST_ROUNDS => break false,
            Some((j, slack)) => {
                rounds += 1;
                work.take_in(gram, j, slack);
                corrected = false;
            }
            // Rounding of many updates may have left multipliers a little off, or, rarely, one
            // that has to go: then the walk goes on.
            None if !corrected => {
                work.correct(gram);
                corrected = true;
            }
            None => break true,
        }
    };
    let verdict = if !walked_to_its_end {
        Verdict::NotConverged
    } else if REGULARISATION * largest(&work.lambda) > INFEASIBLE * scale {
        Verdict::Infeasible
    } else if work.active.is_empty() {
        Verdict::Free
    } else {
        Verdict::Bound
    };
    let violation = work.violation(gram);
    Outcome { verdict, rounds, violation: if scale > 0.0 { violation / scale } else { 0.0 } }
}

#[inline(always)]
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0f64, |most, x| most.max(x.abs()))
}

impl Work {
    /// At the unconstrained minimum, with no constraint active.
    #[inline(always)]
    fn begin(&mut self) {
        self.active.clear();
        self.lambda.clear();
        self.inverse.clear();
        self.candidates.clear();
        self.start.clear();
        self.start.extend_from_slice(&self.slack0);
        self.slack.clear();
        self.slack.resize(self.slack0.len(), 0.0);
    }

    /// Takes in the constraints of a warm start that are violated when their turn comes.
    #[inline(always)]
    fn enter_warm(&mut self, gram: &mut impl Gram, least: f64) {
        let mut warm = std::mem::take(&mut self.warm);
        for j in warm.drain(..) {
            if j >= self.slack0.len() || self.active.contains(&j) {
                continue;
            }
            gram.prepare(j);
            let row = gram.row(j);
            let pull = self.active.iter().zip(&self.lambda).map(|(&i, l)| l * row[i]);
            let slack = pull.fold(self.slack0[j], |sum, pull| sum + pull);
            if slack < least {
                self.take_in(gram, j, slack);
            }
        }
        self.warm = warm;
    }

    /// The constraint to take in next, and its slack: the most violated one among the blocks that
    /// had any when all were last priced (pricing all is half the work of a walk); where those have
    /// none left, among all.
    #[inline(always)]
    fn most_violated(&mut self, gram: &impl Gram, least: f64) -> Option<(usize, f64)> {
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut found = self.price(gram, &candidates, least);
        if found.is_none() {
            candidates.clear();
            candidates.extend(0..self.slack.len() / BLOCK);
            found = self.price(gram, &candidates, least);
            candidates.retain(|&block| {
                self.slack[block * BLOCK..][..BLOCK].iter().any(|&slack| slack < least)
            });
        }
        self.candidates = candidates;
        found
    }

    /// Raises the multiplier of `j`, whose slack is given, until that is zero. The other multipliers
    /// follow so that theirs stay zero; one that would become negative is dropped on the way.
    #[inline(always)]
    fn take_in(&mut self, gram: &mut impl Gram, j: usize, mut slack: f64) {
        gram.prepare(j);
        let row = gram.row(j);
        self.beside.clear();
        for &i in &self.active {
            self.beside.push(row[i]);
        }
        self.inverse.apply(&self.beside, &mut self.direction);
        let mut pivot = Inverse::pivot(row[j], &self.beside, &self.direction);
        let mut own = 0.0;
        loop {
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
            let Some(gone) = blocking else { break };
            slack += step * pivot;
            pivot += self.inverse.project(gone, &mut self.direction);
            self.direction.swap_remove(gone);
            self.remove(gone);
        }
        self.inverse.push(&self.direction, pivot);
        self.active.push(j);
        self.lambda.push(own);
        self.start[j] = f64::INFINITY;
    }

    #[inline(always)]
    fn remove(&mut self, gone: usize) {
        self.inverse.swap_remove(gone);
        let j = self.active.swap_remove(gone);
        self.lambda.swap_remove(gone);
        self.start[j] = self.slack0[j];
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
            self.inverse.project(gone, &mut self.lambda);
            self.remove(gone);
        }
    }

    /// Slacks s₀ + Kλ of these blocks, and the most violated constraint in them that is not active,
    /// if it is below `least`.
    #[inline(always)]
    fn price(&mut self, gram: &impl Gram, blocks: &[usize], least: f64) -> Option<(usize, f64)> {
        let (mut place, mut most) = (None, least);
        for &block in blocks {
            let slack = self.block_of_slacks(gram, block, &self.start);
            let low = lowest(&slack);
            if low < most {
                (place, most) = (Some(block), low);
            }
            self.slack[block * BLOCK..][..BLOCK].copy_from_slice(&slack);
        }
        let block = place? * BLOCK;
        let within = self.slack[block..][..BLOCK].iter().position(|&slack| slack == most)?;
        Some((block + within, most))
    }

    /// `start` + Kλ of one block.
    #[inline(always)]
    fn block_of_slacks(&self, gram: &impl Gram, block: usize, start: &[f64]) -> [f64; BLOCK] {
        let at = block * BLOCK;
        let mut sums = [0.0; BLOCK];
        sums.copy_from_slice(&start[at..at + BLOCK]);
        for (&j, &l) in self.active.iter().zip(&self.lambda) {
            let row = &gram.row(j)[at..at + BLOCK];
            for i in 0..BLOCK {
                sums[i] += l * row[i];
            }
        }
        sums
    }

    /// The largest violation of any constraint, active ones included, or 0.
    #[inline(always)]
    fn violation(&self, gram: &impl Gram) -> f64 {
        let blocks = 0..self.slack0.len() / BLOCK;
        blocks.fold(0.0, |most, block| {
            let low = -lowest(&self.block_of_slacks(gram, block, &self.slack0));
            if low > most { low } else { most }
        })
    }
}

/// The least of a block, by halves.
#[inline(always)]
fn lowest(block: &[f64; BLOCK]) -> f64 {
    let mut low = *block;
    let mut half = BLOCK / 2;
    while half > 0 {
        for i in 0..half {
            low[i] = if low[i + half] < low[i] { low[i + half] } else { low[i] };
        }
        half /= 2;
    }
    low[0]
}
