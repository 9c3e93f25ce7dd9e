//! A SIMD register as a number: [`Real`] over any instruction set that pulp dispatches to.
//!
//! These types cost nothing: each holds one register and the empty token that proves that the
//! processor has the instructions. Use them inside a kernel run by
//! [`SimdLevel::run`](crate::SimdLevel::run), with everything it calls `#[inline(always)]`, else
//! the code is not compiled for that instruction set.

use std::any::TypeId;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use pulp::Simd;

use crate::real::{Flags, Real, Word};

/// As many `f32` as a register of `S` holds.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<S: Simd> {
    simd: S,
    value: S::f32s,
}

/// As many `u32` as a register of `S` holds.
#[derive(Clone, Copy, Debug)]
pub struct Words<S: Simd> {
    simd: S,
    value: S::u32s,
}

/// A truth value for each lane.
#[derive(Clone, Copy, Debug)]
pub struct LaneFlags<S: Simd> {
    simd: S,
    value: S::m32s,
}

/// False where pulp would emulate the fused operation in software, a hundred times slower.
#[inline(always)]
fn fuses<S: Simd>() -> bool {
    #[cfg(target_arch = "x86_64")]
    if TypeId::of::<S>() == TypeId::of::<pulp::x86::V2>() {
        return false;
    }
    TypeId::of::<S>() != TypeId::of::<pulp::Scalar>()
}

impl<S: Simd> Lanes<S> {
    /// Number of lanes.
    pub const LANES: usize = S::F32_LANES;

    /// `value` in every lane.
    #[inline(always)]
    pub fn new(simd: S, value: f32) -> Self {
        Self { simd, value: simd.splat_f32s(value) }
    }

    /// The register as pulp has it.
    #[inline(always)]
    pub(crate) fn register(self) -> S::f32s {
        self.value
    }

    /// The first [`LANES`](Self::LANES) elements of `from`.
    ///
    /// # Panics
    /// Where `from` is shorter.
    #[inline(always)]
    pub fn load(simd: S, from: &[f32]) -> Self {
        Self { simd, value: S::as_simd_f32s(&from[..Self::LANES]).0[0] }
    }

    /// The elements of `from`, at most [`LANES`](Self::LANES) of them, then zeros.
    #[inline(always)]
    pub fn load_partial(simd: S, from: &[f32]) -> Self {
        Self { simd, value: simd.partial_load_f32s(&from[..from.len().min(Self::LANES)]) }
    }

    /// Writes all lanes to the first [`LANES`](Self::LANES) elements of `to`.
    ///
    /// # Panics
    /// Where `to` is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        S::as_mut_simd_f32s(&mut to[..Self::LANES]).0[0] = self.value;
    }

    /// The sum of all lanes: halves added to halves, the same bits as when half as wide registers
    /// are added first.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        if Self::LANES > 4 {
            return self.simd.reduce_sum_f32s(self.value);
        }
        // pulp's own order for narrow registers differs between processors.
        let mut lanes = [0.0; 4];
        self.store_partial(&mut lanes);
        (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    }

    /// The least of all lanes, which are numbers.
    #[inline(always)]
    pub fn least(self) -> f32 {
        self.simd.reduce_min_f32s(self.value)
    }

    /// Writes as many lanes as `to` has room for.
    #[inline(always)]
    pub fn store_partial(self, to: &mut [f32]) {
        let n = to.len().min(Self::LANES);
        self.simd.partial_store_f32s(&mut to[..n], self.value);
    }
}

impl<S: Simd> Words<S> {
    /// Number of lanes.
    pub const LANES: usize = S::U32_LANES;

    /// `value` in every lane.
    #[inline(always)]
    pub fn new(simd: S, value: u32) -> Self {
        Self { simd, value: simd.splat_u32s(value) }
    }

    /// The first [`LANES`](Self::LANES) elements of `from`.
    ///
    /// # Panics
    /// Where `from` is shorter.
    #[inline(always)]
    pub fn load(simd: S, from: &[u32]) -> Self {
        Self { simd, value: S::as_simd_u32s(&from[..Self::LANES]).0[0] }
    }

    /// Writes all lanes to the first [`LANES`](Self::LANES) elements of `to`.
    ///
    /// # Panics
    /// Where `to` is shorter.
    #[inline(always)]
    pub fn store(self, to: &mut [u32]) {
        S::as_mut_simd_u32s(&mut to[..Self::LANES]).0[0] = self.value;
    }
}

impl<S: Simd> Real for Lanes<S> {
    type Flags = LaneFlags<S>;
    type Word = Words<S>;

