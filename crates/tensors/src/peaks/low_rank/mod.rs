//! A form of even order as a sum of few rank-one terms: fibre directions where maxima have merged.
//!
//! Of a form A of order m the terms `λ₁ v₁^m + … + λₖ vₖ^m`, λ ≥ 0, are sought that come nearest to
//! it, where the distance of two forms is that of their tensors, every unique entry counted by its
//! multiplicity. Where each fibre contributes a rank-one term the terms are the fibres, also at
//! crossing angles at which the form has a single maximum (Schultz, Seidel, "Estimating crossing
//! fibers: a tensor decomposition approach", IEEE Trans Vis Comput Graph 14, 1635 (2008); Jiao, Gur,
//! Johnson, Joshi, IPMI (2011)).
//!
//! The search is greedy: the largest maximum of what is left is the next term; then, in turn, every
//! term is put back, climbs to the maximum of the rest that it is nearest to, and is taken out with
//! its new value, until nothing moves. Each of these steps brings the sum nearer. [`decompose`] does
//! so for one form in `f64`, plainly; [`find_low_rank`] for an image, one voxel
//! in each lane.

mod fibre;
mod find;
mod oracle;
mod tile;

pub use fibre::Fibre;
pub use find::find_low_rank;
pub use oracle::{Decomposition, Term, decompose};

#[cfg(test)]
mod tests;
