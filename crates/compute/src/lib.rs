//! Where fimbria's work runs.
//!
//! * [`Workers`]: a pool of threads and the [`SimdLevel`] they run at, passed to every function
//!   that works in parallel; nothing is global.
//! * [`Real`]: mathematics written once for one `f32` and for [`Lanes`] of a SIMD register.
//! * [`math`]: elementary functions, the same bits on CPU and in kernels.
//! * [`fft`]: Fourier transforms of lines and volumes.
//! * [`dense`]: small dense matrices, one at a time;
//! * [`philox`]: random numbers keyed by what they are for.
//! * [`Progress`]: how a long computation says how far it is and learns that it should stop.
//! * [`operator`]: the traits solvers are generic over, over vectors in a [`HostSpace`] or on a
//!   device; [`comm`]: several processes as one.
//! * [`device`]: GPUs over OpenCL and CUDA, running kernels written in one [`dialect`];
//!   [`queue`]: several of them on one job; [`check`]: every kernel against its oracle.
//! * [`Backend`]: the threads and devices a computation is given.
//! * [`measure`]: what this processor attains.
//!
//! This crate knows nothing of images or diffusion.

mod backend;
pub mod check;
pub mod comm;
pub mod dense;
pub mod device;
pub mod dialect;
pub mod fft;
mod host;
mod kept;
mod lanes;
pub mod math;
pub mod measure;
pub mod operator;
pub mod philox;
mod progress;
pub mod queue;
mod real;
mod simd;
mod workers;

pub use backend::Backend;
pub use check::checks;
pub use host::{HostError, HostSpace};
pub use kept::Kept;
pub use lanes::{LaneFlags, Lanes, Words};
pub use progress::{Interrupted, Progress, Silent};
pub use real::{Flags, Real, Word};
pub use simd::SimdLevel;
pub use workers::{Workers, WorkersError};
