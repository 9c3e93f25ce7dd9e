//! One text for f64 and for registers of f32.

use std::ops::{Add, Div, Mul, Sub};

use fimbria_compute::{Lanes, Real, math};
use pulp::Simd;

/// What a parameter of a source is stored as.
pub(crate) trait Element: Copy + Send + Sync + Default + 'static {
    fn of(value: f64) -> Self;
    fn minus(self, other: Self) -> Self;
}

/// A number, or several side by side, that pair kernels are evaluated in.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    type Element: Element;

    /// `value` in every lane.
    fn splat(self, value: Self::Element) -> Self;
    /// `self * b + c`, fused.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `c - self * b`, fused.
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    fn abs(self) -> Self;
    fn max(self, other: Self) -> Self;
    /// 1/√self of a positive number.
    fn rsqrt(self) -> Self;
    /// `self` where `distance <= limit`, else 0.
    fn within(self, distance: Self, limit: Self) -> Self;
}

impl Element for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self - other
    }
}

impl Element for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self - other
    }
}

impl<S: Simd> Number for Lanes<S> {
    type Element = f32;

    #[inline(always)]
    fn splat(self, value: f32) -> Self {
        Real::splat(self, value)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Real::mul_add(self, b, c)
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        Real::neg_mul_add(self, b, c)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Real::abs(self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Real::max(self, other)
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        math::rsqrt_finite(self)
    }
    #[inline(always)]
    fn within(self, distance: Self, limit: Self) -> Self {
        Real::select(distance.at_most(limit), self, Real::splat(self, 0.0))
    }
}

impl Number for f64 {
    type Element = f64;

    fn splat(self, value: f64) -> Self {
        value
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        c - self * b
    }
    fn abs(self) -> Self {
        self.abs()
    }
    fn max(self, other: Self) -> Self {
        self.max(other)
    }
    fn rsqrt(self) -> Self {
        1.0 / self.sqrt()
    }
    fn within(self, distance: Self, limit: Self) -> Self {
        if distance <= limit { self } else { 0.0 }
    }
}
