//! The walk over active sets that solves the dual.

use super::Constraints;
use super::inverse::{Inverse, REGULARISATION};
use super::metric::combine;
use super::pricing::{Pricing, Violated};
use super::sums::dot;

/// Constraints taken in after which a programme is given up; a hard one takes two hundred.
const MOST_ROUNDS: u32 = 5000;
/// Constraints taken in after which rounding may lead the walk in circles: the inverse is formed anew.
const MANY_ROUNDS: u32 = 250;
/// Constraints taken in that leave no more rounding than the tolerance allows.
const FEW_ROUNDS: u32 = 6;
/// Square distance from the active constraints below which one follows from them and takes the place of one.
pub const DEPENDENT: f64 = 1e-9;
/// Square distance from the active constraints below which rounding of the inverse could hide that one follows from
/// them.
pub const NEAR: f64 = 1e-5;
/// Times that rounding may spoil the inverse of a programme.
const MOST_RENEWALS: u32 = 20;
/// What regularisation may leave violated of the scale of a programme that has a solution.
const INFEASIBLE: f64 = 1e-6;

/// How a programme ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No constraint binds: the unconstrained minimum.
    Free,
    /// The minimum, on one constraint at least.
    Bound,
    /// No x satisfies all constraints, or only one far away; x is the last point.
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
    /// The largest violation of a constraint, relative to the size of slacks (of either sign) at the
    /// unconstrained minimum.
    pub violation: f64,
}

/// The active set and the point that belongs to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    /// The unconstrained minimum and the current point, padded.
    pub(super) x0: Vec<f64>,
    pub(super) x: Vec<f64>,
    /// The active constraints, and the multipliers of these scaled to length 1.
    pub(super) active: Vec<usize>,
    pub(super) lambda: Vec<f64>,
    pub(super) inverse: Inverse,
    /// Entries of K of a constraint beside the active ones, and the inverse times them.
    pub(super) beside: Vec<f64>,
    pub(super) direction: Vec<f64>,
    /// What is left of such a constraint, and by how much that turns `direction`.
    left: Vec<f64>,
    refinement: Vec<f64>,
}

/// The constraints as H sees them, each by its number j.
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

/// From where `walk` stands, the minimum over its active constraints, to the minimum over all, `walk.x`; leaves
/// `active` and `lambda`. `scale` is the size of slacks at the unconstrained minimum.
#[inline(always)]
pub(super) fn minimise<P: Pricing>(
    constraints: &Constraints,
    scaled: &mut impl Scaled,
    pricing: &mut P,
    (scale, tolerance): (f64, f64),
    walk: &mut Walk,
) -> Outcome {
    let least = -tolerance * scale;
    let (mut rounds, mut renewals, mut last_failed) = (0, 0, None);
    // All slacks are those of x, and of multipliers without rounding.
    let mut settled = walk.active.is_empty();
    let verdict = loop {
        match pricing.most_violated(&walk.x, least) {
            Some(violated) if rounds < MOST_ROUNDS && renewals < MOST_RENEWALS => {
                rounds += 1;
                let is_in = walk.take_in(scaled, pricing, violated);
                let failed = (!is_in).then_some(violated.constraint);
                if failed.is_some() || rounds.is_multiple_of(MANY_ROUNDS) {
                    walk.form_inverse(scaled, |j| pricing.set_active(j, false));
                    walk.move_to(scaled);
                    walk.correct(constraints, scaled, pricing);
                    renewals += u32::from(!is_in);
                }
                walk.move_to(scaled);
                settled = false;
                if failed.is_some() && last_failed == failed {
                    // It was not rounding that kept it out.
                    break Verdict::Infeasible;
                }
                last_failed = failed;
            }
            Some(_) => break Verdict::NotConverged,
            None if settled || P::MISSES_NONE && rounds <= FEW_ROUNDS => {
                break walk.verdict(scaled, scale);
            }
            // Rounding of many updates may have left multipliers a little off, or, rarely, one
            // that has to go; and blocks not looked at may have become violated.
            None => {
                walk.correct(constraints, scaled, pricing);
                walk.move_to(scaled);
                pricing.look_again(&walk.x);
                settled = true;
            }
        }
    };
    let violation = walk.violation(constraints, pricing);
    let violation = if scale > 0.0 { violation / scale } else { 0.0 };
    let is_good = violation <= INFEASIBLE.max(tolerance) && walk.x.iter().all(|x| x.is_finite());
    let has_ended = matches!(verdict, Verdict::Free | Verdict::Bound);
    let verdict = if has_ended && !is_good { Verdict::NotConverged } else { verdict };
    Outcome { verdict, rounds, violation }
}

