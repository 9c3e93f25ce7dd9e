//! The walk over active sets that solves the dual.

use super::constraints::NEIGHBOURS;
use super::inverse_factor::{InverseFactor, REGULARISATION};

/// Rounds after which a programme is given up. Solvable ones take about ten.
const MOST_ROUNDS: u32 = 1000;
/// What regularisation may leave violated of the scale of a programme that has a solution.
const INFEASIBLE: f64 = 1e-6;
/// Constraints priced at a time: four or eight registers of sums.
const BLOCK: usize = 32;

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
    /// Rounds of the walk.
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
    pub(super) slack: Vec<f64>,
    pub(super) active: Vec<usize>,
    pub(super) lambda: Vec<f64>,
    solution: Vec<f64>,
    fresh: Vec<usize>,
    gram: Vec<f64>,
    factor: InverseFactor,
    /// True where `active` is to be the start of the next walk.
    warm: bool,
}

impl Work {
    /// Starts the next walk from these active constraints; wrong ones cost time only.
    pub fn warm_start(&mut self, active: &[usize]) {
        self.fresh.clear();
        self.fresh.extend_from_slice(active);
        self.warm = true;
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

/// Rows of K.
pub(super) trait Gram {
    /// Makes row `j` available.
    fn prepare(&mut self, j: usize);
    /// A row that was prepared.
    fn row(&self, j: usize) -> &[f64];
}

/// Minimises ½λᵀKλ + λᵀs₀ over λ ≥ 0 for the slacks s₀ in `work.slack0`; leaves `active`, `lambda`
/// and the slacks s₀ + Kλ.
#[inline(always)]
pub(super) fn minimise(
    gram: &mut impl Gram,
    neighbours: &[[u32; NEIGHBOURS]],
    tolerance: f64,
    work: &mut Work,
) -> Outcome {
    work.active.clear();
    work.lambda.clear();
    work.factor.truncate(0);
    work.slack.clear();
    work.slack.extend_from_slice(&work.slack0);
    let scale = largest(&work.slack0);
    let least = -tolerance * scale;
    if std::mem::take(&mut work.warm) {
        let n = work.slack0.len();
        work.fresh.retain(|&j| j < n);
        work.fresh.sort_unstable();
        work.fresh.dedup();
        work.take_fresh(gram);
        work.settle(gram);
        work.price(gram);
    }
    let mut rounds = 0;
    let mut verdict = None;
    while verdict.is_none() {
        work.worst_of_their_neighbourhoods(neighbours, least);
        if work.fresh.is_empty() {
            break;
        }
        rounds += 1;
        let before = work.active.len();
        work.take_fresh(gram);
        let gained = work.settle(gram);
        if !gained && work.active.len() <= before {
            // The batch was dropped again: the worst alone always gains, but for rounding.
            work.worst(least);
            work.take_fresh(gram);
            if !work.settle(gram) {
                verdict = Some(Verdict::NotConverged);
            }
        }
        work.price(gram);
        if rounds == MOST_ROUNDS {
            verdict = Some(Verdict::NotConverged);
        }
    }
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
    /// Violated constraints that no neighbour exceeds.
    #[inline(always)]
    fn worst_of_their_neighbourhoods(&mut self, neighbours: &[[u32; NEIGHBOURS]], least: f64) {
        self.fresh.clear();
        for (j, &s) in self.slack.iter().enumerate() {
            // Equal neighbours (doubled constraints) leave it to the first of them.
            let exceeded = |&i: &u32| {
                let (i, other) = (i as usize, self.slack[i as usize]);
                other < s || (other == s && i < j)
            };
            if s < least && !neighbours[j].iter().any(exceeded) && !self.active.contains(&j) {
                self.fresh.push(j);
            }
        }
        if self.fresh.is_empty() {
            // An active constraint may stand in the way of its neighbour by rounding.
            self.worst(least);
        }
    }

    #[inline(always)]
    fn worst(&mut self, least: f64) {
        self.fresh.clear();
        let (mut place, mut most) = (None, least);
        for (j, &s) in self.slack.iter().enumerate() {
            if s < most && !self.active.contains(&j) {
                (place, most) = (Some(j), s);
            }
        }
        self.fresh.extend(place);
    }

    /// Takes the fresh constraints into the active set, with multipliers 0.
    #[inline(always)]
    fn take_fresh(&mut self, gram: &mut impl Gram) {
        for &j in &self.fresh {
            gram.prepare(j);
            self.active.push(j);
            self.lambda.push(0.0);
        }
    }

    /// Brings the factor up to date with the active set.
    #[inline(always)]
    fn refactor(&mut self, gram: &impl Gram) {
        for at in self.factor.len()..self.active.len() {
            let j = self.active[at];
            let row = gram.row(j);
            self.gram.clear();
            self.gram.extend(self.active[..=at].iter().map(|&i| row[i]));
            self.factor.push(&self.gram, -self.slack0[j]);
        }
    }

    /// The minimum over the active constraints, those that would need a negative multiplier
    /// dropped on the way. True where any multiplier changed.
    #[inline(always)]
    fn settle(&mut self, gram: &impl Gram) -> bool {
        let mut changed = false;
        while !self.active.is_empty() {
            self.refactor(gram);
            self.solution.resize(self.active.len(), 0.0);
            self.factor.solve(&mut self.solution);
            // How far towards the solution every multiplier stays non-negative.
            let mut step = 1.0f64;
            for (l, s) in self.lambda.iter().zip(&self.solution) {
                if *s <= 0.0 {
                    step = step.min(l / (l - s));
                }
            }
            changed |= step > 0.0;
            if step == 1.0 {
                self.lambda.copy_from_slice(&self.solution);
                return changed;
            }
            let mut kept = 0;
            let mut first_dropped = self.active.len();
            for i in 0..self.active.len() {
                let (l, s) = (self.lambda[i], self.solution[i]);
                if s <= 0.0 && l / (l - s) <= step {
                    first_dropped = first_dropped.min(i);
                    continue;
                }
                self.active[kept] = self.active[i];
                self.lambda[kept] = l + step * (s - l);
                kept += 1;
            }
            self.active.truncate(kept);
            self.lambda.truncate(kept);
            self.factor.truncate(first_dropped);
        }
        changed
    }

    /// Slacks s₀ + Kλ of every constraint.
    #[inline(always)]
    fn price(&mut self, gram: &impl Gram) {
        let (blocks, rest) = self.slack.as_chunks_mut::<BLOCK>();
        for (block, slack) in blocks.iter_mut().enumerate() {
            let at = block * BLOCK;
            slack.copy_from_slice(&self.slack0[at..at + BLOCK]);
            for (&j, &l) in self.active.iter().zip(&self.lambda) {
                let row = &gram.row(j)[at..at + BLOCK];
                for i in 0..BLOCK {
                    slack[i] += l * row[i];
                }
            }
        }
        let at = blocks.len() * BLOCK;
        rest.copy_from_slice(&self.slack0[at..]);
        for (&j, &l) in self.active.iter().zip(&self.lambda) {
            rest.iter_mut().zip(&gram.row(j)[at..]).for_each(|(s, k)| *s += l * k);
        }
    }
}
