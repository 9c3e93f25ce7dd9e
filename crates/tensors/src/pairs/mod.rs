//! All real eigenpairs of a symmetric tensor that a search finds, each with a certificate.
//!
//! A [`PairFinder`] of one order and dimension follows many starts with Newton's method, half of
//! them after some iterations of the shifted power method of either sign, polishes what converges
//! to machine precision, drops repetitions, and classifies each pair by the eigenvalues of its
//! projected Hessian. Orders above 2 are searched, order 2 is solved as a matrix.
//!
//! # Which of x and -x
//! Of even order they are the same pair; the one whose component of largest magnitude is positive
//! is returned. Of odd order (λ, x) and (-λ, -x) are the same; the one with λ >= 0 is returned.
//!
//! # How many
//! Generically a tensor has ((m - 1)ⁿ - 1) / (m - 2) complex pairs (Cartwright and Sturmfels 2013),
//! [`most_pairs`]; the real ones are found with a probability that grows with the starts. In odd
//! dimensions a necessary condition is checked, too: with i the number of negative eigenvalues of
//! the projected Hessian, Σ (-1)ⁱ over all pairs is 1 (Morse: the Euler characteristic of the
//! sphere is 2, and of x and -x either both or, for odd order, both parities count alike); in even
//! dimensions and even order it is 0. Where [`Found::balanced`] is false, pairs are missing for
//! certain.
//!
//! # Degenerate pairs
//! Where the projected Hessian is singular ([`Pair::degenerate`]) the pair may be one of a
//! continuum: every x for the tensor E, a circle for rank-1 tensors. One representative of all
//! degenerate pairs with the same λ is returned. Its kind is read from the values of λ nearby, not
//! from second derivatives: no certificate, and "maximum" where λ is constant. Of order 2 every
//! eigenvector of an orthonormal basis is returned instead, repeated eigenvalues being degenerate.

mod collection;
mod error;
mod extremes;
mod finder;
mod kind;
mod matrix;
#[cfg(test)]
mod tests;

pub use error::PairsError;
pub use extremes::{Extremes, ExtremesError, find_extremes};
pub use finder::{PairFinder, Reached, Search};

/// What an eigenvector is for λ on the unit sphere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A local maximum.
    Maximum,
    /// A local minimum.
    Minimum,
    /// Neither.
    Saddle,
}

impl Kind {
    /// In small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::Saddle => "saddle",
        }
    }
}

/// A real eigenpair.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The eigenvalue.
    pub lambda: f64,
    /// The eigenvector, of length 1.
    pub x: Vec<f64>,
    /// What it is.
    pub kind: Kind,
    /// ‖A xᵐ⁻¹ - λ x‖ or ‖A xᵐ⁻¹ - λ B xᵐ⁻¹‖, in the unit of A.
    pub residual: f64,
    /// True where the projected Hessian is singular to 1e-6 of A's norm: `kind` is no certificate,
    /// and others of the same λ may have been left out.
    pub degenerate: bool,
}

/// What a search for all pairs found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The pairs, largest λ first.
    pub pairs: Vec<Pair>,
    /// False where the pairs cannot be all, by the alternating sum of their Hessians' indices.
    pub balanced: bool,
    /// Starts that were followed.
    pub starts: usize,
}

/// The generic number of complex pairs, ((m - 1)ⁿ - 1) / (m - 2), n for order 2: a bound on the
/// number of isolated real pairs; `usize::MAX` where it is beyond that.
pub fn most_pairs(order: usize, dimension: usize) -> usize {
    // The sum of the geometric series 1 + (m - 1) + … of n terms.
    let ratio = order.saturating_sub(1);
    (0..dimension)
        .try_fold(0usize, |sum, _| sum.checked_mul(ratio)?.checked_add(1))
        .unwrap_or(usize::MAX)
}
