//! Symmetric tensors of any order and dimension, spherical harmonics, and eigenpairs.
//!
//! A tensor is stored by its unique entries in lexicographic order of their indices (1111 1112 …),
//! never multiplied by their multiplicities. Directions are in scanner RAS+ axes.

use fimbria_compute::check::Check;

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    Vec::new()
}
