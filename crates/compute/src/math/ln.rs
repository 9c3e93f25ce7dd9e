use super::ROUND;
use super::exp::{LN_2_HIGH, LN_2_LOW};
use crate::real::{Real, Word};

/// The bits of 1 and of the square root of one half.
const ONE: u32 = 0x3f80_0000;
const SQRT_HALF: u32 = 0x3f35_04f3;

/// The natural logarithm; -infinity of zero, NaN of negative numbers.
#[inline(always)]
pub fn ln<R: Real>(x: R) -> R {
    let zero_or_less = R::select(
        x.at_most(x.splat(-f32::MIN_POSITIVE)),
        x.splat(f32::NAN),
        x.splat(f32::NEG_INFINITY),
    );
    let y = R::select(x.less(x.splat(f32::MIN_POSITIVE)), zero_or_less, ln_finite(x));
    R::select(x.at_most(x.splat(f32::MAX)), y, x)
}

/// The natural logarithm of a positive normal number; anything else gives a meaningless number.
#[inline(always)]
pub fn ln_finite<R: Real>(x: R) -> R {
    // x = 2^e (1 + f) with 1 + f between the square roots of one half and of two
    let bits = x.to_word();
    let bits = bits.wrapping_add(bits.splat(ONE - SQRT_HALF));
    let e = R::from_word((bits >> 23).wrapping_add(bits.splat(ROUND.to_bits()))) - (ROUND + 127.0);
    let f = R::from_word((bits & 0x007f_ffff).wrapping_add(bits.splat(SQRT_HALF))) - 1.0;
    // Minimax of (ln(1 + f) - f + f²/2) / f³, 0.1 ulp of the logarithm.
    let p = f.polynomial([
        -7.634_418_5e-2,
        1.276_193_6e-1,
        -1.316_037_8e-1,
        1.420_172_3e-1,
        -1.662_333_5e-1,
        2.000_122_8e-1,
        -2.500_082_3e-1,
        3.333_333e-1,
    ]);
    // Smallest terms first: f³ p, e ln 2 (low), -f²/2, f, e ln 2 (high).
    let y = e.mul_add(x.splat(LN_2_LOW), p * f * (f * f));
    let y = f + (f * 0.5).neg_mul_add(f, y);
    e.mul_add(x.splat(LN_2_HIGH), y)
}
