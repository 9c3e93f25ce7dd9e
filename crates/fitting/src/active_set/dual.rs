//! The walk over active sets that solves the dual.

use super::Constraints;
use super::constraints::BLOCK;
use super::inverse::{Inverse, REGULARISATION};
use super::metric::combine;
use super::sums::{dot, least_of};

/// Constraints taken in after which a programme is given up; a hard one takes two hundred.
const MOST_ROUNDS: u32 = 5000;
/// What regularisation may leave violated of the scale of a programme that has a solution.
const INFEASIBLE: f64 = 1e-6;

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
    /// The largest violation of a constraint, relative to the largest slack (of either sign) of the
    /// unconstrained minimum.
    pub violation: f64,
}

/// Working memory of one thread, and what a solution leaves in it.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// The unconstrained minimum and the current point, padded.
    pub(super) x0: Vec<f64>,
    pub(super) x: Vec<f64>,
    /// What Cx is added to for the slack of each place: -d, infinite for active constraints, which
    /// are never priced.
    offsets: Vec<f64>,
    /// The least slack of each block when it was last priced, or a lower bound of it.
    lowest: Vec<f64>,
    /// x in single precision.
    single: Vec<f32>,
    /// Places of the active constraints, and the multipliers of these scaled to length 1.
    pub(super) active: Vec<usize>,
    pub(super) lambda: Vec<f64>,
    inverse: Inverse,
    /// Entries of K of a constraint beside the active ones, and the inverse times them.
    beside: Vec<f64>,
    direction: Vec<f64>,
}

impl Work {
    /// The constraints that the last solution meets with equality, in no order.
    pub fn active(&self) -> &[usize] {
        &self.active
    }

    /// Their multipliers, of the constraints as they were given: Hx - f = Cᵀλ.
    pub fn multipliers(&self) -> &[f64] {
        &self.lambda
    }
}

/// The constraints as H sees them, each by its place j.
pub(super) trait Scaled {
    /// Makes j available to the others.
    fn admit(&mut self, j: usize);
    /// One over the length √(cⱼᵀH⁻¹cⱼ) of the constraint.
    fn scale(&self, j: usize) -> f64;
    /// How the minimum moves with the multiplier of ĉⱼ, cⱼ scaled to length 1: H⁻¹ĉⱼ, padded.
    fn step(&self, j: usize) -> &[f64];
    /// K of i and j, ĉᵢᵀH⁻¹ĉⱼ.
    fn gram(&self, i: usize, j: usize) -> f64;
}

/// A constraint that is violated.
#[derive(Clone, Copy)]
struct Violated {
    place: usize,
    slack: f64,
}

/// From the unconstrained minimum `work.x0` to the constrained one, `work.x`; leaves `active` and
/// `lambda`.
#[inline(always)]
pub(super) fn minimise(
    constraints: &Constraints,
    scaled: &mut impl Scaled,
    tolerance: f64,
    work: &mut Work,
) -> Outcome {
    let scale = work.begin(constraints);
    let least = -tolerance * scale;
    let mut rounds = 0;
    // All slacks are those of x, and of multipliers without rounding.
    let mut settled = true;
    let walked_to_its_end = loop {
        match work.most_violated(constraints, least) {
            Some(violated) if rounds < MOST_ROUNDS => {
                rounds += 1;
                work.take_in(constraints, scaled, violated);
                work.move_to(scaled);
                settled = false;
            }
            Some(_) => break false,
            None if settled => break true,
            // Rounding of many updates may have left multipliers a little off, or, rarely, one
            // that has to go; and blocks not looked at may have become violated.
            None => {
                work.correct(constraints, scaled);
                work.move_to(scaled);
                work.screen(constraints);
                settled = true;
            }
        }
    };
    let left = work.active.iter().zip(&work.lambda);
    let left = left.map(|(&j, l)| REGULARISATION * l.abs() / scaled.scale(j));
    let verdict = if !walked_to_its_end {
        Verdict::NotConverged
    } else if left.fold(0.0, f64::max) > INFEASIBLE * scale {
        Verdict::Infeasible
    } else if work.active.is_empty() {
        Verdict::Free
    } else {
        Verdict::Bound
    };
    let violation = work.violation(constraints);
    Outcome { verdict, rounds, violation: if scale > 0.0 { violation / scale } else { 0.0 } }
}

impl Work {
    /// At the unconstrained minimum, with no constraint active; returns the largest slack there, of
    /// either sign.
    #[inline(always)]
    fn begin(&mut self, constraints: &Constraints) -> f64 {
        self.active.clear();
        self.lambda.clear();
        self.inverse.clear();
        self.offsets.clear();
        self.offsets.extend_from_slice(&constraints.offsets);
        self.x.clear();
        self.x.extend_from_slice(&self.x0);
        self.screen(constraints)
    }

