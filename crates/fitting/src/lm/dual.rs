//! Dual numbers: a value with its derivatives by P parameters, exact to rounding.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Number;

/// v + Σ dₖ εₖ with εₖ εₗ = 0: arithmetic on it carries first derivatives along.
#[derive(Clone, Copy, Debug)]
pub struct Dual<N, const P: usize> {
    /// The value.
    pub value: N,
    /// Its derivatives.
    pub slope: [N; P],
}

impl<N: Number<Constant = N>, const P: usize> Dual<N, P> {
    /// The parameters `p`, each with derivative 1 by itself.
    #[inline(always)]
    pub fn parameters(p: &[N; P]) -> [Self; P] {
        let mut out = [Self { value: p[0], slope: [p[0].constant(0.0); P] }; P];
        for k in 0..P {
            out[k].value = p[k];
            out[k].slope[k] = p[k].constant(1.0);
        }
        out
    }

    /// f(self) of which `value` and the derivative `by` are known.
    #[inline(always)]
    fn chain(self, value: N, by: N) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = slope[k] * by;
        }
        Self { value, slope }
    }
}

impl<N: Number<Constant = N>, const P: usize> Neg for Dual<N, P> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = -slope[k];
        }
        Self { value: -self.value, slope }
    }
}

impl<N: Number<Constant = N>, const P: usize> Add for Dual<N, P> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = slope[k] + other.slope[k];
        }
        Self { value: self.value + other.value, slope }
    }
}

impl<N: Number<Constant = N>, const P: usize> Sub for Dual<N, P> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = slope[k] - other.slope[k];
        }
        Self { value: self.value - other.value, slope }
    }
}

impl<N: Number<Constant = N>, const P: usize> Mul for Dual<N, P> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = (self.value * other.slope[k]).plus_product(slope[k], other.value);
        }
        Self { value: self.value * other.value, slope }
    }
}

impl<N: Number<Constant = N>, const P: usize> Div for Dual<N, P> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let inverse = other.value.constant(1.0) / other.value;
        let quotient = self.value / other.value;
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = slope[k].plus_product(-quotient, other.slope[k]) * inverse;
        }
        Self { value: quotient, slope }
    }
}

/// An operator of a dual number and a constant, of which the derivatives are `$slope`.
macro_rules! with_constant {
    ($($trait:ident :: $name:ident, |$slope:ident, $constant:ident| $derivative:expr;)*) => {$(
        impl<N: Number<Constant = N>, const P: usize> $trait<N> for Dual<N, P> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, $constant: N) -> Self {
                let mut out = self.slope;
                for k in 0..P {
                    let $slope = self.slope[k];
                    out[k] = $derivative;
                }
                Self { value: $trait::$name(self.value, $constant), slope: out }
            }
        }
    )*};
}

with_constant! {
    Add::add, |slope, _constant| slope;
    Sub::sub, |slope, _constant| slope;
    Mul::mul, |slope, constant| slope * constant;
    Div::div, |slope, constant| slope / constant;
}

impl<N: Number<Constant = N>, const P: usize> Number for Dual<N, P> {
    type Constant = N;

    #[inline(always)]
    fn constant(self, value: f64) -> N {
        self.value.constant(value)
    }
    #[inline(always)]
    fn lift(self, constant: N) -> Self {
        Self { value: constant, slope: [constant.constant(0.0); P] }
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let value = self.value.exp();
        self.chain(value, value)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), self.value.constant(1.0) / self.value)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.chain(value, value.constant(0.5) / value)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        let value = self.value.abs();
        self.chain(value, value / self.value)
    }
    #[inline(always)]
    fn at_least(self, least: N) -> Self {
        // 1 above the limit, 0 (or rounding) at it: (max(v, m) - m) / (v - m).
        let value = self.value.at_least(least);
        let above = (self.value - least).at_least(least.constant(0.0));
        let by = above
            / (self.value - least).abs().at_least(least.constant(f64::from(f32::MIN_POSITIVE)));
        self.chain(value, by)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }
    #[inline(always)]
    fn atan(self) -> Self {
        let one = self.value.constant(1.0);
        self.chain(self.value.atan(), one / one.plus_product(self.value, self.value))
    }
    #[inline(always)]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            slope[k] = self.value.if_less(other.value, yes.slope[k], no.slope[k]);
        }
        Self { value: self.value.if_less(other.value, yes.value, no.value), slope }
    }
    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        let mut slope = self.slope;
        for k in 0..P {
            let of_b = slope[k].plus_product(a.value, b.slope[k]);
            slope[k] = of_b.plus_product(a.slope[k], b.value);
        }
        Self { value: self.value.plus_product(a.value, b.value), slope }
    }
}
