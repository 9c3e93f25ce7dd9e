//! Products with M that never form it: y = M w, w = M'y and g = M'(M w - b).
//!
//! # Counting
//! An entry of Φ costs r multiply-adds in each direction (r = rank of the dictionary), and its
//! column of 4 r bytes must come from a cache or memory, beside 12 bytes of indices and value. All
//! else is small: y has r numbers for each voxel, with a hundred entries, and w is short. So the
//! products are bound by the reading of columns, and what helps is
//!
//! * few and short columns: [`Basis`](crate::Basis), atoms numbered by use, padding to 16 only;
//! * reading them once for both directions: [`gradient`](LinearOperator::gradient) makes a voxel's
//!   residual and at once the products of the same columns with it, which then come from the first
//!   caches. Residuals are never stored;
//! * leaving out streamlines whose weight stays zero ([`DealtProduct::restrict`]), rather than asking at
//!   every entry: where half of the weights are zero, wrong guesses cost half as much again.
//!
//! # Order
//! Entries are stored once, voxel by voxel, along a curve that keeps neighbours together, and cut
//! into [`Blocks`] of about 8,000 entries. Within a block streamlines have short numbers of their
//! own: its weights are gathered once, its sums are its own, and the sums of all blocks are added
//! exactly, by streamline, in f64. So there is no second, streamline-major copy of the entries, no
//! two threads write the same number, nothing is atomic, and results have the same bits for any
//! number of threads, any fusing SIMD level, and any number of devices and processes that share the
//! blocks: each device has an even share of them ([`DealtProduct`]).
//!
//! # Devices
//! Solvers have their vectors in host memory: weights are few beside entries. A device has its blocks
//! once for a run and leaves columns out by itself; a product takes one write of weights and one read of
//! sums, with the size of the largest. From the largest of all parts the lattice of exact sums follows; a
//! part whose own was finer adds up once more. So a device that is lost takes nothing along that is not
//! elsewhere.

mod blocks;
mod columns;
mod curve;
mod dealt;
mod holders;
mod kernel;
mod on_device;
mod on_device_entries;
mod on_threads;
mod parts;
mod sample;

pub(crate) use blocks::BLOCK;
pub use blocks::Blocks;
pub(crate) use curve::key;
pub use dealt::DealtProduct;
pub(crate) use on_device::kernel_source;
pub(crate) use on_device_entries::restriction_source;
use parts::Kept;

use fimbria_compute::operator::{LinearOperator, VectorSpace};

#[cfg(test)]
mod tests;

/// How large the largest number is of all processes, from that of this one. All of them ask at the
/// same time.
pub type Agree<'a> = &'a dyn Fn(f64) -> f64;

/// M of some voxels, whose products with M' can be added to those of other voxels before anything
/// is rounded to f32. What it gives adds up exactly, in any order: by [`DealtProduct`] the sums of
/// all voxels have the same bits however these are shared out.
pub trait PartialProduct: LinearOperator {
    /// M'y.
    ///
    /// # Errors
    /// Where the device fails.
    fn adjoint_sums(
        &self,
        y: &<Self::Range as VectorSpace>::Vector,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<(), <Self::Domain as VectorSpace>::Error>;

    /// M'(M x - b), without b where there is none, returning two numbers whose sum is ‖M x - b‖².
    ///
    /// # Errors
    /// Where the device fails.
    fn gradient_sums(
        &self,
        x: &<Self::Domain as VectorSpace>::Vector,
        b: Option<&<Self::Range as VectorSpace>::Vector>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<[f64; 2], <Self::Domain as VectorSpace>::Error>;

    /// Two numbers whose sum is ‖M x‖².
    ///
    /// # Errors
    /// Where the device fails.
    fn squares_sums(
        &self,
        x: &<Self::Domain as VectorSpace>::Vector,
        agree: Agree<'_>,
    ) -> Result<[f64; 2], <Self::Domain as VectorSpace>::Error>;

    /// Two numbers whose sum is the inner product of vectors over voxels.
    ///
    /// # Errors
    /// Where the device fails.
    fn dot_sums(
        &self,
        x: &<Self::Range as VectorSpace>::Vector,
        y: &<Self::Range as VectorSpace>::Vector,
        agree: Agree<'_>,
    ) -> Result<[f64; 2], <Self::Domain as VectorSpace>::Error>;
}