    /// Bounds the slacks of every block by a look in single precision, which takes half the memory's
    /// bandwidth; returns the largest of them, of either sign.
    #[inline(always)]
    fn screen(&mut self, constraints: &Constraints) -> f64 {
        self.single.clear();
        self.single.extend(self.x.iter().map(|&x| x as f32));
        let doubt = constraints.doubt(dot(&self.x, &self.x).sqrt());
        self.lowest.clear();
        let mut largest = 0.0;
        for block in 0..constraints.n_blocks() {
            let screened = constraints.screen(block, &self.single, doubt);
            self.lowest.push(screened.least);
            largest = f64::max(largest, screened.largest);
        }
        largest
    }

    /// The largest violation of any constraint, active ones included, or 0.
    #[inline(always)]
    fn violation(&self, constraints: &Constraints) -> f64 {
        let x = &self.x[..constraints.n_unknowns()];
        let of_active = self.active.iter().map(|&j| constraints.slack(constraints.order[j], x));
        let least = of_active.fold(0.0, f64::min);
        -self.lowest.iter().fold(least, |least, &low| f64::min(least, low))
    }

    /// The constraint to take in next: the most violated one, as far as is known. Only blocks that
    /// promise the worst, by what they were when last priced, are priced again: two of ten.
    #[inline(always)]
    fn most_violated(&mut self, constraints: &Constraints, least: f64) -> Option<Violated> {
        loop {
            let (mut block, mut known) = (None, least);
            for (b, &low) in self.lowest.iter().enumerate() {
                if low < known {
                    (block, known) = (Some(b), low);
                }
            }
            let block = block?;
            let slacks = constraints.block_of_slacks(block, &self.offsets, &self.x);
            let low = least_of(&slacks);
            self.lowest[block] = low;
            if low < least && self.lowest.iter().all(|&other| low <= other) {
                let within = slacks.iter().position(|&slack| slack == low)?;
                return Some(Violated { place: block * BLOCK + within, slack: low });
            }
        }
    }

    /// Raises the multiplier of a violated constraint until its slack is zero. The other multipliers
    /// follow so that theirs stay zero; one that would become negative is dropped on the way.
    #[inline(always)]
    fn take_in(&mut self, constraints: &Constraints, scaled: &mut impl Scaled, violated: Violated) {
        let j = violated.place;
        scaled.admit(j);
        let mut slack = violated.slack * scaled.scale(j);
        self.beside.clear();
        for &i in &self.active {
            self.beside.push(scaled.gram(j, i));
        }
        self.inverse.apply(&self.beside, &mut self.direction);
        let mut pivot = Inverse::pivot(&self.beside, &self.direction);
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
            self.remove(constraints, gone);
        }
        self.inverse.push(&self.direction, pivot);
        self.active.push(j);
        self.lambda.push(own);
        self.offsets[j] = f64::INFINITY;
    }

    #[inline(always)]
    fn remove(&mut self, constraints: &Constraints, gone: usize) {
        self.inverse.swap_remove(gone);
        self.lambda.swap_remove(gone);
        let j = self.active.swap_remove(gone);
        self.offsets[j] = constraints.offsets[j];
    }

    /// x = x₀ + H⁻¹Ĉᵀλ.
    #[inline(always)]
    fn move_to(&mut self, scaled: &impl Scaled) {
        let steps = self.active.iter().map(|&j| scaled.step(j));
        combine(steps.zip(&self.lambda), &mut self.x);
        self.x.iter_mut().zip(&self.x0).for_each(|(x, x0)| *x += x0);
    }

    /// One step of iterative refinement: λ -= M (s + ρλ) with the slacks s of the active
    /// constraints. What is negative then is dropped.
    #[inline(always)]
    fn correct(&mut self, constraints: &Constraints, scaled: &impl Scaled) {
        self.beside.clear();
        let x = &self.x[..constraints.n_unknowns()];
        for (&j, l) in self.active.iter().zip(&self.lambda) {
            let slack = constraints.slack(constraints.order[j], x);
            self.beside.push(slack * scaled.scale(j) + REGULARISATION * l);
        }
        self.inverse.apply(&self.beside, &mut self.direction);
        for (l, u) in self.lambda.iter_mut().zip(&self.direction) {
            *l -= u;
        }
        while let Some(gone) = self.lambda.iter().position(|l| *l < 0.0) {
            // The others take over what the dropped one held.
            self.inverse.project(gone, &mut self.lambda);
            self.remove(constraints, gone);
        }
    }
}
