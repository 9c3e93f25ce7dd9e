//! The signal: sums of even Legendre polynomials for sticks dispersed by Watson's distribution, a
//! zeppelin of the same dispersion beside them, and free water.
//!
//! With x = b d and c the cosine between gradient and mean direction the sticks have
//! A = Σ (2l+1) w_l(κ) G_l(x) P_l(c) over even l, where w_l and G_l are the means of P_l(t) under
//! exp(κt²) and ½ exp(-xt²) on [-1, 1]: Funk and Hecke's theorem. Both obey
//! (l-1)/(2l-1) w_{l-2} = (2l+1) (1/2κ - 1/((2l-1)(2l+3))) w_l + (l+2)/(2l+3) w_{l+2}
//! (by parts), of which they are the solution that falls: from large l down it is stable.

use std::f64::consts::FRAC_PI_2;

use fimbria_fitting::lm::{Model, Number};

/// Number of even degrees that arrays have room for.
const ROOM: usize = 20;
/// Degrees above the last wanted one where the recurrence begins, half of them: then rounding of `f32`
/// is all that is left of the guess there.
const ABOVE: usize = 11;
/// The same in `f64`, without a guess.
const FAR_ABOVE: usize = 60;

/// Sticks, a zeppelin, free water and what stands still:
/// S0 (q + (1-q) ((1-v) (f A + (1-f) E) + v exp(-b d_free))) with degrees up to 2 K.
///
/// Parameters S0, f, ODI, v, t₁, t₂, q: the mean direction is e₁ + t₁e₂ + t₂e₃, of length 1.
/// Covariates: x = b d, exp(-b d_free), the direction, then (2l+1) G_l(x) for l = 0, 2, ... 2K.
/// Constants: the axes e₁, e₂, e₃, which are orthogonal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dispersed<const K: usize>;

/// Degrees before and behind in c² P_l = above P_{l+2} + same P_l + below P_{l-2}, l = 2k.
#[inline(always)]
fn of_square(k: usize) -> [f64; 3] {
    let l = 2.0 * k as f64;
    let above = (l + 1.0) * (l + 2.0) / ((2.0 * l + 1.0) * (2.0 * l + 3.0));
    let same = (2.0 * l * l + 2.0 * l - 1.0) / ((2.0 * l - 1.0) * (2.0 * l + 3.0));
    [above, same, l * (l - 1.0) / ((2.0 * l + 1.0) * (2.0 * l - 1.0))]
}

/// The numbers of the recurrence at l = 2k: of w_{l-2}, the factor and shift of w_l, of w_{l+2}.
#[inline(always)]
fn of_recurrence(k: usize) -> [f64; 4] {
    let l = 2.0 * k as f64;
    let shift = 1.0 / ((2.0 * l - 1.0) * (2.0 * l + 3.0));
    [(l - 1.0) / (2.0 * l - 1.0), 2.0 * l + 1.0, shift, (l + 2.0) / (2.0 * l + 3.0)]
}

/// w_l of l = 0, 2, ... 2(K + 1), from 1/2κ > 0.
#[inline(always)]
fn watson<N: Number, const K: usize>(half_inverse: N) -> [N; ROOM] {
    let number = |value: f64| half_inverse.lift(half_inverse.constant(value));
    // Where the ratio hardly changes from degree to degree: c r² + b r = a.
    let [a, factor, shift, c] = of_recurrence(K + 1 + ABOVE);
    let b = (half_inverse - half_inverse.constant(shift)) * half_inverse.constant(factor);
    let mut ratio = number(2.0 * a) / (b + (b * b + half_inverse.constant(4.0 * a * c)).sqrt());
    let mut ratios = [ratio; ROOM];
    for k in (1..K + 1 + ABOVE).rev() {
        let [a, factor, shift, c] = of_recurrence(k);
        let b = (half_inverse - half_inverse.constant(shift)) * half_inverse.constant(factor);
        ratio = number(a) / b.plus_product(ratio, number(c));
        if k <= K + 1 {
            ratios[k] = ratio;
        }
    }
    let mut w = [number(1.0); ROOM];
    for k in 1..=K + 1 {
        w[k] = w[k - 1] * ratios[k];
    }
    w
}

