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

use crate::curve::{TURNED, along, squared_cosine, turned_axis};

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

/// The numbers of c² P_l = above P_{l+2} + same P_l + below P_{l-2}, l = 2k.
const fn square_terms(k: usize) -> [f64; 3] {
    let l = 2.0 * k as f64;
    let above = (l + 1.0) * (l + 2.0) / ((2.0 * l + 1.0) * (2.0 * l + 3.0));
    let same = (2.0 * l * l + 2.0 * l - 1.0) / ((2.0 * l - 1.0) * (2.0 * l + 3.0));
    [above, same, l * (l - 1.0) / ((2.0 * l + 1.0) * (2.0 * l - 1.0))]
}

/// [`square_terms`] of each degree.
const SQUARE: [[f64; 3]; ROOM] = {
    let mut numbers = [[0.0; 3]; ROOM];
    let mut k = 0;
    while k < ROOM {
        numbers[k] = square_terms(k);
        k += 1;
    }
    numbers
};

/// The leading coefficient of P_l in c², l = 2k.
const LEADING: [f64; ROOM] = {
    let mut factors = [1.0; ROOM];
    let mut k = 1;
    while k < ROOM {
        factors[k] = factors[k - 1] / SQUARE[k - 1][0];
        k += 1;
    }
    factors
};

/// [`recurrence_terms`] of each degree.
const RECURRENCE: [[f64; 4]; ROOM + ABOVE] = {
    let mut numbers = [[0.0; 4]; ROOM + ABOVE];
    let mut k = 0;
    while k < ROOM + ABOVE {
        numbers[k] = recurrence_terms(k);
        k += 1;
    }
    numbers
};

/// The numbers of the recurrence at l = 2k: of w_{l-2}, the factor and shift of w_l, of w_{l+2}.
const fn recurrence_terms(k: usize) -> [f64; 4] {
    let l = 2.0 * k as f64;
    let shift = 1.0 / ((2.0 * l - 1.0) * (2.0 * l + 3.0));
    [(l - 1.0) / (2.0 * l - 1.0), 2.0 * l + 1.0, shift, (l + 2.0) / (2.0 * l + 3.0)]
}

/// A number without derivatives, of the kind of another.
#[inline(always)]
fn number<N: Number>(like: N, value: f64) -> N {
    like.lift(like.constant(value))
}

/// w_l of l = 0, 2, ... 2(K + 1), from 1/2κ > 0.
#[inline(always)]
fn watson<N: Number, const K: usize>(half_inverse: N) -> [N; ROOM] {
    // Where the ratio hardly changes from degree to degree: c r² + b r = a.
    let [a, factor, shift, c] = RECURRENCE[K + 1 + ABOVE];
    let b = (half_inverse - half_inverse.constant(shift)) * half_inverse.constant(factor);
    let root = (b * b + half_inverse.constant(4.0 * a * c)).sqrt();
    let mut ratio = number(half_inverse, 2.0 * a) / (b + root);
    let mut ratios = [ratio; ROOM];
    for k in (1..K + 1 + ABOVE).rev() {
        let [a, factor, shift, c] = RECURRENCE[k];
        let b = (half_inverse - half_inverse.constant(shift)) * half_inverse.constant(factor);
        ratio = number(half_inverse, a) / b.plus_product(ratio, number(half_inverse, c));
        if k <= K + 1 {
            ratios[k] = ratio;
        }
    }
    let mut w = [number(half_inverse, 1.0); ROOM];
    for k in 1..=K + 1 {
        w[k] = w[k - 1] * ratios[k];
    }
    w
}

/// G_l(x) of l = 0, 2, ..., x >= 0.
pub(super) fn decay_moments(x: f64, to: &mut [f64]) {
    let (mut ratio, mut ratios) = (0.0, vec![1.0; to.len()]);
    for k in (1..to.len() + FAR_ABOVE).rev() {
        let [a, factor, shift, c] = recurrence_terms(k);
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
        let [above, same, below] = SQUARE[k];
        (before, polynomial) =
            (polynomial, ((square - same) * polynomial - before * below) / above);
    }
}

/// w_2 of an orientation dispersion index.
pub(super) fn second_moment(odi: f64) -> f64 {
    watson::<f64, 10>(0.5 * (FRAC_PI_2 * odi).tan())[1]
}

/// Where it keeps what the samples of a problem share.
impl<const K: usize> Dispersed<K> {
    /// dκ of dODI, behind the mean direction.
    const STRETCH: usize = TURNED;
    /// w_2, and its derivative by κ.
    const SECOND: usize = Self::STRETCH + 1;
    /// w_l times the leading coefficient of P_l, l = 0, 2, ... 2K.
    const WATSON: usize = Self::SECOND + 2;
    /// Its derivative by κ, l = 2, 4, ... 2K.
    const DRIFT: usize = Self::WATSON + K + 1;
    const PREPARED: usize = Self::DRIFT + K;
}

impl<const K: usize> Model<7> for Dispersed<K> {
    fn n_covariates(&self) -> usize {
        5 + K + 1
    }

    fn n_constants(&self) -> usize {
        9
    }

