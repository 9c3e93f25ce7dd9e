//! The Bessel function of Rician noise.

use fimbria_compute::Real;
use fimbria_compute::math::{ln_finite, rsqrt_finite};

/// Where the two polynomials meet.
const MEET: f32 = 3.75;

/// ln(I0(x) e^-x) for x >= 0, within 4e-7 (Abramowitz and Stegun 9.8.1 and 9.8.2).
#[inline(always)]
pub(crate) fn ln_i0e<R: Real>(x: R) -> R {
    let meet = x.splat(MEET);
    let near = x.min(meet) * (1.0 / MEET);
    let series = (near * near).polynomial([
        0.004_581_3,
        0.036_076_8,
        0.265_973_2,
        1.206_749_2,
        3.089_942_4,
        3.515_622_9,
        1.0,
    ]);
    let far = x.max(meet);
    let asymptotic = (meet / far).polynomial([
        0.003_923_77,
        -0.016_476_33,
        0.026_355_37,
        -0.020_577_06,
        0.009_162_81,
        -0.001_575_65,
        0.002_253_19,
        0.013_285_92,
        0.398_942_3,
    ]);
    let is_near = x.less(meet);
    let inside = R::select(is_near, series, asymptotic * rsqrt_finite(far));
    ln_finite(inside) - R::select(is_near, x, x.splat(0.0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bessel_function_agrees_with_its_series() {
        for k in 0..4000 {
            let x = 1e-3 * 1.004f64.powi(k);
            let (found, expected) =
                (f64::from(super::ln_i0e(x as f32)), crate::oracle::ln_i0e(f64::from(x as f32)));
            // The polynomials' own 2e-7, rounding of a logarithm of at most 9.
            assert!((found - expected).abs() < 1.5e-6, "{x}: {found} {expected}");
        }
    }
}
