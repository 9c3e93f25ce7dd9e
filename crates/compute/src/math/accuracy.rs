//! Measured errors against f64, equality of bits across SIMD levels, and special arguments.

use pulp::{Simd, WithSimd};

use super::{
    acos, atan2, exp, exp_finite, ln, ln_finite, rsqrt, rsqrt_finite, sincos, sincos_turns,
};
use crate::{Lanes, Real, SimdLevel};

/// A function of two numbers (the second unused by most), for whatever holds them.
trait Formula: Copy {
    fn call<R: Real>(self, x: R, y: R) -> R;
}

/// `formula` of each pair at one SIMD level.
struct Evaluate<'a, F> {
    pairs: &'a [(f32, f32)],
    formula: F,
}

impl<F: Formula> WithSimd for Evaluate<'_, F> {
    type Output = Vec<f32>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let n = Lanes::<S>::LANES;
        let mut results = vec![0.0; self.pairs.len()];
        for (pairs, results) in self.pairs.chunks(n).zip(results.chunks_mut(n)) {
            let (x, y): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
            let (x, y) = (Lanes::load_partial(simd, &x), Lanes::load_partial(simd, &y));
            self.formula.call(x, y).store_partial(results);
        }
        results
    }
}

/// Distance in units in the last place of `exact`; results below the least normal number count
/// as zero.
fn ulps(got: f32, exact: f64) -> f64 {
    let least = f64::from(f32::MIN_POSITIVE);
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = exact as f32;
    if got == rounded || (f64::from(got).abs() < least && exact.abs() < least) {
        return 0.0;
    }
    let exponent = ((exact.abs().max(least).to_bits() >> 52) as i32) - 1023;
    (f64::from(got) - exact).abs() / 2.0_f64.powi(exponent - 23)
}