/// G_l(x) of l = 0, 2, ..., x >= 0.
pub(super) fn decay_moments(x: f64, to: &mut [f64]) {
    let (mut ratio, mut ratios) = (0.0, vec![1.0; to.len()]);
    for k in (1..to.len() + FAR_ABOVE).rev() {
        let [a, factor, shift, c] = of_recurrence(k);
        ratio = a / ((-0.5 / x - shift) * factor + c * ratio);
        if let Some(kept) = ratios.get_mut(k) {
            *kept = ratio;
        }
    }
    // At t = 0 the series is exp(0); all its terms are positive there.
    let (mut term, mut at_zero, mut sum) = (1.0, 1.0, 0.0);
    for (k, ratio) in ratios.into_iter().enumerate() {
        let l = 2.0 * k as f64;
        term *= ratio;
        at_zero *= if k == 0 { 1.0 } else { -(l - 1.0) / l };
        sum += (2.0 * l + 1.0) * term * at_zero;
        to[k] = term;
    }
    to.iter_mut().for_each(|value| *value /= sum);
}

/// w_l of l = 0, 2, ... 2K, for an orientation dispersion index.
pub(super) fn watson_moments<const K: usize>(odi: f64) -> Vec<f64> {
    watson::<f64, K>(0.5 * (FRAC_PI_2 * odi).tan())[..=K].to_vec()
}

/// P_l of l = 0, 2, ..., of an argument with this square.
pub(super) fn polynomials(square: f64, to: &mut [f64]) {
    let (mut before, mut polynomial) = (0.0, 1.0);
    for (k, value) in to.iter_mut().enumerate() {
        *value = polynomial;
        let [above, same, below] = of_square(k);
        (before, polynomial) =
            (polynomial, ((square - same) * polynomial - before * below) / above);
    }
}

/// w_2 of an orientation dispersion index.
pub(super) fn second_moment(odi: f64) -> f64 {
    watson::<f64, 10>(0.5 * (FRAC_PI_2 * odi).tan())[1]
}

/// What a sample says of the mean direction: c², and its derivatives by t₁ and t₂.
#[inline(always)]
fn squared_cosine<N: Number>(t: [N; 2], g: &[N::Constant], axes: &[N::Constant]) -> (N, [N; 2]) {
    let along = |i: usize| g[0] * axes[3 * i] + g[1] * axes[3 * i + 1] + g[2] * axes[3 * i + 2];
    let (g1, g2, g3) = (t[0].lift(along(0)), along(1), along(2));
    let dot = g1 + t[0] * g2 + t[1] * g3;
    let one = t[0].lift(t[0].constant(1.0));
    let inverse = one / (t[0] * t[0] + t[1] * t[1] + t[0].constant(1.0));
    let square = dot * dot * inverse;
    let twice = inverse * t[0].constant(2.0);
    (square, [twice * (dot * g2 - square * t[0]), twice * (dot * g3 - square * t[1])])
}

impl<const K: usize> Model<7> for Dispersed<K> {
    fn n_covariates(&self) -> usize {
        5 + K + 1
    }

