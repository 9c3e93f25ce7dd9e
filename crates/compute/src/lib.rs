//! Where fimbria's work runs.
//!
//! * [`Workers`]: a pool of threads and the [`SimdLevel`] they run at, passed to every function
//!   that works in parallel; nothing is global.
//! * [`Real`]: mathematics written once for one `f32` and for [`Lanes`] of a SIMD register.
//! * [`Progress`]: how a long computation says how far it is and learns that it should stop.
//! * [`operator`]: the traits solvers are generic over; [`comm`]: several processes as one.
//!
//! This crate knows nothing of images or diffusion.

pub mod comm;
mod lanes;
pub mod operator;
mod progress;
mod real;
mod simd;
mod workers;

pub use lanes::{LaneMask, Lanes, Words};
pub use progress::{Interrupted, Progress, Silent};
pub use real::{Mask, Real, Word};
pub use simd::SimdLevel;
pub use workers::{Workers, WorkersError};
