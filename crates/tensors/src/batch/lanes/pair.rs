//! Two numbers as one, so that code written for one register keeps several in flight.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use fimbria_compute::{Flags, Lanes, Real, Word};
use pulp::Simd;

/// Two numbers side by side, on which every operation acts one by one.
///
/// A chain of multiply-adds waits for its own result; two independent chains hide half of the
/// wait. Pairs of pairs hide more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<T>(T, T);

impl<R: Real> Real for Pair<R> {
    type Flags = Pair<R::Flags>;
    type Word = Pair<R::Word>;

    #[inline(always)]
    fn splat(self, value: f32) -> Self {
        Self(self.0.splat(value), self.1.splat(value))
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self(self.0.mul_add(b.0, c.0), self.1.mul_add(b.1, c.1))
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        Self(self.0.neg_mul_add(b.0, c.0), self.1.neg_mul_add(b.1, c.1))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt(), self.1.sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs(), self.1.abs())
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0), self.1.min(other.1))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0), self.1.max(other.1))
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Flags {
        Pair(self.0.less(other.0), self.1.less(other.1))
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> Self::Flags {
        Pair(self.0.at_most(other.0), self.1.at_most(other.1))
    }
    #[inline(always)]
    fn equals(self, other: Self) -> Self::Flags {
        Pair(self.0.equals(other.0), self.1.equals(other.1))
    }
    #[inline(always)]
    fn select(mask: Self::Flags, yes: Self, no: Self) -> Self {
        Self(R::select(mask.0, yes.0, no.0), R::select(mask.1, yes.1, no.1))
    }
    #[inline(always)]
    fn to_word(self) -> Self::Word {
        Pair(self.0.to_word(), self.1.to_word())
    }
    #[inline(always)]
    fn from_word(bits: Self::Word) -> Self {
        Self(R::from_word(bits.0), R::from_word(bits.1))
    }
}

impl<M: Flags> Flags for Pair<M> {
    #[inline(always)]
    fn any(self) -> bool {
        (self.0 | self.1).any()
    }
    #[inline(always)]
    fn all(self) -> bool {
        (self.0 & self.1).all()
    }
}

impl<W: Word> Word for Pair<W> {
    #[inline(always)]
    fn splat(self, value: u32) -> Self {
        Self(self.0.splat(value), self.1.splat(value))
    }
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0), self.1.wrapping_add(other.1))
    }
    #[inline(always)]
    fn wrapping_sub(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0), self.1.wrapping_sub(other.1))
    }
    #[inline(always)]
    fn mul_wide(self, other: Self) -> (Self, Self) {
        let ((low0, high0), (low1, high1)) = (self.0.mul_wide(other.0), self.1.mul_wide(other.1));
        (Self(low0, low1), Self(high0, high1))
    }
}

macro_rules! between_pairs {
    ($($trait:ident :: $name:ident),*) => {$(
        impl<T: $trait<Output = T>> $trait for Pair<T> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(self.0.$name(other.0), self.1.$name(other.1))
            }
        }
    )*};
}
between_pairs!(
    Add::add,
    Sub::sub,
    Mul::mul,
    Div::div,
    BitAnd::bitand,
    BitOr::bitor,
    BitXor::bitxor
);

macro_rules! with_one {
    ($one:ty: $($trait:ident :: $name:ident),*) => {$(
        impl<T: $trait<$one, Output = T>> $trait<$one> for Pair<T> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, one: $one) -> Self {
                Self(self.0.$name(one), self.1.$name(one))
            }
        }
    )*};
}
with_one!(f32: Add::add, Sub::sub, Mul::mul, Div::div);
with_one!(u32: BitAnd::bitand, BitOr::bitor, BitXor::bitxor, Shl::shl, Shr::shr);

impl<T: Neg<Output = T>> Neg for Pair<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl<T: Not<Output = T>> Not for Pair<T> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0, !self.1)
    }
}

/// Numbers in one or several registers of `S`, loaded and stored together.
pub(super) trait Registers<S: Simd>: Real {
    /// How many numbers.
    const LANES: usize;

    /// `value` in every lane.
    fn all(simd: S, value: f32) -> Self;

    /// The first lanes of `from`.
    fn load(simd: S, from: &[f32]) -> Self;

    /// Writes all lanes to the first of `to`.
    fn store(self, to: &mut [f32]);
}

impl<S: Simd> Registers<S> for Lanes<S> {
    const LANES: usize = S::F32_LANES;

    #[inline(always)]
    fn all(simd: S, value: f32) -> Self {
        Self::new(simd, value)
    }
    #[inline(always)]
    fn load(simd: S, from: &[f32]) -> Self {
        Self::load(simd, from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        self.store(to);
    }
}

impl<S: Simd, B: Registers<S>> Registers<S> for Pair<B> {
    const LANES: usize = 2 * B::LANES;

    #[inline(always)]
    fn all(simd: S, value: f32) -> Self {
        let one = B::all(simd, value);
        Self(one, one)
    }
    #[inline(always)]
    fn load(simd: S, from: &[f32]) -> Self {
        Self(B::load(simd, from), B::load(simd, &from[B::LANES..]))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        self.0.store(to);
        self.1.store(&mut to[B::LANES..]);
    }
}
