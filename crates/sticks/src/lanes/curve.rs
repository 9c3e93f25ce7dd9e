//! What is left of the signal of ball and sticks.

use fimbria_compute::Real;
use fimbria_compute::math::{exp_finite, ln_finite};

use crate::Diffusivity;
use crate::rules::{LEAST_DIFFUSIVITY, LEAST_SPREAD, MOST_EXPONENT};

/// The factors that do not depend on the measurement.
#[derive(Clone, Copy)]
pub(crate) struct Curve<R: Real> {
    diffusivity: Diffusivity,
    /// -d
    rate: R,
    /// s²/d and -d²/s²; both 0 where there is no spread.
    scale: R,
    power: R,
    /// -d where there is no spread, else 0.
    plain: R,
    /// Of a zeppelin's exponent: factors of b (g·v)² and of b.
    along: R,
    everywhere: R,
}

#[inline(always)]
fn decay<R: Real>(exponent: R) -> R {
    exp_finite(exponent.max(exponent.splat(-(MOST_EXPONENT as f32))))
}

impl<R: Real> Curve<R> {
    #[inline(always)]
    pub(crate) fn new(diffusivity: Diffusivity, d: R, s: R, ratio: R) -> Self {
        let zero = d.splat(0.0);
        let mut curve = Self {
            diffusivity,
            rate: -d,
            scale: zero,
            power: zero,
            plain: zero,
            along: zero,
            everywhere: zero,
        };
        if diffusivity != Diffusivity::Single {
            let spreads = d.splat(LEAST_SPREAD as f32).at_most(s);
            let safe = R::select(spreads, s, d.splat(1.0));
            let scale = safe * safe / d.max(d.splat(LEAST_DIFFUSIVITY as f32));
            let power = -(d * d) / (safe * safe);
            curve.scale = R::select(spreads, scale, zero);
            curve.power = R::select(spreads, power, zero);
            curve.plain = R::select(spreads, zero, -d);
        }
        if diffusivity == Diffusivity::Zeppelin {
            let factor = d * -3.0 / ratio.mul_add(d.splat(2.0), d.splat(1.0));
            curve.along = factor * (d.splat(1.0) - ratio);
            curve.everywhere = factor * ratio;
        }
        curve
    }

    #[inline(always)]
    fn gamma(&self, x: R) -> R {
        let u = x * self.scale;
        // ln(1 + u), with what the sum rounded off: u is small where the spread is.
        let sum = u + 1.0;
        let ln = ln_finite(sum) + (u - (sum - 1.0));
        decay(ln.mul_add(self.power, x * self.plain))
    }

    /// The ball, of b.
    #[inline(always)]
    pub(crate) fn ball(&self, b: R) -> R {
        if self.diffusivity == Diffusivity::Single { decay(b * self.rate) } else { self.gamma(b) }
    }

    /// A stick, of b and x = b (g·v)².
    #[inline(always)]
    pub(crate) fn stick(&self, b: R, x: R) -> R {
        match self.diffusivity {
            Diffusivity::Single => decay(x * self.rate),
            Diffusivity::Gamma => self.gamma(x),
            Diffusivity::Zeppelin => decay(x.mul_add(self.along, b * self.everywhere)),
        }
    }
}
