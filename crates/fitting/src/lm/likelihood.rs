//! What is minimised: how noise turns the model's signal into samples.

use super::Number;

/// The distribution of a sample about the signal.
///
/// With σ = 0 all are least squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Likelihood {
    /// Least squares: yᵢ = fᵢ + noise.
    #[default]
    Gaussian,
    /// Least squares against √(f² + σ²), close to the mean of a magnitude (Alexander 2009).
    OffsetGaussian,
    /// Least squares against the mean of a magnitude whose parts have noise σ,
    /// σ √(π/2) L½(-f²/2σ²).
    RicianMean,
    /// The magnitude of a complex sample with noise σ in each part: minimises
    /// Σ w (½ (f - y)² - σ² ln(e⁻ᶻ I₀(z))), z = |y| f / σ², which is σ² times the negative
    /// logarithm of the likelihood up to a constant and never negative.
    ///
    /// Since -ln I₀ lies below its tangents, ½ (f - ỹ)² with ỹ = y I₁(z)/I₀(z) and ỹ held fixed
    /// lies above this cost: Gauss-Newton steps use r = f - ỹ and H = JᵀWJ (an EM step each).
    Rician,
}

/// Abramowitz & Stegun 9.8.1 to 9.8.4, in descending powers: I₀ and I₁/z of (z/3.75)², and
/// √z e⁻ᶻ I₀ and √z e⁻ᶻ I₁ of 3.75/z; errors below 2.2e-7.
pub(crate) const I0_SMALL: [f32; 7] =
    [0.004_581_3, 0.036_076_8, 0.265_973_2, 1.206_749_2, 3.089_942_4, 3.515_622_9, 1.0];
pub(crate) const I1_SMALL: [f32; 7] =
    [0.000_324_11, 0.003_015_32, 0.026_587_33, 0.150_849_34, 0.514_988_7, 0.878_905_94, 0.5];
pub(crate) const I0_LARGE: [f32; 9] = [
    0.003_923_77,
    -0.016_476_33,
    0.026_355_37,
    -0.020_577_06,
    0.009_162_81,
    -0.001_575_65,
    0.002_253_19,
    0.013_285_92,
    0.398_942_3,
];
pub(crate) const I1_LARGE: [f32; 9] = [
    -0.004_200_59,
    0.017_876_54,
    -0.028_953_12,
    0.022_829_67,
    -0.010_315_55,
    0.001_638_01,
    -0.003_620_18,
    -0.039_880_24,
    0.398_942_3,
];
/// Keeps quotients by σ² finite where σ is 0.
pub(crate) const LEAST_VARIANCE: f32 = 1e-30;
/// Where the two expansions meet.
pub(crate) const BESSEL_SPLIT: f32 = 3.75;

/// √(π/2).
pub(crate) const ROOT_HALF_PI: f32 = 1.253_314_1;

/// I₀(z) and I₁(z) by both approximations, of which the one on z's side of [`BESSEL_SPLIT`] holds.
struct Branches<R> {
    /// z, at most the split.
    below: R,
    /// z, at least the split.
    above: R,
    /// Both functions at `below`.
    small: [R; 2],
    /// e⁻ᶻ √z times both functions at `above`.
    large: [R; 2],
}

#[inline(always)]
fn branches<R>(z: R) -> Branches<R>
where
    R: fimbria_compute::Real + Number,
{
    use fimbria_compute::Real;
    let split = Real::splat(z, BESSEL_SPLIT);
    let below = Real::min(z, split);
    let t = below / BESSEL_SPLIT;
    let t = t * t;
    let above = Real::max(z, split);
    let u = split / above;
    Branches {
        below,
        above,
        small: [t.polynomial(I0_SMALL), below * t.polynomial(I1_SMALL)],
        large: [u.polynomial(I0_LARGE), u.polynomial(I1_LARGE)],
    }
}

