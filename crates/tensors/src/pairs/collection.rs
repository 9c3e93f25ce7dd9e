//! Pairs without repetition.

use super::Pair;
use super::kind::{Certificate, certify, choose_sign, sine_between};
use crate::newton::polish;
use crate::problem::{Form, Local, Problem};
use fimbria_compute::dense::vector::norm;

/// Eigenvectors closer than this are the same. Polished ones are known to 1e-15 over the smallest
/// eigenvalue of the Hessian, at least [`SINGULAR`]: to 1e-9.
const SAME_X: f64 = 1e-6;

/// Degenerate pairs with eigenvalues closer than this, relative to A's norm, are represented by
/// one: along a flat direction x is known to 1e-4 only, but λ to the fourth power of that.
const SAME_LAMBDA: f64 = 1e-7;

/// A pair of the scaled problem.
pub(crate) struct Member {
    pub(crate) pair: Pair,
    index: usize,
}

/// The pairs found so far.
pub(crate) struct Collection<'a> {
    /// With a norm of A near 1.
    problem: Problem<'a>,
    tolerance: f64,
    norm_a: f64,
    /// 0 where B is E, whose product with x has no rounding error.
    norm_b: f64,
    pub(crate) members: Vec<Member>,
}

impl<'a> Collection<'a> {
    /// No pairs yet of a problem whose A and B have norms near 1.
    pub(crate) fn new(problem: Problem<'a>, tolerance: f64) -> Self {
        let norm_a = norm_of(&problem.a);
        let norm_b = problem.b.map_or(0.0, |b| norm_of(&b));
        Self { problem, tolerance, norm_a, norm_b, members: Vec::new() }
    }

    /// Polishes x and keeps the pair unless it is there already; the number of the pair, none where
    /// its residual stays above the tolerance.
    pub(crate) fn add(&mut self, x: &mut [f64], local: &mut Local) -> Option<usize> {
        let order = self.problem.a.order();
        let known = |members: &[Member], x: &[f64], lambda: f64| {
            members.iter().position(|Member { pair, .. }| {
                let either_sign = order.is_multiple_of(2) || lambda.abs() <= SAME_LAMBDA;
                same_lambda(pair.lambda, lambda) && sine_between(&pair.x, x, either_sign) <= SAME_X
            })
        };
        polish(self.problem, x, local);
        let mut lambda = local.lambda;
        choose_sign(order, &mut lambda, x);
        // The derivatives, too, may have changed their signs.
        self.problem.evaluate(x, local);
        let residual = norm(&local.residual);
        let tolerance = self.tolerance * (self.norm_a + lambda.abs() * self.norm_b);
        if residual.is_nan() || residual > tolerance {
            return None;
        }
        if let Some(place) = known(&self.members, x, lambda) {
            return Some(place);
        }
        let Certificate { kind, index, degenerate } = certify(self.problem, x, local);
        if degenerate {
            let represented = self.members.iter().position(|Member { pair, .. }| {
                pair.degenerate && same_lambda(pair.lambda, lambda)
            });
            if represented.is_some() {
                return represented;
            }
        }
        let pair = Pair { lambda, x: x.to_vec(), kind, residual, degenerate };
        self.members.push(Member { pair, index });
        Some(self.members.len() - 1)
    }

    /// False where the pairs cannot be all.
    pub(crate) fn is_balanced(&self) -> bool {
        let (order, n) = (self.problem.a.order(), self.problem.dimension());
        let undecided = n % 2 == 0 && order % 2 == 1;
        if undecided || self.members.iter().any(|member| member.pair.degenerate) {
            return true;
        }
        let sign = |member: &Member| if member.index.is_multiple_of(2) { 1 } else { -1 };
        let sum: i64 = self.members.iter().map(sign).sum();
        // The index of a minimum is 0, of a maximum n - 1.
        sum == i64::from(n % 2 == 1)
    }
}

fn same_lambda(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME_LAMBDA * (1.0 + a.abs())
}

/// The Frobenius norm, over all n^m entries.
pub(crate) fn norm_of(form: &Form<'_>) -> f64 {
    frobenius(&form.layout().multiplicities(), form.entries())
}

/// The Frobenius norm of the tensor with these unique entries.
pub(crate) fn frobenius(multiplicities: &[f64], entries: &[f64]) -> f64 {
    let terms = multiplicities.iter().zip(entries);
    terms.map(|(count, entry)| count * entry * entry).sum::<f64>().sqrt()
}
