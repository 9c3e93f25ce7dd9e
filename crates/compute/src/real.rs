//! Numbers that may be one `f32` or a register of them.
//!
//! A function written for [`Real`] reads like the scalar formula and runs either on one `f32` or
//! on [`Lanes`](crate::Lanes) of a SIMD level. Both are the same operations in the same order, so
//! that wherever `a * b + c` is fused (`f32` here, AVX2, AVX-512, NEON, GPU kernels) they give the
//! same bits.
//!
//! ```
//! use fimbria_compute::Real;
//!
//! fn norm<R: Real>(x: R, y: R) -> R {
//!     x.mul_add(x, y * y).sqrt()
//! }
//! assert_eq!(norm(3.0_f32, 4.0), 5.0);
//! ```

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// A single-precision number, or several side by side on which every operation acts lane by lane.
///
/// In concrete `f32` code the standard library's own methods shadow those of the same name here;
/// they differ in [`min`](Self::min) and [`max`](Self::max) of NaN only.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f32, Output = Self>
    + Sub<f32, Output = Self>
    + Mul<f32, Output = Self>
    + Div<f32, Output = Self>
{
    /// The answer of a comparison in each lane.
    type Flags: Flags;
    /// The bits of each lane.
    type Word: Word;

    /// `value` in every lane (`self` only says how many lanes).
    fn splat(self, value: f32) -> Self;

    /// `self * b + c`, rounded once where the instruction path fuses.
    fn mul_add(self, b: Self, c: Self) -> Self;

    /// `c - self * b`, rounded once where the instruction path fuses.
    fn neg_mul_add(self, b: Self, c: Self) -> Self;

    /// The correctly rounded square root.
    fn sqrt(self) -> Self;

    /// The magnitude.
    fn abs(self) -> Self;

    /// `self < other ? self : other`; hence `other` where either is NaN.
    fn min(self, other: Self) -> Self;

    /// `self > other ? self : other`; hence `other` where either is NaN.
    fn max(self, other: Self) -> Self;

    /// `self < other`.
    fn less(self, other: Self) -> Self::Flags;

    /// `self <= other`.
    fn at_most(self, other: Self) -> Self::Flags;

    /// `self == other`; false for NaN.
    fn equals(self, other: Self) -> Self::Flags;

    /// `mask ? yes : no`.
    fn select(mask: Self::Flags, yes: Self, no: Self) -> Self;

    /// The IEEE 754 bits.
    fn to_word(self) -> Self::Word;

    /// The number with these IEEE 754 bits.
    fn from_word(bits: Self::Word) -> Self;

    /// `c[0] x^(N-1) + c[1] x^(N-2) + ... + c[N-1]` at `x = self`, by Horner's rule.
    #[inline(always)]
    fn polynomial<const N: usize>(self, c: [f32; N]) -> Self {
        let mut sum = self.splat(c[0]);
        for &next in &c[1..] {
            sum = sum.mul_add(self, self.splat(next));
        }
        sum
    }
}

/// Truth values, one for each lane.
pub trait Flags: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// True where any lane is.
    fn any(self) -> bool;

    /// True where every lane is.
    fn all(self) -> bool;
}

/// A 32-bit unsigned integer, or several side by side; arithmetic wraps.
pub trait Word:
    Copy
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitAnd<u32, Output = Self>
    + BitOr<u32, Output = Self>
    + BitXor<u32, Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// `value` in every lane (`self` only says how many lanes).
    fn splat(self, value: u32) -> Self;

    /// `self + other` modulo 2³².
    fn wrapping_add(self, other: Self) -> Self;

    /// `self - other` modulo 2³².
    fn wrapping_sub(self, other: Self) -> Self;

    /// The low and the high word of the product.
    fn mul_wide(self, other: Self) -> (Self, Self);
}

impl Real for f32 {
    type Flags = bool;
    type Word = u32;

    #[inline(always)]
    fn splat(self, value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        (-self).mul_add(b, c)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self <= other
    }
    #[inline(always)]
    fn equals(self, other: Self) -> bool {
        self == other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn to_word(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_word(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

impl Flags for bool {
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn all(self) -> bool {
        self
    }
}

impl Word for u32 {
    #[inline(always)]
    fn splat(self, value: u32) -> Self {
        value
    }
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn wrapping_sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn mul_wide(self, other: Self) -> (Self, Self) {
        let product = u64::from(self) * u64::from(other);
        (product as u32, (product >> 32) as u32)
    }
}