/// ln(e⁻ᶻ I₀(z)) and I₁(z) / I₀(z) for z >= 0, for `f32` alone or in lanes.
#[inline(always)]
pub(crate) fn ln_i0e_and_ratio<R>(z: R) -> (R, R)
where
    R: fimbria_compute::Real + Number,
{
    use fimbria_compute::{Real, math};
    let Branches { below, above, small: [i0, i1], large: [l0, l1] } = branches(z);
    let small = z.at_most(Real::splat(z, BESSEL_SPLIT));
    let logarithm = math::ln(R::select(small, i0, l0));
    let ln_i0e = logarithm - R::select(small, below, math::ln(above) * Real::splat(z, 0.5));
    (ln_i0e, R::select(small, i1, l1) / R::select(small, i0, l0))
}

/// The mean of the magnitude of `f` with noise `sigma` in each part, and its derivative by f: with
/// t = f²/4σ², σ √(π/2) e⁻ᵗ ((1 + 2t) I₀(t) + 2t I₁(t)) and √(π/8) f/σ e⁻ᵗ (I₀(t) + I₁(t)). Where
/// `sigma` is 0 both are those of f itself.
#[inline(always)]
pub(crate) fn rician_mean<R>(f: R, sigma: R) -> (R, R)
where
    R: fimbria_compute::Real + Number,
{
    use fimbria_compute::{Real, math};
    let has_noise = Real::splat(f, 0.0).less(sigma * sigma);
    let noise = R::select(has_noise, sigma, Real::splat(f, 1.0));
    let half = f * 0.5 / noise;
    let t = half * half;
    let Branches { below, above, small: [i0, i1], large: [l0, l1] } = branches(t);
    let fall = math::exp(-below);
    let root = Real::splat(f, 1.0) / Real::sqrt(above);
    let small = t.at_most(Real::splat(f, BESSEL_SPLIT));
    let i0 = R::select(small, i0 * fall, l0 * root);
    let i1 = R::select(small, i1 * fall, l1 * root);
    let sum = i0 + i1;
    let mean = (t * 2.0).mul_add(sum, i0) * noise * ROOT_HALF_PI;
    let by = half * sum * ROOT_HALF_PI;
    (R::select(has_noise, mean, f), R::select(has_noise, by, Real::splat(f, 1.0)))
}

/// The same in `f64`.
pub(crate) fn rician_mean_f64(f: f64, sigma: f64) -> (f64, f64) {
    if sigma * sigma == 0.0 {
        return (f, 1.0);
    }
    let half = 0.5 * f / sigma;
    let t = half * half;
    let (ln_i0e, ratio) = ln_i0e_and_ratio_f64(t);
    let (i0, root) = (ln_i0e.exp(), std::f64::consts::FRAC_PI_2.sqrt());
    (sigma * root * i0 * (1.0 + 2.0 * t * (1.0 + ratio)), root * half * i0 * (1.0 + ratio))
}

