use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use crate::real::{Real, Word};

const TAN_PI_8: f32 = 0.414_213_57;
/// The bits of infinity (all of the exponent) and of -0.
const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// The angle of the point (x, y) from the x axis, in [-π, π], with the sign of `y`.
///
/// Zero at the origin; π where y is zero and x negative (-0 counts as 0 for x). NaN of an infinite
/// argument.
#[inline(always)]
pub fn atan2<R: Real>(y: R, x: R) -> R {
    // The angle from the nearer axis, at most π/4, then from π/4 where that is nearer still.
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ax.less(ay);
    let (small, large) = (R::select(steep, ax, ay), R::select(steep, ay, ax));
    let origin = large.less(x.splat(f32::MIN_POSITIVE));
    // A power of two that brings the larger to [2, 4), so that no sum overflows or underflows.
    let exponent = large.to_word() & INFINITY;
    let scale = R::from_word(exponent.splat(INFINITY).wrapping_sub(exponent));
    let (small, large) = (small * scale, large * scale);
    let far = (large * TAN_PI_8).less(small);
    let num = R::select(far, small - large, small);
    let den = R::select(far, small + large, large);
    let t = R::select(origin, x.splat(0.0), num / den);
    let z = t * t;
    // Minimax of (atan t - t) / t³ in t², 0.01 ulp of the angle.
    let p = z.polynomial([
        -6.075_908_6e-2,
        1.059_294_3e-1,
        -1.424_342_2e-1,
        1.999_846_5e-1,
        -3.333_331_6e-1,
    ]);
    let angle = (p * z).mul_add(t, t);
    let angle = angle + R::select(far, x.splat(FRAC_PI_4), x.splat(0.0));
    let angle = R::select(steep, -angle + FRAC_PI_2, angle);
    let angle = R::select(x.less(x.splat(0.0)), -angle + PI, angle);
    R::from_word(angle.to_word() | (y.to_word() & SIGN))
}

/// The angle in [0, π] whose cosine is `x`; NaN where |x| > 1.
#[inline(always)]
pub fn acos<R: Real>(x: R) -> R {
    let sin = ((-x + 1.0) * (x + 1.0)).sqrt();
    let angle = atan2(sin, x);
    R::select(x.abs().at_most(x.splat(1.0)), angle, x.splat(f32::NAN))
}
