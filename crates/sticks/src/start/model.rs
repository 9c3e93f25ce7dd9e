//! Ball and three sticks for Levenberg-Marquardt.
//!
//! Parameters are S0, d (µm²/ms), then for each fibre its share of what the fibres before it left,
//! θ and φ (radians), and with a Gamma distribution the spread last. Covariates are √b g and b.

use fimbria_fitting::lm::{Model, Number};

/// Parameters without the spread.
pub(crate) const FITTED: usize = 11;
const FIBRES: usize = 3;

/// One diffusivity.
pub(crate) struct SingleSticks;

/// Gamma-distributed diffusivities.
pub(crate) struct GammaSticks;

/// What is left of a signal, and its derivatives by x, d and the spread.
struct Decay<N> {
    value: N,
    by_x: N,
    by_d: N,
    by_s: N,
}

#[inline(always)]
fn single<N: Number<Constant = N>>(d: N, x: N) -> Decay<N> {
    let value = (-d * x).exp();
    Decay { value, by_x: -d * value, by_d: -x * value, by_s: d.constant(0.0) }
}

/// (1 + x s²/d)^(-d²/s²)
#[inline(always)]
fn gamma<N: Number<Constant = N>>(d: N, s: N, x: N) -> Decay<N> {
    let (scale, shape) = (s * s / d, d * d / (s * s));
    let base = x * scale + d.constant(1.0);
    let ln = base.ln();
    let value = (-shape * ln).exp();
    // Derivatives of the exponent -shape ln(base).
    let by_base = -shape / base;
    let by_x = by_base * scale;
    let by_d = -d.constant(2.0) * d / (s * s) * ln - by_base * x * scale / d;
    let by_s = d.constant(2.0) * shape / s * ln + by_base * x * d.constant(2.0) * s / d;
    Decay { value, by_x: value * by_x, by_d: value * by_d, by_s: value * by_s }
}

#[inline(always)]
fn decay<N: Number<Constant = N>, const P: usize>(p: &[N; P], x: N) -> Decay<N> {
    if P == FITTED { single(p[1], x) } else { gamma(p[1], p[P - 1], x) }
}

#[inline(always)]
fn signal<N: Number, const P: usize>(p: &[N; P], known: &[N::Constant]) -> N {
    let one = p[0].constant(1.0);
    let d = p[1];
    let mut rest = p[0].lift(one);
    let mut sum = p[0].lift(p[0].constant(0.0));
    let b = p[0].lift(known[3]);
    for k in 0..FIBRES {
        let [share, theta, phi] = [p[2 + 3 * k], p[3 + 3 * k], p[4 + 3 * k]];
        let across = phi.cos() * known[0] + phi.sin() * known[1];
        let along = theta.sin() * across + theta.cos() * known[2];
        sum = sum + share * rest * left::<N, P>(p, d, along * along);
        rest = rest * (-share + one);
    }
    p[0] * (sum + rest * left::<N, P>(p, d, b))
}

#[inline(always)]
fn left<N: Number, const P: usize>(p: &[N; P], d: N, x: N) -> N {
    if P == FITTED {
        return (-d * x).exp();
    }
    let s = p[P - 1];
    (-(d * d) / (s * s) * (x * s * s / d + p[0].constant(1.0)).ln()).exp()
}

#[inline(always)]
fn signal_and_slope<N: Number<Constant = N>, const P: usize>(
    p: &[N; P],
    known: &[N],
) -> (N, [N; P]) {
    let (one, zero, two) = (p[0].constant(1.0), p[0].constant(0.0), p[0].constant(2.0));
    let s0 = p[0];
    let mut slope = [zero; P];

    // What each fibre leaves to the next, and from the last the signal of all from it on.
    let mut left = [one; FIBRES];
    for k in 1..FIBRES {
        left[k] = left[k - 1] * (one - p[2 + 3 * (k - 1)]);
    }
    let ball = decay(p, known[3]);
    let rest = left[FIBRES - 1] * (one - p[2 + 3 * (FIBRES - 1)]);
    let mut after = ball.value;
    let (mut by_d, mut by_s) = (rest * ball.by_d, rest * ball.by_s);
    for k in (0..FIBRES).rev() {
        let [share, theta, phi] = [p[2 + 3 * k], p[3 + 3 * k], p[4 + 3 * k]];
        let (sin_theta, cos_theta) = (theta.sin(), theta.cos());
        let (sin_phi, cos_phi) = (phi.sin(), phi.cos());
        let across = cos_phi * known[0] + sin_phi * known[1];
        let along = sin_theta * across + cos_theta * known[2];
        let stick = decay(p, along * along);
        let f = s0 * share * left[k];
        let by_along = f * stick.by_x * two * along;
        slope[2 + 3 * k] = s0 * left[k] * (stick.value - after);
        slope[3 + 3 * k] = by_along * (cos_theta * across - sin_theta * known[2]);
        slope[4 + 3 * k] = by_along * sin_theta * (cos_phi * known[1] - sin_phi * known[0]);
        by_d = by_d + share * left[k] * stick.by_d;
        by_s = by_s + share * left[k] * stick.by_s;
        after = share * stick.value + (one - share) * after;
    }
    slope[0] = after;
    slope[1] = s0 * by_d;
    if P > FITTED {
        slope[P - 1] = s0 * by_s;
    }
    (s0 * after, slope)
}

/// A model for a number of parameters.
macro_rules! model {
    ($name:ident, $parameters:expr) => {
        impl Model<{ $parameters }> for $name {
            fn n_covariates(&self) -> usize {
                4
            }

            #[inline(always)]
            fn signal<N: Number>(
                &self,
                p: &[N; $parameters],
                known: &[N::Constant],
                _: &[N::Constant],
            ) -> N {
                signal(p, known)
            }

            #[inline(always)]
            fn signal_and_slope<N: Number<Constant = N>>(
                &self,
                p: &[N; $parameters],
                known: &[N],
                _: &[N],
            ) -> (N, [N; $parameters]) {
                signal_and_slope(p, known)
            }
        }
    };
}

model!(SingleSticks, FITTED);
model!(GammaSticks, FITTED + 1);

#[cfg(test)]
mod tests {
    use fimbria_fitting::lm::derivative_error;

    use super::*;

    #[test]
    fn derivatives_are_those_of_dual_numbers() {
        let p = [1.3, 1.7, 0.5, 0.8, -0.4, 0.3, 1.9, 2.2, 0.1, -1.0, 0.7, 0.6];
        let known = [0.6, -0.9, 0.7, 0.36 + 0.81 + 0.49];
        let [single @ .., _] = p;
        // Rounding of some fifty operations in f64.
        assert!(derivative_error(&SingleSticks, &single, &known, &[]) < 1e-13);
        assert!(derivative_error(&GammaSticks, &p, &known, &[]) < 1e-13);
    }
}
