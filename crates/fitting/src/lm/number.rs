//! What a model's signal is written in: one number, a register of them, one with its derivatives,
//! or a symbol.

use std::ops::{Add, Div, Mul, Neg, Sub};

use fimbria_compute::{Lanes, Real, math};
use pulp::Simd;

/// A number that a signal can be computed in.
///
/// Parameters are `Self`; covariates and constants, which have no derivative, are
/// [`Constant`](Self::Constant), so that the derivatives of the two are not multiplied by zero.
///
/// ```
/// use fimbria_fitting::lm::Number;
///
/// /// S0 exp(-b D)
/// fn signal<N: Number>(s0: N, d: N, b: N::Constant) -> N {
///     s0 * (-d * b).exp()
/// }
/// assert_eq!(signal(2.0_f64, 0.0, 1.0), 2.0);
/// ```
pub trait Number:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<Self::Constant, Output = Self>
    + Sub<Self::Constant, Output = Self>
    + Mul<Self::Constant, Output = Self>
    + Div<Self::Constant, Output = Self>
{
    /// The same without derivatives.
    type Constant: Number<Constant = Self::Constant>;

    /// `value` as a constant (`self` only says of what kind).
    fn constant(self, value: f64) -> Self::Constant;

    /// `constant` as a number without derivatives (`self` only says of what kind).
    fn lift(self, constant: Self::Constant) -> Self;

    /// eˣ.
    #[must_use]
    fn exp(self) -> Self;

    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;

    /// The square root.
    #[must_use]
    fn sqrt(self) -> Self;

    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;

    /// `self` where it is larger than `least`, else `least` (then without derivative).
    #[must_use]
    fn at_least(self, least: Self::Constant) -> Self;

    /// The sine of an angle in radians.
    #[must_use]
    fn sin(self) -> Self;

    /// The cosine of an angle in radians.
    #[must_use]
    fn cos(self) -> Self;

    /// The angle in radians, in [-π/2, π/2], whose tangent this is.
    #[must_use]
    fn atan(self) -> Self;

    /// `yes` where `self < other`, else `no`.
    #[must_use]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self;

    /// `a * b + self`, rounded once where that is fast.
    #[must_use]
    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }
}

impl Number for f64 {
    type Constant = Self;

    #[inline(always)]
    fn constant(self, value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn lift(self, constant: Self) -> Self {
        constant
    }
    #[inline(always)]
    fn exp(self) -> Self {
        self.exp()
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.ln()
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
    fn at_least(self, least: Self) -> Self {
        if self > least { self } else { least }
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.sin()
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.cos()
    }
    #[inline(always)]
    fn atan(self) -> Self {
        self.atan()
    }
    #[inline(always)]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        if self < other { yes } else { no }
    }
}

/// `Number` for what is already a `Real`.
macro_rules! from_real {
    ($type:ty $(, $simd:ident)?) => {
        impl $(<$simd: Simd>)? Number for $type {
            type Constant = Self;

            #[inline(always)]
            fn constant(self, value: f64) -> Self {
                Real::splat(self, value as f32)
            }
            #[inline(always)]
            fn lift(self, constant: Self) -> Self {
                constant
            }
            #[inline(always)]
            fn exp(self) -> Self {
                math::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                math::ln(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Real::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Real::abs(self)
            }
            #[inline(always)]
            fn at_least(self, least: Self) -> Self {
                Real::max(self, least)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                math::sincos(self).0
            }
            #[inline(always)]
            fn cos(self) -> Self {
                math::sincos(self).1
            }
            #[inline(always)]
            fn atan(self) -> Self {
                math::atan2(self, Real::splat(self, 1.0))
            }
            #[inline(always)]
            fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
                Real::select(Real::less(self, other), yes, no)
            }
            #[inline(always)]
            fn plus_product(self, a: Self, b: Self) -> Self {
                Real::mul_add(a, b, self)
            }
        }
    };
}

from_real!(f32);
from_real!(Lanes<S>, S);
