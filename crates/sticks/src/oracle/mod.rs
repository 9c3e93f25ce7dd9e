//! The sampler as its formulas read, one voxel in `f64`: what every test holds the others to.
//! [`rules`](crate::rules) states them.

mod chain;
mod learnt;
mod posterior;

pub(crate) use chain::{Chain, Voxel};
pub(crate) use posterior::Posterior;
#[cfg(test)]
pub(crate) use posterior::ln_i0e;

#[cfg(test)]
mod tests;
