//! Exponential, logarithm, sine, arc tangent and reciprocal square root, the same on every path.
//!
//! Library functions of different platforms differ in the last bit, and one bit can flip an
//! accept or reject. These are polynomials in fixed order over [`Real`](crate::Real): one `f32`,
//! the lanes of every fusing SIMD level and the kernels that contain [`KERNEL_TEXT`] give the same
//! bits.
//! (Levels that do not fuse stay within the stated errors, to one more ulp.)
//!
//! | function | kernel | largest error, ulp | where |
//! |---|---|---|---|
//! | [`exp`] | `fb_exp` | 0.9 | everywhere |
//! | [`ln`] | `fb_ln` | 0.8 | everywhere |
//! | [`sincos`] | `fb_sincos` | 2.5 | magnitude at most 8192, else NaN |
//! | [`sincos_turns`] | `fb_sincos_turns` | 2.0 | magnitude at most 2²⁰ turns, else NaN |
//! | [`rsqrt`] | `fb_rsqrt` | 1.0 | everywhere |
//! | [`atan2`] | `fb_atan2` | 2.6 | finite arguments, else NaN |
//! | [`acos`] | `fb_acos` | 3.2 | -1 to 1, else NaN |
//! | `/` | `fb_div` | 0.5 | normal or zero arguments and results |
//! | [`Real::sqrt`](crate::Real::sqrt) | `fb_sqrt` | 0.5 | normal or zero arguments |
//!
//! Numbers below 2^-126 in magnitude count as zero, and so do results (many devices flush them);
//! only `/` and `sqrt` keep them on the CPU. NaN gives NaN. `exp` and `ln` and `rsqrt` have
//! `_finite` forms without the checks, for arguments known to be in range.

mod atan;
mod exp;
mod ln;
mod rsqrt;
mod sincos;
mod twins;

pub use atan::{acos, atan2};
pub use exp::{exp, exp_finite};
pub use ln::{ln, ln_finite};
pub use rsqrt::{rsqrt, rsqrt_finite};
pub use sincos::{sincos, sincos_turns};
pub(crate) use twins::{Function, TWINS, Twin};

/// The same functions for kernels, in the kernel dialect.
pub const KERNEL_TEXT: &str = include_str!("kernel.cl");

/// 1.5 · 2²³: added to a number below 2²² it rounds it to an integer (ties to even) and leaves
/// that integer in the low bits.
const ROUND: f32 = 12_582_912.0;

#[cfg(test)]
mod accuracy;
