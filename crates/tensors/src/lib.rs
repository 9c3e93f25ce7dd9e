//! Symmetric tensors of any order and dimension, spherical harmonics, and eigenpairs.
//!
//! * [`layout`]: how a tensor is stored, by its unique entries.
//! * [`general`], [`tables`], [`dense`]: tensor times vector, from the definition, with precomputed
//!   tables, and without symmetry.
//! * [`sh`]: spherical harmonics, and tensors as another way to write them.
//!
//! A tensor is stored by its unique entries in lexicographic order of their indices (1111 1112 …),
//! never multiplied by their multiplicities. Directions are in scanner RAS+ axes.

pub mod dense;
pub mod general;
#[cfg(test)]
mod kernel_tests;
pub mod layout;
mod scalar;
pub mod sh;
pub mod tables;
#[cfg(test)]
mod testing;

use fimbria_compute::check::Check;

pub use scalar::Scalar;

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    Vec::new()
}
