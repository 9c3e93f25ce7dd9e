//! Batched solvers for many small least-squares problems.
//!
//! Problems are independent and alike: one per SIMD lane on the CPU, one per thread on a device.
//! This crate knows nothing of images or diffusion.
//!
//! * [`active_set`]: quadratic programmes with inequality constraints;
//! * [`linear`]: log-linear least squares of any design, weighted and reweighted;
//! * [`non_negative`]: least squares with few amounts above zero of many columns;
//! * [`lm`]: non-linear least squares by Levenberg-Marquardt, on CPU and devices;
//! * [`expr`]: formulas as data, what models given at run time and kernels are made of.

pub mod active_set;
pub mod expr;
pub mod linear;
pub mod lm;
pub mod non_negative;

use fimbria_compute::check::Check;

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let mut checks = linear::checks();
    checks.extend(lm::device::checks());
    checks
}