/// Floats spread evenly over all bit patterns of both signs, and the special ones.
fn all_floats() -> Vec<f32> {
    let special = [0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
    let spread = (0..u32::MAX).step_by(8191).map(f32::from_bits);
    let normal_or_zero = spread.filter(|x| !x.is_subnormal());
    normal_or_zero.chain(special).chain([f32::NEG_INFINITY, f32::MIN]).collect()
}

/// `n` numbers evenly from `low` to `high`.
fn evenly(low: f32, high: f32, n: usize) -> impl Iterator<Item = f32> {
    (0..n).map(move |i| low + (high - low) * (i as f32 / (n - 1) as f32))
}

/// All floats, and more of them between `low` and `high`.
fn arguments(low: f32, high: f32) -> Vec<(f32, f32)> {
    all_floats().into_iter().chain(evenly(low, high, 300_000)).map(|x| (x, 0.0)).collect()
}

/// Points all around the origin: every combination of some magnitudes, signs and angles.
fn points() -> Vec<(f32, f32)> {
    let magnitudes = [1.0e-30, 3.0e-4, 1.0, 2.7, 1.0e19];
    let around = |r: f32| {
        (0..40_000).map(move |i| {
            let angle = (i as f32) * (std::f32::consts::TAU / 40_000.0);
            (r * angle.sin(), r * angle.cos())
        })
    };
    let axes = [(0.0, 1.0), (0.0, -1.0), (-0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)];
    magnitudes.into_iter().flat_map(around).chain(axes).collect()
}

fn worst(results: &[f32], pairs: &[(f32, f32)], exact: fn(f64, f64) -> f64) -> (f64, (f32, f32)) {
    let errors = results
        .iter()
        .zip(pairs)
        .map(|(&got, &(x, y))| (ulps(got, exact(f64::from(x), f64::from(y))), (x, y)));
    errors.fold((0.0, (0.0, 0.0)), |worst, error| if error.0 > worst.0 { error } else { worst })
}

/// For each function: its largest error on a fused path, its bits at every fusing level, and its
/// error (one ulp more) where levels do not fuse.
macro_rules! measured {
    ($($test:ident: |$x:ident, $y:ident| $formula:expr, $exact:expr, $pairs:expr, $bound:expr;)*) => {$(
        mod $test {
            use super::*;

            #[derive(Clone, Copy)]
            struct This;
            impl Formula for This {
                #[inline(always)]
                fn call<R: Real>(self, $x: R, $y: R) -> R {
                    $formula
                }
            }

            fn scalar(pairs: &[(f32, f32)]) -> Vec<f32> {
                pairs.iter().map(|&(x, y)| This.call(x, y)).collect()
            }

            #[test]
            fn error_is_within_the_stated_bound() {
                let pairs = $pairs;
                let (error, at) = worst(&scalar(&pairs), &pairs, $exact);
                assert!(error <= $bound, "{error} ulp at {at:?}");
            }

            #[test]
            fn bits_are_the_same_at_every_fusing_level() {
                let pairs = $pairs;
                let scalar = scalar(&pairs);
                for level in SimdLevel::available().into_iter().filter(|level| level.fuses()) {
                    let lanes = level.run(Evaluate { pairs: &pairs, formula: This });
                    for ((a, b), at) in scalar.iter().zip(&lanes).zip(&pairs) {
                        let same = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                        assert!(same, "{a:e} and {b:e} of {at:?} at {level:?}");
                    }
                }
            }

            #[test]
            fn error_without_fusing_is_one_ulp_more() {
                let pairs = $pairs;
                for level in SimdLevel::available().into_iter().filter(|level| !level.fuses()) {
                    let lanes = level.run(Evaluate { pairs: &pairs, formula: This });
                    let (error, at) = worst(&lanes, &pairs, $exact);
                    assert!(error <= $bound + 1.0, "{error} ulp at {at:?} at {level:?}");
                }
            }
        }
    )*};
}

measured! {
    exponential: |x, _y| exp(x), |x, _| x.exp(), arguments(-88.0, 89.0), 0.9;
    exponential_finite: |x, _y| exp_finite(x), |x, _| x.exp(), pairs_between(-87.336_54, 88.722_83), 0.9;
    logarithm: |x, _y| ln(x), |x, _| x.ln(), arguments(0.5, 2.0), 0.8;
    logarithm_finite: |x, _y| ln_finite(x), |x, _| x.ln(), pairs_between(f32::MIN_POSITIVE, 10.0), 0.8;
    reciprocal_root: |x, _y| rsqrt(x), |x, _| 1.0 / (x + 0.0).sqrt(), arguments(1.0, 4.0), 1.0;
    reciprocal_root_finite: |x, _y| rsqrt_finite(x), |x, _| 1.0 / x.sqrt(), pairs_between(1.0, 4.0), 1.0;
    sine: |x, _y| sincos(x).0, |x, _| within(x, 8192.0).sin(), arguments(-20.0, 20.0), 2.5;
    cosine: |x, _y| sincos(x).1, |x, _| within(x, 8192.0).cos(), arguments(-20.0, 20.0), 2.5;
    sine_of_turns: |t, _y| sincos_turns(t).0, |t, _| quarter(t, 0.0), arguments(-2.0, 2.0), 2.0;
    cosine_of_turns: |t, _y| sincos_turns(t).1, |t, _| quarter(t, 1.0), arguments(-2.0, 2.0), 2.0;
    arc_cosine: |x, _y| acos(x), |x, _| x.acos(), arguments(-1.0, 1.0), 3.2;
    angle: |x, y| atan2(y, x), |x, y| y.atan2(x), points(), 2.6;
}

fn pairs_between(low: f32, high: f32) -> Vec<(f32, f32)> {
    evenly(low, high, 500_000).map(|x| (x, 0.0)).collect()
}

/// `x`, or NaN beyond `limit`.
fn within(x: f64, limit: f64) -> f64 {
    if x.abs() <= limit { x } else { f64::NAN }
}

/// The sine of 2π t + `ahead` π/2, with the exact reduction done before the f64 sine.
fn quarter(t: f64, ahead: f64) -> f64 {
    let quarters = within(t, 1_048_576.0) * 4.0;
    let nearest = quarters.round();
    let r = (quarters - nearest) * std::f64::consts::FRAC_PI_2;
    match (nearest + ahead).rem_euclid(4.0) {
        0.0 => r.sin(),
        1.0 => r.cos(),
        2.0 => -r.sin(),
        3.0 => -r.cos(),
        _ => f64::NAN,
    }
}

#[test]
fn subnormal_arguments_count_as_zero() {
    let tiny = f32::from_bits(0x007f_ffff);
    assert_eq!(ln(tiny), f32::NEG_INFINITY);
    assert_eq!(ln(-tiny), f32::NEG_INFINITY);
    assert_eq!(rsqrt(tiny), f32::INFINITY);
    assert_eq!(rsqrt(-tiny), f32::INFINITY);
    assert_eq!(exp(tiny), 1.0);
}

#[test]
fn sine_and_cosine_are_exact_at_quarter_turns() {
    let got: Vec<_> = [0.0, 0.25, 0.5, 0.75].into_iter().map(sincos_turns::<f32>).collect();
    assert_eq!(got, [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)]);
}
