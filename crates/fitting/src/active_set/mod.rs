//! Convex quadratic programmes with inequality constraints, many small ones alike:
//! minimise ½ xᵀHx - fᵀx subject to Cx ≥ d, with H positive definite.
//!
//! Inequality-constrained least squares min ‖Ax - b‖² is the case H = AᵀA, f = Aᵀb.
//!
//! # The method
//! A programme is the projection of x₀ = H⁻¹f onto the polyhedron {x : Cx ≥ d} in the metric of H.
//! With Ĉ the constraints scaled to length 1 there, cᵢᵀH⁻¹cᵢ = 1, its dual has one non-negative
//! multiplier for each constraint: minimise ½λᵀKλ + λᵀ(Ĉx₀ - d̂) over λ ≥ 0 with K = ĈH⁻¹Ĉᵀ, and
//! x = x₀ + H⁻¹Ĉᵀλ. It is solved by the dual active set method of Goldfarb and Idnani (Math.
//! Program. 27, 1 (1983)): the most violated constraint is taken in, constraints whose multipliers
//! reach zero on the way are dropped, and every point on the walk is the minimum over its active
//! constraints, so that none comes twice and the walk ends. The inverse of K over the active
//! constraints is kept up to date, which makes a step cost k² for k of them, and once more at the end
//! the multipliers are corrected by their residual. Slacks are priced as Cx - d, so that of H⁻¹Ĉᵀ and
//! K only rows of constraints that come in are ever needed.
//!
//! # From a guess
//! Of 93 unknowns of a typical deconvolution 84 are bound at the solution, and a walk takes in 270
//! constraints to bind them. Where H is shared it need not begin with none: 120 rounds of splitting,
//! two products with one matrix for many programmes at a time, guess which are active, and a path of
//! programmes leads from the guess to the solution with some 30 changes. The walk has the last word,
//! so that a guess decides how long it takes and not what comes out. (Taking in several constraints at
//! once was tried and undone nine times in ten; dropping all of a guess whose multipliers are negative
//! drops those that belong there; Newton steps on the same guesses take more than thirty.)
//!
//! Whatever decides is in f64, and vectors run along the constraints: the inner loops are unit-stride and
//! the same bits come out at every SIMD level (products and sums are rounded separately; sums have
//! a fixed order). Call [`SharedProgramme::solve`] and [`Programme::solve`] inside
//! [`SimdLevel::run`](fimbria_compute::SimdLevel::run) to have them compiled for its instructions.
//!
//! * [`Constraints`]: C and d, which all programmes share;
//! * [`SharedProgramme`]: one H for many f; H⁻¹ and K are formed once;
//! * [`Splitting`], [`Guess`]: approximate solutions of such programmes, side by side, and
//!   [`improve`](SharedProgramme::improve) from there;
//! * [`Programme`]: an H of its own for each problem; [`invert`] prepares several at a time;
//! * [`Pricing`]: how violated constraints are found, for those that know a faster way than to
//!   multiply by all of C;
//! * [`Work`]: working memory of a thread, which also carries the multipliers;
//! * [`kkt`]: how far a point is from satisfying the optimality conditions, from their definition.

mod constraints;
mod dual;
mod inverse;
mod kkt;
mod metric;
mod path;
mod pricing;
mod programme;
mod splitting;
mod sums;
#[cfg(test)]
mod tests;

pub use constraints::Constraints;
pub use dual::{DEPENDENT, NEAR, Outcome, Verdict};
pub use inverse::REGULARISATION;
pub use kkt::{KktResidual, kkt};
pub use metric::invert;
pub use pricing::{Pricing, Violated};
pub use programme::{Programme, SharedProgramme, Work};
pub use splitting::{Guess, Guesses, Splitting};

/// What can be wrong with a programme.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ActiveSetError {
    /// Lengths do not agree.
    #[error("{what} has {found} numbers where {expected} are needed")]
    Shape {
        /// What has the wrong length.
        what: &'static str,
        /// Numbers it has.
        found: usize,
        /// Numbers it needs.
        expected: usize,
    },
    /// A constraint that says nothing about x.
    #[error("constraint {0} is zero or not finite")]
    EmptyConstraint(usize),
    /// H is not positive definite to rounding.
    #[error("the quadratic form is not positive definite")]
    NotPositiveDefinite,
}
