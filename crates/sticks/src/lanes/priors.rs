//! Ranges and priors of proposals.

use fimbria_compute::Real;
use fimbria_compute::math::{ln, sincos_turns};

use super::chain::Chain;
use super::constants::Constants;
use super::pack::Pack;
use crate::Diffusivity;
use crate::rules::MOST_DIFFUSIVITY;
use crate::slots::{DIFFUSIVITY, FIBRES, OFFSET, PRECISION, RATIO, S0, SPREAD};

/// Whether a proposal is in range, and the energy that its prior adds.
pub(crate) struct Judged<R: Real> {
    pub(crate) inside: R::Flags,
    pub(crate) added: R,
}

impl<R: Pack> Chain<'_, R> {
    /// f0 + Σ f without `slot`.
    #[inline(always)]
    fn sum_without(&self, slot: usize) -> R {
        let mut sum = if slot == OFFSET { self.value(0.0) } else { self.p[OFFSET] };
        for other in (FIBRES + 2..FIBRES + 3 * self.constants.n_fibres).step_by(3) {
            if other != slot {
                sum = sum + self.p[other];
            }
        }
        sum
    }

    /// What the priors say to `new` in the place of slot `slot`.
    #[inline(always)]
    pub(crate) fn judge(&self, slot: usize, new: R) -> Judged<R> {
        let Constants { ratio, most_spread, .. } = *self.constants;
        let (old, zero, one) = (self.p[slot], self.value(0.0), self.value(1.0));
        let mut added = zero;
        let inside = match slot {
            S0 => zero.at_most(new),
            PRECISION => zero.less(new),
            DIFFUSIVITY => {
                if self.constants.diffusivity == Diffusivity::Zeppelin {
                    added = (ln(old) - ln(new)).mul_add(self.value(2.0), (new - old) * 4.0);
                }
                zero.at_most(new) & new.at_most(self.value(MOST_DIFFUSIVITY as f32))
            }
            SPREAD => {
                added = ln(new) - ln(old);
                zero.less(new) & new.at_most(self.value(most_spread))
            }
            RATIO => {
                let (mean, std) = ratio;
                let score = |r: R| (r - mean) / std;
                let (after, before) = (score(new), score(old));
                added = after * after - before * before;
                self.value(mean - 2.0 * std).less(new) & new.at_most(self.value(2.0 * mean))
            }
            _ if slot != OFFSET && (slot - FIBRES).is_multiple_of(3) => {
                added = ln(sincos_turns(old).0.abs()) - ln(sincos_turns(new).0.abs());
                zero.at_most(one)
            }
            _ if slot != OFFSET && (slot - FIBRES) % 3 == 1 => zero.at_most(one),
            // f0 and the fractions.
            _ => {
                let exponent = self.constants.relevance[slot];
                if exponent != 0.0 {
                    added = (ln(new) - ln(old)) * exponent;
                }
                let room = (new + self.sum_without(slot)).at_most(one);
                zero.less(new) & new.less(one) & room
            }
        };
        Judged { inside, added }
    }
}
