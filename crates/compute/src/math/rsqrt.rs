use crate::real::{Real, Word};

/// 1 / √x; infinity of zero, zero of infinity, NaN of negative numbers.
///
/// Multiplications only, so that it costs less than a square root and a division.
#[inline(always)]
pub fn rsqrt<R: Real>(x: R) -> R {
    let zero_or_less = R::select(
        x.at_most(x.splat(-f32::MIN_POSITIVE)),
        x.splat(f32::NAN),
        x.splat(f32::INFINITY),
    );
    let y = R::select(x.less(x.splat(f32::MIN_POSITIVE)), zero_or_less, rsqrt_finite(x));
    let infinity_or_nan = R::select(x.equals(x), x.splat(0.0), x);
    R::select(x.at_most(x.splat(f32::MAX)), y, infinity_or_nan)
}

/// 1 / √x of a positive normal number; anything else gives a meaningless number.
#[inline(always)]
pub fn rsqrt_finite<R: Real>(x: R) -> R {
    // Halving and negating the exponent gives 1/√x within 3.5 %. The Newton step's constants are
    // those that make its largest error least, 6.5e-4 (Moroz et al. 2018, "Fast calculation of
    // inverse square root with the use of magic constant").
    let bits = x.to_word();
    let y = R::from_word(bits.splat(0x5f1f_fff9).wrapping_sub(bits >> 1));
    let y = y * 0.703_952_25 * (x * y).neg_mul_add(y, x.splat(2.389_244_6));
    // A third-order step: y (1 + d/2 + 3 d²/8) with d = 1 - x y².
    let d = (x * y).neg_mul_add(y, x.splat(1.0));
    (y * d).mul_add(d.mul_add(x.splat(0.375), x.splat(0.5)), y)
}