/// ln(e⁻ᶻ I₀(z)) and I₁(z) / I₀(z) in `f64`: by the power series up to z = 30, by the asymptotic one beyond, both to
/// rounding.
pub(crate) fn ln_i0e_and_ratio_f64(z: f64) -> (f64, f64) {
    if z <= 30.0 {
        let quarter = z * z / 4.0;
        let (mut i0, mut i1, mut term) = (0.0, 0.0, 1.0);
        for k in 0..120 {
            let k = f64::from(k);
            i0 += term;
            i1 += term / (k + 1.0);
            term *= quarter / ((k + 1.0) * (k + 1.0));
        }
        return (i0.ln() - z, z / 2.0 * i1 / i0);
    }
    // e⁻ᶻ √(2πz) I_ν ~ Σ (-1)^k Π (4ν² - (2j-1)²) / (k! (8z)^k)
    let series = |four_nu_squared: f64| {
        let (mut sum, mut term) = (1.0, 1.0);
        for k in 1..25 {
            let k = f64::from(k);
            term *= -(four_nu_squared - (2.0 * k - 1.0).powi(2)) / (k * 8.0 * z);
            sum += term;
        }
        sum
    };
    let (i0, i1) = (series(0.0), series(4.0));
    (i0.ln() - 0.5 * (std::f64::consts::TAU * z).ln(), i1 / i0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bessel_functions_have_their_tabulated_values() {
        // Abramowitz & Stegun tables 9.8 and 9.11: e^-z I0, e^-z I1.
        for (z, i0e, i1e) in [
            (1.0, 0.465_759_607_6, 0.207_910_415_4),
            (5.0, 0.183_540_812_6, 0.163_972_266_9),
            (10.0, 0.127_833_337_2, 0.121_262_681_4),
        ] {
            let (ln_i0e, ratio) = ln_i0e_and_ratio_f64(z);
            assert!((ln_i0e.exp() / i0e - 1.0).abs() < 1e-9, "I0 at {z}");
            assert!((ratio / (i1e / i0e) - 1.0).abs() < 1e-9, "I1/I0 at {z}");
        }
    }

    #[test]
    fn both_expansions_agree_where_they_meet() {
        let (below, above) = (ln_i0e_and_ratio_f64(30.0), ln_i0e_and_ratio_f64(30.0 + 1e-9));
        assert!((below.0 - above.0).abs() < 1e-10);
        assert!((below.1 - above.1).abs() < 1e-10);
    }

    #[test]
    fn single_precision_follows_double() {
        for i in 0..2000 {
            let z = 1e-3 * 1.009_f32.powi(i); // to 6e4
            let (ln_i0e, ratio) = ln_i0e_and_ratio(z);
            let (true_ln, true_ratio) = ln_i0e_and_ratio_f64(f64::from(z));
            // The polynomials' own error, and rounding of a logarithm up to 6.
            assert!((f64::from(ln_i0e) - true_ln).abs() < 2e-6, "ln I0e({z})");
            assert!((f64::from(ratio) - true_ratio).abs() < 1.2e-6, "I1/I0({z})");
        }
    }

    /// By the trapezoidal rule over the density m/σ² exp(-(m - f)²/2σ²) e⁻ᶻ I₀(z), z = mf/σ².
    fn mean_by_quadrature(f: f64, sigma: f64) -> f64 {
        let step = sigma / 50.0;
        let density = |m: f64| {
            let (ln_i0e, _) = ln_i0e_and_ratio_f64(m * f / sigma.powi(2));
            m / sigma.powi(2) * (ln_i0e - 0.5 * ((m - f) / sigma).powi(2)).exp()
        };
        let steps = ((f + 10.0 * sigma) / step) as usize;
        (0..steps).map(|i| i as f64 * step).map(|m| m * density(m) * step).sum()
    }

    #[test]
    fn the_mean_of_a_magnitude_is_the_integral_over_its_density() {
        for f in [0.0, 0.01, 0.1, 0.3, 1.0, 2.0] {
            let (mean, by) = rician_mean_f64(f, 0.1);
            // The rule's error falls with the square of its step, 1/50 of the width.
            let most = 1e-5;
            assert!((mean - mean_by_quadrature(f, 0.1)).abs() < most, "mean at {f}: {mean}");
            let above = rician_mean_f64(f + 1e-5, 0.1).0;
            let below = rician_mean_f64(f - 1e-5, 0.1).0;
            assert!((by - (above - below) / 2e-5).abs() < 1e-7, "slope at {f}: {by}");
        }
        assert_eq!(rician_mean_f64(0.3, 0.0), (0.3, 1.0));
    }

    #[test]
    fn the_mean_of_a_magnitude_in_single_precision_follows_double() {
        assert_eq!(rician_mean(0.3_f32, 0.0), (0.3, 1.0));
        for i in 0..1500 {
            let f = 1e-4 * 1.01_f32.powi(i); // to 300 sigma and more
            let (mean, by) = rician_mean(f, 1.0);
            let (true_mean, true_by) = rician_mean_f64(f64::from(f), 1.0);
            // The polynomials' own error, and a few roundings.
            assert!((f64::from(mean) / true_mean - 1.0).abs() < 1.5e-6, "mean of {f}");
            assert!((f64::from(by) / true_by - 1.0).abs() < 1.5e-6, "slope of {f}");
        }
    }
}
