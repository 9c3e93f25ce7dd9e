//! Symmetric tensors of any order and dimension, spherical harmonics, and eigenpairs.
//!
//! * [`layout`]: how a tensor is stored, by its unique entries.
//! * [`general`], [`tables`], [`dense`]: tensor times vector, from the definition, with precomputed
//!   tables, and without symmetry; [`blocked`]: for many vectors in register tiles.
//! * [`unrolled`]: the same, written out for the forms of diffusion imaging.
//! * [`sh`]: spherical harmonics, and tensors as another way to write them.
//! * [`batch`]: SS-HOPM for batches of small tensors in f32.
//! * [`peaks`]: every maximum of the form in every voxel of an image.
//! * [`problem`], [`sshopm`], [`geap`], [`newton`]: the eigenproblem at one point, and the methods
//!   that go from a [start](starts) to a pair; [`pairs`]: all pairs of a tensor.
//!
//! A tensor is stored by its unique entries in lexicographic order of their indices (1111 1112 …),
//! never multiplied by their multiplicities. Directions are in scanner RAS+ axes.

pub mod batch;
pub mod blocked;
mod checks;
pub mod dense;
pub mod geap;
pub mod general;
#[cfg(test)]
mod kernel_tests;
pub mod layout;
mod linalg;
pub mod newton;
pub mod pairs;
pub mod peaks;
pub mod problem;
mod scalar;
pub mod sh;
pub mod sshopm;
pub mod starts;
pub mod tables;
#[cfg(test)]
mod testing;
pub mod unrolled;

pub use checks::checks;
pub use scalar::Scalar;
