use std::f32::consts::{FRAC_2_PI, FRAC_PI_2};

use super::ROUND;
use crate::real::{Real, Word};

/// π/2 in four parts; multiples below 2¹³ of the first three (10 bits each) are exact.
const HALF_PI: [f32; 4] = [1.570_312_5, 4.835_128_8e-4, 3.138_557e-7, 6.077_100_6e-11];

/// The sine and the cosine of `x` radians; NaN where |x| > 8192.
#[inline(always)]
pub fn sincos<R: Real>(x: R) -> (R, R) {
    let in_range = x.abs().at_most(x.splat(8192.0));
    let x = R::select(in_range, x, x.splat(f32::NAN));
    let shifted = x.mul_add(x.splat(FRAC_2_PI), x.splat(ROUND));
    let n = shifted - ROUND;
    let mut r = x;
    for part in HALF_PI {
        r = n.neg_mul_add(x.splat(part), r);
    }
    of_quadrant(shifted.to_word(), r)
}

/// The sine and the cosine of `t` turns (of 2π t); NaN where |t| > 2²⁰. Exact at multiples of a
/// quarter.
#[inline(always)]
pub fn sincos_turns<R: Real>(t: R) -> (R, R) {
    let in_range = t.abs().at_most(t.splat(1_048_576.0));
    let quarters = R::select(in_range, t * 4.0, t.splat(f32::NAN));
    let shifted = quarters + ROUND;
    let n = shifted - ROUND;
    of_quadrant(shifted.to_word(), (quarters - n) * FRAC_PI_2)
}

/// The sine and the cosine of r + n π/2 for |r| <= π/4, `n` in the two lowest bits.
#[inline(always)]
fn of_quadrant<R: Real>(n: R::Word, r: R) -> (R, R) {
    let z = r * r;
    // Minimax of (sin r - r) / r³ in r², 0.06 ulp of the sine; of (cos r - 1 + r²/2) / r⁴, 0.002.
    let sin = z.polynomial([-1.951_495_7e-4, 8.332_158e-3, -1.666_665_5e-1]);
    let cos = z.polynomial([2.443_278_4e-5, -1.388_731_3e-3, 4.166_664_6e-2]);
    let sin = (sin * z).mul_add(r, r);
    let cos = (cos * z).mul_add(z, z.neg_mul_add(z.splat(0.5), z.splat(1.0)));
    // Odd quadrants swap the two; the sine changes sign in quadrants 2 and 3, the cosine in 1 and 2.
    let odd = R::from_word(((n & 1) << 31) | 0x3f80_0000).less(r.splat(0.0));
    let (sin, cos) = (R::select(odd, cos, sin), R::select(odd, sin, cos));
    let sin_sign = (n & 2) << 30;
    let cos_sign = (n.wrapping_add(n.splat(1)) & 2) << 30;
    (R::from_word(sin.to_word() ^ sin_sign), R::from_word(cos.to_word() ^ cos_sign))
}