    fn n_constants(&self) -> usize {
        9
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 7], known: &[N::Constant], axes: &[N::Constant]) -> N {
        let [s0, f, odi, v, t1, t2, still] = *p;
        let number = |value: f64| s0.lift(s0.constant(value));
        let angle = odi * odi.constant(FRAC_PI_2);
        let w = watson::<N, K>(angle.sin() / angle.cos() * odi.constant(0.5));
        let (square, _) = squared_cosine([t1, t2], &known[2..5], axes);

        let (mut before, mut polynomial) = (number(0.0), number(1.0));
        let mut sticks = number(0.0);
        for k in 0..=K {
            sticks = sticks + w[k] * polynomial * known[5 + k];
            let [above, same, below] = of_square(k);
            let next = ((square - s0.constant(same)) * polynomial - before * s0.constant(below))
                * s0.constant(1.0 / above);
            (before, polynomial) = (polynomial, next);
        }
        let hindrance = (w[1] + s0.constant(2.0)) * s0.constant(1.0 / 3.0) - w[1] * square;
        let zeppelin = ((f * hindrance - s0.constant(1.0)) * known[0]).exp();
        let tissue = f * sticks + (number(1.0) - f) * zeppelin;
        let moving = tissue + v * (s0.lift(known[1]) - tissue);
        s0 * (moving + still * (number(1.0) - moving))
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 7],
        known: &[N],
        axes: &[N],
    ) -> (N, [N; 7]) {
        let [s0, f, odi, v, t1, t2, still] = *p;
        let one = s0.constant(1.0);
        let angle = odi * odi.constant(FRAC_PI_2);
        let sine = angle.sin();
        let w = watson::<N, K>(sine / angle.cos() * odi.constant(0.5));
        let mean_square = (one + w[1] + w[1]) * odi.constant(1.0 / 3.0);
        // dκ of dODI.
        let stretch = odi.constant(-FRAC_PI_2) / (sine * sine);
        let (square, by_t) = squared_cosine([t1, t2], &known[2..5], axes);

        let zero = s0.constant(0.0);
        let (mut before, mut polynomial, mut slope_before, mut slope) = (zero, one, zero, zero);
        let (mut sticks, mut by_square, mut by_kappa) = (zero, zero, zero);
        for k in 0..=K {
            let [above, same, below] = of_square(k);
            let decay = known[5 + k];
            let weighted = w[k] * decay;
            sticks = sticks.plus_product(weighted, polynomial);
            if k > 0 {
                by_square = by_square.plus_product(weighted, slope);
                let drift = w[k + 1] * s0.constant(above)
                    + w[k] * (s0.constant(same) - mean_square)
                    + w[k - 1] * s0.constant(below);
                by_kappa = by_kappa.plus_product(drift * decay, polynomial);
            }
            let (shifted, upwards) = (square - s0.constant(same), s0.constant(1.0 / above));
            let next = (shifted * polynomial - before * s0.constant(below)) * upwards;
            let next_slope = (polynomial.plus_product(shifted, slope)
                - slope_before * s0.constant(below))
                * upwards;
            (before, polynomial, slope_before, slope) = (polynomial, next, slope, next_slope);
        }
        let third = s0.constant(1.0 / 3.0);
        let drift = w[2] * s0.constant(of_square(1)[0])
            + w[1] * (s0.constant(of_square(1)[1]) - mean_square)
            + s0.constant(of_square(1)[2]);
        let hindrance = (w[1] + s0.constant(2.0)) * third - w[1] * square;
        let zeppelin = ((f * hindrance - one) * known[0]).exp();
        let outside = (one - f) * zeppelin;
        let tissue = f * sticks + outside;
        let moving = tissue + v * (known[1] - tissue);
        let attenuation = moving + still * (one - moving);

        let of_moving = s0 * (one - still);
        let of_tissue = of_moving * (one - v);
        let of_exponent = outside * known[0];
        let along = of_tissue * (f * by_square - of_exponent * f * w[1]);
        let slopes = [
            attenuation,
            of_tissue * (sticks - zeppelin + of_exponent * hindrance),
            of_tissue * f * (by_kappa + of_exponent * (third - square) * drift) * stretch,
            of_moving * (known[1] - tissue),
            along * by_t[0],
            along * by_t[1],
            s0 * (one - moving),
        ];
        (s0 * attenuation, slopes)
    }
}
