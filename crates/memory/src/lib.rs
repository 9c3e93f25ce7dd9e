//! Memory that can be refused.
//!
//! * [`try_zeros`], [`try_vec`]: blocks whose size comes from input; where there is
//!   not enough memory they are an error, not an abort. [`zeros`] are for sizes that follow from
//!   what is held already. [`give_back`] returns what was freed.
//! * [`Heap`]: the allocator of a program. It counts what is held, keeps to a limit, and gives a
//!   program the chance to clean up where a block is refused that nobody expected to be.
//!
//! This crate knows nothing of images, threads or commands.

mod blocks;
mod heap;

pub use blocks::{Refused, give_back, try_vec, try_zeros, zeros};
pub use heap::{Heap, Refusal};
