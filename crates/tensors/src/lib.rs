//! Symmetric tensors of any order and dimension, spherical harmonics, and eigenpairs.
//!
//! * [`layout`]: how a tensor is stored, by its unique entries.
//! * [`general`], [`tables`]: tensor times vector, from the definition and with precomputed tables;
//!   [`blocked`]: for many vectors in register tiles.
//! * [`unrolled`]: the same, written out for the forms of diffusion imaging.
//! * [`sh`]: spherical harmonics, and tensors as another way to write them.
//! * [`batch`]: SS-HOPM for batches of small tensors in f32, on threads and devices.
//! * [`peaks`]: every maximum of the form in every voxel of an image; [`peaks::low_rank`]: the form as
//!   a sum of few rank-one terms, where maxima have merged.
//! * [`problem`]: the eigenproblem A x^(m-1) = λ x at one point, in f64. From a [start](starts) go
//!   [`sshopm`] to a maximum or minimum, [`geap`] to one of A x^(m-1) = λ B x^(m-1), and [`newton`]
//!   to any pair; [`pairs`] finds all of a tensor, each with a certificate.
//! * [`lobes`]: which directions belong to which maximum of a density, and what each holds.
//! * [`samples`]: directions drawn from peaks and from functions, to be tracked.
//! * [`checks()`]: the device kernels against their oracles.
//!
//! Products, methods and searches are generic or `f64` and read like the papers; `batch`, `peaks` and
//! `unrolled` are what runs on images, and are tested against them.
//!
//! A tensor is stored by its unique entries in lexicographic order of their indices (1111 1112 …),
//! never multiplied by their multiplicities. Directions are in scanner RAS+ axes.
//!
//! # Example
//! The form x⁴ + y⁴ + z⁴ has its maxima along the axes, minima along the diagonals of space, and
//! saddles between two axes:
//!
//! ```
//! use fimbria_compute::Silent;
//! use fimbria_tensors::layout::Layout;
//! use fimbria_tensors::pairs::{Kind, PairFinder, Search};
//!
//! let layout = Layout::new(4, 3)?;
//! let mut a = vec![0.0; layout.len()];
//! for axis in 0..3 {
//!     a[layout.index_of(&[axis; 4])] = 1.0;
//! }
//! let finder = PairFinder::new(4, 3)?;
//! let found = finder.find(&a, None, 0, &Search::default(), &Silent)?;
//! assert_eq!(found.pairs.len(), 13);
//! let maxima: Vec<_> = found.pairs.iter().filter(|pair| pair.kind == Kind::Maximum).collect();
//! assert_eq!(maxima.len(), 3);
//! assert!(maxima.iter().all(|pair| (pair.lambda - 1.0).abs() < 1e-12));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # References
//! Ballard, Kolda, Plantenga 2011, Efficiently computing tensor eigenvalues on a GPU ("the paper");
//! Kolda, Mayo 2011, SIAM J. Matrix Anal. Appl. 32:1095 (SS-HOPM); Kolda, Mayo 2014, 35:1563
//! (adaptive shift, GEAP).

pub mod batch;
pub mod blocked;
mod checks;
#[cfg(test)]
mod dense;
pub mod functions;
pub mod geap;
pub mod general;
#[cfg(test)]
mod kernel_tests;
pub mod layout;
pub mod lobes;
pub mod newton;
pub mod pairs;
pub mod peaks;
pub mod problem;
pub mod samples;
mod scalar;
pub mod sh;
pub mod sshopm;
pub mod starts;
pub mod tables;
mod tangent;
#[cfg(test)]
mod testing;
pub mod unrolled;

pub use checks::checks;
pub use scalar::Scalar;