    fn n_prepared(&self) -> usize {
        Self::PREPARED
    }

    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 7], known: &[N::Constant], axes: &[N::Constant]) -> N {
        let [s0, f, odi, v, t1, t2, still] = *p;
        let (zero, one) = (number(s0, 0.0), number(s0, 1.0));
        let angle = odi * odi.constant(FRAC_PI_2);
        let w = watson::<N, K>(angle.sin() / angle.cos() * odi.constant(0.5));
        let g = &known[2..5];
        let dot = t1 * along(g, &axes[3..]) + t2 * along(g, &axes[6..]) + along(g, axes);
        let square = dot * dot / (t1 * t1 + t2 * t2 + one);

        let (mut before, mut polynomial) = (zero, one);
        let mut sticks = zero;
        for k in 0..=K {
            sticks = sticks + w[k] * polynomial * known[5 + k];
            let [above, same, below] = SQUARE[k];
            let next = ((square - s0.constant(same)) * polynomial - before * s0.constant(below))
                * s0.constant(1.0 / above);
            (before, polynomial) = (polynomial, next);
        }
        let hindrance = (w[1] + s0.constant(2.0)) * s0.constant(1.0 / 3.0) - w[1] * square;
        let zeppelin = ((f * hindrance - s0.constant(1.0)) * known[0]).exp();
        let tissue = f * sticks + (one - f) * zeppelin;
        let moving = tissue + v * (s0.lift(known[1]) - tissue);
        s0 * (moving + still * (one - moving))
    }

    #[inline(always)]
    fn prepare<N: Number<Constant = N>>(&self, p: &[N; 7], axes: &[N], prepared: &mut [N]) {
        let [s0, _, odi, _, t1, t2, _] = *p;
        let one = s0.constant(1.0);
        turned_axis([t1, t2], axes, prepared);
        let angle = odi * odi.constant(FRAC_PI_2);
        let sine = angle.sin();
        prepared[Self::STRETCH] = odi.constant(-FRAC_PI_2) / (sine * sine);
        let w = watson::<N, K>(sine / angle.cos() * odi.constant(0.5));
        let mean_square = (one + w[1] + w[1]) * odi.constant(1.0 / 3.0);
        for k in 0..=K {
            prepared[Self::WATSON + k] = w[k] * s0.constant(LEADING[k]);
        }
        for k in 1..=K {
            let [above, same, below] = SQUARE[k];
            let drift = w[k + 1] * s0.constant(above)
                + w[k] * (s0.constant(same) - mean_square)
                + w[k - 1] * s0.constant(below);
            if k == 1 {
                prepared[Self::SECOND] = w[1];
                prepared[Self::SECOND + 1] = drift;
            }
            prepared[Self::DRIFT + k - 1] = drift * s0.constant(LEADING[k]);
        }
    }

    #[inline(always)]
    fn signal_and_slope<N: Number<Constant = N>>(
        &self,
        p: &[N; 7],
        known: &[N],
        constants: &[N],
    ) -> (N, [N; 7]) {
        let [s0, f, _, v, _, _, still] = *p;
        let prepared = &constants[self.n_constants()..];
        let (square, [by_t1, by_t2]) = squared_cosine(&known[2..5], prepared);

        // Polynomials of c² whose leading coefficient is 1, and their derivatives.
        let (zero, one) = (s0.constant(0.0), s0.constant(1.0));
        let (mut before, mut polynomial, mut slope_before, mut slope) = (zero, one, zero, zero);
        let mut sticks = prepared[Self::WATSON] * known[5];
        let (mut by_square, mut by_kappa) = (zero, zero);
        for k in 1..=K {
            let [_, same, below] = SQUARE[k - 1];
            let shifted = square - s0.constant(same);
            let mut next = shifted * polynomial;
            let mut next_slope = polynomial.plus_product(shifted, slope);
            if k > 1 {
                let back = s0.constant(-below * SQUARE[k - 2][0]);
                next = next.plus_product(before, back);
                next_slope = next_slope.plus_product(slope_before, back);
            }
            (before, polynomial, slope_before, slope) = (polynomial, next, slope, next_slope);

            let decay = known[5 + k];
            let weighted = prepared[Self::WATSON + k] * decay;
            sticks = sticks.plus_product(weighted, polynomial);
            by_square = by_square.plus_product(weighted, slope);
            by_kappa = by_kappa.plus_product(prepared[Self::DRIFT + k - 1] * decay, polynomial);
        }
        let [second, drift] = [prepared[Self::SECOND], prepared[Self::SECOND + 1]];
        let third = s0.constant(1.0 / 3.0);
        let hindrance = (second + s0.constant(2.0)) * third - second * square;
        let zeppelin = ((f * hindrance - one) * known[0]).exp();
        let outside = (one - f) * zeppelin;
        let tissue = f * sticks + outside;
        let moving = tissue + v * (known[1] - tissue);
        let attenuation = moving + still * (one - moving);

        let of_moving = s0 * (one - still);
        let of_tissue = of_moving * (one - v);
        let of_exponent = outside * known[0];
        let by_direction = of_tissue * f * (by_square - of_exponent * second);
        let by_kappa = of_tissue * f * (by_kappa + of_exponent * (third - square) * drift);
        let slopes = [
            attenuation,
            of_tissue * (sticks - zeppelin + of_exponent * hindrance),
            by_kappa * prepared[Self::STRETCH],
            of_moving * (known[1] - tissue),
            by_direction * by_t1,
            by_direction * by_t2,
            s0 * (one - moving),
        ];
        (s0 * attenuation, slopes)
    }
}
