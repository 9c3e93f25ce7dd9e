//! Vector spaces with what solvers need at the bounds x ≥ 0.

mod host;

use fimbria_compute::operator::VectorSpace;

/// A [`VectorSpace`] in which x ≥ 0 can be kept to.
pub trait OrthantSpace: VectorSpace {
    /// Sets elements of `v` to zero where `x` is zero and `g` positive: where a step along -g
    /// would leave the orthant. Applied to the gradient it leaves the projected gradient.
    ///
    /// # Errors
    /// Where the device fails.
    fn hold(
        &self,
        x: &Self::Vector,
        g: &Self::Vector,
        v: &mut Self::Vector,
    ) -> Result<(), Self::Error>;

    /// Sets elements of `v` to zero where `x` is zero: what is left lies in the face of `x`.
    ///
    /// # Errors
    /// Where the device fails.
    fn restrict_to_face(&self, x: &Self::Vector, v: &mut Self::Vector) -> Result<(), Self::Error>;

    /// The longest step a for which `x - a p` is not negative; infinite where every one is.
    ///
    /// # Errors
    /// Where the device fails.
    fn longest_step(&self, x: &Self::Vector, p: &Self::Vector) -> Result<f64, Self::Error>;
}