    #[inline(always)]
    fn splat(self, value: f32) -> Self {
        Self::new(self.simd, value)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        if fuses::<S>() {
            let value = self.simd.mul_add_e_f32s(self.value, b.value, c.value);
            Self { value, ..self }
        } else {
            self * b + c
        }
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        if fuses::<S>() {
            let value = self.simd.negate_mul_add_e_f32s(self.value, b.value, c.value);
            Self { value, ..self }
        } else {
            c - self * b
        }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self { value: self.simd.sqrt_f32s(self.value), ..self }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // pulp's own goes through a function that is not inlined, once for every register.
        Self::from_word(self.to_word() & 0x7fff_ffff)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // x86's instruction is just this choice; elsewhere NaN is treated in other ways.
        if cfg!(target_arch = "x86_64") && !S::IS_SCALAR {
            Self { value: self.simd.min_f32s(self.value, other.value), ..self }
        } else {
            Self::select(self.less(other), self, other)
        }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if cfg!(target_arch = "x86_64") && !S::IS_SCALAR {
            Self { value: self.simd.max_f32s(self.value, other.value), ..self }
        } else {
            Self::select(other.less(self), self, other)
        }
    }
    #[inline(always)]
    fn less(self, other: Self) -> LaneFlags<S> {
        let value = self.simd.less_than_f32s(self.value, other.value);
        LaneFlags { simd: self.simd, value }
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> LaneFlags<S> {
        let value = self.simd.less_than_or_equal_f32s(self.value, other.value);
        LaneFlags { simd: self.simd, value }
    }
    #[inline(always)]
    fn equals(self, other: Self) -> LaneFlags<S> {
        let value = self.simd.equal_f32s(self.value, other.value);
        LaneFlags { simd: self.simd, value }
    }
    #[inline(always)]
    fn select(mask: LaneFlags<S>, yes: Self, no: Self) -> Self {
        Self { value: yes.simd.select_f32s(mask.value, yes.value, no.value), ..yes }
    }
    #[inline(always)]
    fn to_word(self) -> Words<S> {
        Words { simd: self.simd, value: self.simd.transmute_u32s_f32s(self.value) }
    }
    #[inline(always)]
    fn from_word(bits: Words<S>) -> Self {
        Self { simd: bits.simd, value: bits.simd.transmute_f32s_u32s(bits.value) }
    }
}

impl<S: Simd> Flags for LaneFlags<S> {
    #[inline(always)]
    fn any(self) -> bool {
        if size_of::<S::m32s>() == size_of::<S::f32s>() {
            let (yes, no) = (Lanes::new(self.simd, 1.0), Lanes::new(self.simd, 0.0));
            self.simd.reduce_max_f32s(Lanes::select(self, yes, no).value) > 0.0
        } else {
            // A mask of bits (AVX-512) or one truth value.
            self.simd.first_true_m32s(self.value) < S::F32_LANES
        }
    }
    #[inline(always)]
    fn all(self) -> bool {
        !(!self).any()
    }
}

impl<S: Simd> Word for Words<S> {
    #[inline(always)]
    fn splat(self, value: u32) -> Self {
        Self::new(self.simd, value)
    }
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        Self { value: self.simd.add_u32s(self.value, other.value), ..self }
    }
    #[inline(always)]
    fn wrapping_sub(self, other: Self) -> Self {
        Self { value: self.simd.sub_u32s(self.value, other.value), ..self }
    }
    #[inline(always)]
    fn mul_wide(self, other: Self) -> (Self, Self) {
        let (low, high) = self.simd.widening_mul_u32s(self.value, other.value);
        (Self { value: low, ..self }, Self { value: high, ..self })
    }
}

/// An operator of two registers, and of a register and one number for every lane.
macro_rules! operators {
    ($type:ident of $element:ty: $($trait:ident :: $name:ident = $pulp:ident),*) => {$(
        impl<S: Simd> $trait for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self { value: self.simd.$pulp(self.value, other.value), ..self }
            }
        }
        impl<S: Simd> $trait<$element> for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: $element) -> Self {
                self.$name(Self::new(self.simd, other))
            }
        }
    )*};
}

operators!(Lanes of f32: Add::add = add_f32s, Sub::sub = sub_f32s, Mul::mul = mul_f32s,
    Div::div = div_f32s);
operators!(Words of u32: BitAnd::bitand = and_u32s, BitOr::bitor = or_u32s,
    BitXor::bitxor = xor_u32s);

impl<S: Simd> Neg for Lanes<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // `neg_f32s` is a call.
        let sign = self.simd.splat_f32s(-0.0);
        Self { value: self.simd.xor_f32s(self.value, sign), ..self }
    }
}

impl<S: Simd> Shl<u32> for Words<S> {
    type Output = Self;
    #[inline(always)]
    fn shl(self, by: u32) -> Self {
        let by = self.simd.splat_u32s(by);
        Self { value: self.simd.wrapping_dyn_shl_u32s(self.value, by), ..self }
    }
}

impl<S: Simd> Shr<u32> for Words<S> {
    type Output = Self;
    #[inline(always)]
    fn shr(self, by: u32) -> Self {
        let by = self.simd.splat_u32s(by);
        Self { value: self.simd.wrapping_dyn_shr_u32s(self.value, by), ..self }
    }
}

impl<S: Simd> BitAnd for LaneFlags<S> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self { value: self.simd.and_m32s(self.value, other.value), ..self }
    }
}

impl<S: Simd> BitOr for LaneFlags<S> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self { value: self.simd.or_m32s(self.value, other.value), ..self }
    }
}

impl<S: Simd> Not for LaneFlags<S> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self { value: self.simd.not_m32s(self.value), ..self }
    }
}

#[cfg(test)]
mod tests;
