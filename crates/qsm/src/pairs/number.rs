//! One text for f64 and for registers of f32.

use std::ops::{Add, Div, Mul, Sub};

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

/// What a parameter of a source is stored as.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    /// Far below the square of any distance across an axis within the window (0.01 at least, where
    /// voxels are ten times as long as wide); its own square's inverse is finite.
    const TINY: Self;

    fn from_f64(value: f64) -> Self;
}

/// A number, or several side by side, that the kernel is evaluated in.
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
    /// `self` where `distance <= limit`, else 0.
    fn within(self, distance: Self, limit: Self) -> Self;
}

impl Element for f32 {
    const TINY: Self = 1e-8;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Element for f64 {
    const TINY: Self = 1e-30;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
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
    fn within(self, distance: Self, limit: Self) -> Self {
        if distance <= limit { self } else { 0.0 }
    }
}
