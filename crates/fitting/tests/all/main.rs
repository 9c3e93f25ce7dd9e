//! The solvers against truth, strangers and each other.

mod expression;
mod linear_device;
mod lm;
mod lm_device;
mod nvrtc;
mod strd;
