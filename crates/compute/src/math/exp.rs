use super::ROUND;
use crate::real::{Real, Word};

/// ln 2 in two parts; the first has 9 bits, so that small multiples of it are exact.
pub(super) const LN_2_HIGH: f32 = 0.693_359_4;
pub(super) const LN_2_LOW: f32 = -2.121_944_4e-4;

/// The least and the largest argument whose exponential is a normal number.
const LEAST: f32 = -87.336_54;
const LARGEST: f32 = 88.722_83;

/// eˣ; 0 below 2^-126, infinity above the largest number.
#[inline(always)]
pub fn exp<R: Real>(x: R) -> R {
    let y = R::select(x.less(x.splat(LEAST)), x.splat(0.0), exp_finite(x));
    R::select(x.at_most(x.splat(LARGEST)), y, x + f32::INFINITY)
}

/// eˣ for x in [-87.33654, 88.72283]; anything else gives a meaningless number.
#[inline(always)]
pub fn exp_finite<R: Real>(x: R) -> R {
    // x = n ln 2 + r with |r| <= ln 2 / 2
    let shifted = x.mul_add(x.splat(std::f32::consts::LOG2_E), x.splat(ROUND));
    let n = shifted - ROUND;
    let r = n.neg_mul_add(x.splat(LN_2_LOW), n.neg_mul_add(x.splat(LN_2_HIGH), x));
    // Minimax of exp(r) in relative error, 0.05 ulp.
    let p = r.polynomial([
        1.381_458_1e-3,
        8.368_724e-3,
        4.166_839e-2,
        1.666_652_1e-1,
        4.999_999_4e-1,
        1.0,
        1.0,
    ]);
    // p 2^n, by adding n to the exponent
    R::from_word(p.to_word().wrapping_add(shifted.to_word() << 23))
}
