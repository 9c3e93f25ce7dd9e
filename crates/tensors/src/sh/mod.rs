//! Real even spherical harmonics, and homogeneous forms as another way to write them.
//!
//! A function on the sphere with `f(x) = f(-x)` is a sum of spherical harmonics of even degree l up
//! to `lmax`, or, with the same number of coefficients, a homogeneous polynomial of degree `lmax` in
//! the components of x: a symmetric tensor. [`ShToForm`] goes from one to the other exactly.
//!
//! * [`ShBasis`]: the conventions of MRtrix3 and DIPY; inside fimbria it is MRtrix3's;
//! * [`evaluate`]: the basis functions in one direction;
//! * [`ShToForm`]: coefficients ↔ unique entries.

mod basis;
mod evaluate;
mod form;
mod polynomial;

pub use basis::{ShBasis, UnknownShBasis, lmax_of_count, sh_count};
pub use evaluate::evaluate;
pub use form::{ShError, ShToForm};

#[cfg(test)]
mod tests;
