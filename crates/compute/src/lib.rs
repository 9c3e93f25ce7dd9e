//! Where fimbria's work runs.
//!
//! * [`Workers`]: a pool of threads and the [`SimdLevel`] they run at, passed to every function
//!   that works in parallel; nothing is global.
//! * [`Progress`]: how a long computation says how far it is and learns that it should stop.
//! * [`operator`]: the traits solvers are generic over; [`comm`]: several processes as one.
//!
//! This crate knows nothing of images or diffusion.

pub mod comm;
pub mod operator;
mod progress;
mod simd;
mod workers;

pub use progress::{Interrupted, Progress, Silent};
pub use simd::SimdLevel;
pub use workers::{Workers, WorkersError};