impl Walk {
    /// At the unconstrained minimum, with no constraint active; returns the size of slacks there.
    #[inline(always)]
    pub(super) fn begin(&mut self, pricing: &mut impl Pricing) -> f64 {
        self.active.clear();
        self.lambda.clear();
        self.inverse.clear();
        self.x.clear();
        self.x.extend_from_slice(&self.x0);
        pricing.begin(&self.x)
    }

    /// How a walk to its end came out.
    #[inline(always)]
    fn verdict(&self, scaled: &impl Scaled, scale: f64) -> Verdict {
        let left = self.active.iter().zip(&self.lambda);
        let left = left.map(|(&j, l)| REGULARISATION * l.abs() / scaled.scale(j));
        if left.fold(0.0, f64::max) > INFEASIBLE * scale {
            Verdict::Infeasible
        } else if self.active.is_empty() {
            Verdict::Free
        } else {
            Verdict::Bound
        }
    }

    /// The largest violation of any constraint, active ones included, or 0.
    #[inline(always)]
    fn violation(&self, constraints: &Constraints, pricing: &impl Pricing) -> f64 {
        let x = &self.x[..constraints.n_unknowns()];
        let of_active = self.active.iter().map(|&j| constraints.slack(j, x));
        -of_active.fold(pricing.lowest().min(0.0), f64::min)
    }

    /// Raises the multiplier of a violated constraint until its slack is zero. The other multipliers
    /// follow so that theirs stay zero; one that would become negative is dropped on the way. False where
    /// the constraint follows from active ones of which none yields: it contradicts them, or rounding has
    /// spoilt the inverse. Multipliers are then those of no minimum.
    #[inline(always)]
    fn take_in(
        &mut self,
        scaled: &mut impl Scaled,
        pricing: &mut impl Pricing,
        violated: Violated,
    ) -> bool {
        let j = violated.constraint;
        scaled.admit(j);
        let mut slack = violated.slack * scaled.scale(j);
        let mut pivot = self.look_at(j, scaled);
        let mut own = 0.0;
        loop {
            let mut step = -slack / pivot;
            let mut blocking = None;
            for (i, (l, u)) in self.lambda.iter().zip(&self.direction).enumerate() {
                if *u > 0.0 && *l < step * u {
                    (step, blocking) = (l / u, Some(i));
                }
            }
            // No step would make the slack of a constraint zero that follows from the active ones, and with
            // all of them the inverse would be rounding alone.
            if pivot < DEPENDENT {
                let Some((raised, i)) = self.first_to_yield() else { return false };
                (step, blocking) = (raised, Some(i));
            }
            for (l, u) in self.lambda.iter_mut().zip(&self.direction) {
                *l -= step * u;
            }
            own += step;
            let Some(gone) = blocking else { break };
            slack += step * pivot;
            pivot += self.inverse.project(gone, &mut self.direction);
            self.direction.swap_remove(gone);
            self.remove(pricing, gone);
        }
        self.bind(j, own, pivot);
        pricing.set_active(j, true);
        true
    }

    /// The first active constraint whose multiplier comes to zero as that of the constraint last looked at
    /// rises, and how far it has risen then.
    #[inline(always)]
    pub(super) fn first_to_yield(&self) -> Option<(f64, usize)> {
        let mut first = None;
        for (i, (l, u)) in self.lambda.iter().zip(&self.direction).enumerate() {
            if *u > DEPENDENT.sqrt() && first.is_none_or(|(least, _)| l / u < least) {
                first = Some((l / u, i));
            }
        }
        first
    }

