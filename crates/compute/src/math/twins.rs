//! The pairs of kernel function and Rust function that must agree to the bit.

use super::{acos, atan2, exp, ln, rsqrt, sincos, sincos_turns};

/// The Rust side of a twin: what the kernel function of that name and as many arguments returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    /// Of one number.
    One(fn(f32) -> f32),
    /// Of two numbers.
    Two(fn(f32, f32) -> f32),
}

/// A function of [`KERNEL_TEXT`](super::KERNEL_TEXT) and its equal in Rust.
///
/// The two agree to the bit for arguments that are zero, normal, infinite or NaN, save that any
/// NaN equals any other and that results below [`f32::MIN_POSITIVE`] in magnitude count as zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twin {
    /// The kernel function's name.
    pub(crate) kernel: &'static str,
    /// The Rust function.
    pub(crate) cpu: Function,
}

/// Every function of the kernel text that a kernel may call, with its equal in Rust.
pub(crate) const TWINS: &[Twin] = &[
    Twin { kernel: "fb_exp", cpu: Function::One(exp::<f32>) },
    Twin { kernel: "fb_ln", cpu: Function::One(ln::<f32>) },
    Twin { kernel: "fb_sin", cpu: Function::One(|x| sincos(x).0) },
    Twin { kernel: "fb_cos", cpu: Function::One(|x| sincos(x).1) },
    Twin { kernel: "fb_sin_turns", cpu: Function::One(|t| sincos_turns(t).0) },
    Twin { kernel: "fb_cos_turns", cpu: Function::One(|t| sincos_turns(t).1) },
    Twin { kernel: "fb_rsqrt", cpu: Function::One(rsqrt::<f32>) },
    Twin { kernel: "fb_sqrt", cpu: Function::One(f32::sqrt) },
    Twin { kernel: "fb_acos", cpu: Function::One(acos::<f32>) },
    Twin { kernel: "fb_atan2", cpu: Function::Two(atan2::<f32>) },
    Twin { kernel: "fb_div", cpu: Function::Two(|a, b| a / b) },
];
