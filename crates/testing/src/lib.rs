//! What the tests of several crates share.
//!
//! * [`need`](missing): what a test does where something it needs is not there; reference data,
//!   and programs to agree with;
//! * `device`: an OpenCL device, every kernel against its oracle, for races, and for CUDA;
//! * `driver`: drivers for CUDA without a card: one that is checked, and one whose cards do nothing;
//! * `processes`: processes that are threads of one;
//! * `acquisition`: gradient tables, and signals with known truth; `series`: a series on disk;
//! * `snapshot`: texts that are kept in the repository.
//!
//! It stands above `tensors` and below all that use it: crates up to `tensors` use it in the tests
//! of their folder `tests/` only, where one build of them serves both.

// A test that fails says why by panicking.
#![allow(clippy::missing_panics_doc)]

mod acquisition;
mod device;
#[cfg(unix)]
mod driver;
mod need;
mod processes;
mod series;
mod snapshot;

pub use acquisition::{Noise, acquisition, quadratic, signals, tensor};
pub use device::{
    in_child, is_child, kernels_agree, kernels_are_clean, nvrtc, nvrtc_folder, nvrtc_is_installed,
    oclgrind_report, opencl_device, opencl_device_with, output_of, several_devices, two_devices,
};
#[cfg(unix)]
pub use driver::{Call, Driver, asked, calls, count, failing_opencl, not_locked, null_gpu};
pub use need::{missing, python, refdata, skipped};
pub use processes::as_processes;
pub use series::{Series, angle};
pub use snapshot::hold_to;