    /// Constraint `j` beside the active ones: `direction` is how their multipliers would follow its own. Returns
    /// the square of its distance from them.
    #[inline(always)]
    pub(super) fn look_at(&mut self, j: usize, scaled: &impl Scaled) -> f64 {
        self.beside.clear();
        for &i in &self.active {
            self.beside.push(scaled.gram(j, i));
        }
        self.inverse.apply(&self.beside, &mut self.direction);
        let pivot = Inverse::pivot(&self.beside, &self.direction);
        if pivot < NEAR { self.look_closer(scaled) } else { pivot }
    }

    /// The same by what is left of the constraint, a - (K + ρI)u for its u: the error of the distance is of second
    /// order in that of u, which is refined. Below zero where the inverse is too spoilt for that.
    fn look_closer(&mut self, scaled: &impl Scaled) -> f64 {
        let Self { active, inverse, beside, direction, left, refinement, .. } = self;
        let mut last = f64::INFINITY;
        for _ in 0..2 {
            left.clear();
            for (&i, (a, u)) in active.iter().zip(beside.iter().zip(&*direction)) {
                let held = active.iter().zip(&*direction).map(|(&k, u)| scaled.gram(i, k) * u);
                left.push(a - held.sum::<f64>() - REGULARISATION * u);
            }
            // No other u is as near as the right one.
            let square = Inverse::pivot(beside, direction) - dot(direction, left);
            if square > last + DEPENDENT {
                return -1.0;
            }
            last = square;
            inverse.apply(left, refinement);
            direction.iter_mut().zip(&*refinement).for_each(|(u, more)| *u += more);
        }
        last
    }

    /// Makes the constraint last looked at active.
    #[inline(always)]
    pub(super) fn bind(&mut self, j: usize, multiplier: f64, pivot: f64) {
        self.inverse.push(&self.direction, pivot);
        self.active.push(j);
        self.lambda.push(multiplier);
    }

    #[inline(always)]
    fn remove(&mut self, pricing: &mut impl Pricing, gone: usize) {
        self.inverse.swap_remove(gone);
        self.lambda.swap_remove(gone);
        let j = self.active.swap_remove(gone);
        pricing.set_active(j, false);
    }

    /// The inverse from K itself, without what rounding has left in it. Constraints that follow from those
    /// before them are let go, and handed to `gone`.
    #[inline(always)]
    pub(super) fn form_inverse(&mut self, scaled: &impl Scaled, mut gone: impl FnMut(usize)) {
        let active = std::mem::take(&mut self.active);
        let lambda = std::mem::take(&mut self.lambda);
        self.inverse.clear();
        for (&j, &multiplier) in active.iter().zip(&lambda) {
            let pivot = self.look_at(j, scaled);
            if pivot >= DEPENDENT {
                self.bind(j, multiplier, pivot);
            } else {
                gone(j);
            }
        }
    }

    /// x = x₀ + H⁻¹Ĉᵀλ.
    #[inline(always)]
    pub(super) fn move_to(&mut self, scaled: &impl Scaled) {
        let steps = self.active.iter().map(|&j| scaled.step(j));
        combine(steps.zip(&self.lambda), &mut self.x);
        self.x.iter_mut().zip(&self.x0).for_each(|(x, x0)| *x += x0);
    }

    /// One step of iterative refinement: λ -= M (s + ρλ) with the slacks s of the active
    /// constraints. What is negative then is dropped.
    #[inline(always)]
    fn correct(
        &mut self,
        constraints: &Constraints,
        scaled: &impl Scaled,
        pricing: &mut impl Pricing,
    ) {
        self.beside.clear();
        let x = &self.x[..constraints.n_unknowns()];
        for (&j, l) in self.active.iter().zip(&self.lambda) {
            let slack = constraints.slack(j, x);
            self.beside.push(slack * scaled.scale(j) + REGULARISATION * l);
        }
        self.inverse.apply(&self.beside, &mut self.direction);
        for (l, u) in self.lambda.iter_mut().zip(&self.direction) {
            *l -= u;
        }
        while let Some(gone) = self.lambda.iter().position(|l| *l < 0.0) {
            // The others take over what the dropped one held.
            self.inverse.project(gone, &mut self.lambda);
            self.remove(pricing, gone);
        }
    }
}
