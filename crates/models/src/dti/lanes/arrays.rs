//! Arrays of registers, element by element.
//!
//! The standard library's `map` and `from_fn` are not used on registers: their closures are not
//! always inlined, and what is not inlined is not compiled for the instructions of the level.

use fimbria_compute::Real;

/// `mask ? yes : no`.
#[inline(always)]
pub(crate) fn select<R: Real, const N: usize>(mask: R::Flags, yes: [R; N], no: [R; N]) -> [R; N] {
    let mut out = no;
    for i in 0..N {
        out[i] = R::select(mask, yes[i], no[i]);
    }
    out
}

/// `x` where `mask`, else zeros.
#[inline(always)]
pub(crate) fn keep<R: Real, const N: usize>(mask: R::Flags, x: [R; N]) -> [R; N] {
    let mut out = x;
    for i in 0..N {
        out[i] = R::select(mask, x[i], x[i].splat(0.0));
    }
    out
}

/// `a + b`.
#[inline(always)]
pub(crate) fn add<R: Real, const N: usize>(a: [R; N], b: [R; N]) -> [R; N] {
    let mut out = a;
    for i in 0..N {
        out[i] = a[i] + b[i];
    }
    out
}

/// `x` times `by`.
#[inline(always)]
pub(crate) fn scale<R: Real, const N: usize>(x: [R; N], by: R) -> [R; N] {
    let mut out = x;
    for i in 0..N {
        out[i] = x[i] * by;
    }
    out
}

/// `a x + y`.
#[inline(always)]
pub(crate) fn axpy<R: Real, const N: usize>(a: R, x: [R; N], y: [R; N]) -> [R; N] {
    let mut out = y;
    for i in 0..N {
        out[i] = a.mul_add(x[i], y[i]);
    }
    out
}
