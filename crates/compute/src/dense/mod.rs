//! Linear algebra of small dense matrices in `f64`, one at a time.
//!
//! Matrices are square, of `n` rows, row by row in one slice; arrays of arrays lend theirs by
//! `as_flattened`. For what is made once per fit or checks others: batches of systems have their own
//! code in lanes and kernels.
//!
//! * [`vector`]: products and lengths of vectors of any length;
//! * [`vec3`]: the same, and the cross product, in three dimensions;
//! * [`cholesky`]: factors, solutions and ranks of positive definite matrices;
//! * [`lu`]: solutions and inverses by elimination;
//! * [`jacobi`]: eigenpairs of symmetric matrices.

pub mod cholesky;
pub mod jacobi;
pub mod lu;
pub mod vec3;
pub mod vector;

#[cfg(test)]
mod testing;
