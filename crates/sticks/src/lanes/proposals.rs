//! Jumps: moves proposed, judged and taken.

use fimbria_compute::math::{exp_finite, ln};
use fimbria_compute::philox::{Philox, normals, uniform};
use fimbria_compute::{Flags as _, Word as _};

use super::chain::Chain;
use super::pack::Pack;
use super::priors::Judged;
use crate::rules::{MOST_EXPONENT, WIDEST, WIDEST_TURN};
use crate::slots::{
    self, DIFFUSIVITY, JOINT, MOST, MOST_CHANGED, OFFSET, PRECISION, RATIO, S0, SCALES, SPREAD,
    fibre,
};

/// The same angle in (-1/2, 1/2] turns.
#[inline(always)]
fn turned<R: Pack>(turns: R) -> R {
    let round = turns.splat(12_582_912.0);
    turns - ((turns + round) - round)
}

impl<R: Pack> Chain<'_, R> {
    #[inline(always)]
    pub(super) fn jump(&mut self, jump: u32) {
        let constants = self.constants;
        if jump <= constants.burn_in && jump.is_multiple_of(constants.adapt_every) {
            self.learn();
        }
        let n = constants.moves.len();
        for (k, &kind) in constants.moves.iter().enumerate() {
            let slot = slots::turn(kind, jump, constants.joint);
            let words = self.words(jump, k);
            let [first, second, ..] = normals::<R>(words);
            let mut z = [first, second, first, second];
            if slot == JOINT {
                [z[2], z[3], ..] = normals::<R>(self.words(jump, n));
            }
            self.propose(slot, z, uniform::<R>(words[2]));
        }
    }

    /// The random words of a move, or of the last one's successor.
    #[inline(always)]
    fn words(&self, jump: u32, k: usize) -> [R::Word; 4] {
        let constants = self.constants;
        let step = jump * (constants.moves.len() + 1) as u32 + k as u32;
        let [low, high] = self.item;
        Philox::new(constants.seed).lanes(low, high, low.splat(step))
    }

    /// The state with the move of `slot` made.
    #[inline(always)]
    fn moved(&self, slot: usize, z: [R; MOST_CHANGED]) -> [R; MOST] {
        let (mut p, scale) = (self.p, self.scale[slot]);
        if slot == JOINT {
            let joint = self.constants.joint;
            let shaped = self.learnt.shape(z, joint.len());
            let most = self.value(MOST_EXPONENT as f32);
            for (&slot, x) in joint.iter().zip(shaped) {
                p[slot] = match slot {
                    SPREAD => p[slot] * exp_finite((x * scale).max(-most).min(most)),
                    _ => x.mul_add(scale, p[slot]),
                };
            }
        } else if slots::is_theta(slot) {
            let scale = scale.min(self.value(WIDEST_TURN as f32));
            let around = scale / self.learnt.sine[fibre(slot)];
            p[slot] = turned(z[0].mul_add(scale, p[slot]));
            p[slot + 1] = turned(z[1].mul_add(around, p[slot + 1]));
        } else {
            p[slot] = z[0].mul_add(scale, p[slot]);
            if slots::is_fraction(slot) {
                let more = p[slot] - self.p[slot];
                p[S0] = self.learnt.shear[fibre(slot)].mul_add(more, p[S0]);
            }
        }
        p
    }

    #[inline(always)]
    fn propose(&mut self, slot: usize, z: [R; MOST_CHANGED], chance: R) {
        let constants = self.constants;
        let p = self.moved(slot, z);
        let (changed, n_changed) = slots::changed(slot, constants.joint);
        let changed = &changed[..n_changed];
        let (zero, one) = (self.value(0.0), self.value(1.0));
        let mut all = Judged { inside: zero.at_most(one), added: zero };
        for &one in changed {
            let Judged { inside, mut added } = self.judge(one, p[one]);
            if slot == JOINT && one == SPREAD {
                // A spread that is multiplied is proposed with the density of its prior.
                added = zero;
            }
            all = Judged { inside: all.inside & inside, added: all.added + added };
        }

        let more = if slot == JOINT { zero } else { p[slot] - self.p[slot] };
        let fibre = fibre(slot);
        let misfit = match slot {
            S0 | PRECISION => self.same_columns(&p),
            JOINT | DIFFUSIVITY | SPREAD | RATIO => self.all_columns(&p),
            OFFSET => self.more_offset(more, &p),
            _ if slots::is_theta(slot) => self.one_column(fibre, &p),
            _ => self.more_stick(fibre, more, &p),
        };
        let noise = if self.is_rician {
            misfit - self.misfit
        } else {
            ln(misfit / self.misfit) * (0.5 * constants.n as f32)
        };
        let take = all.inside & ln(chance).less(-(noise + all.added));

        for &slot in changed {
            self.p[slot] = R::select(take, p[slot], self.p[slot]);
        }
        self.misfit = R::select(take, misfit, self.misfit);
        let taken = R::select(take, one, zero);
        self.taken[slot] = self.taken[slot] + taken;
        self.refused[slot] = self.refused[slot] + (one - taken);
        self.all_taken = self.all_taken + taken;
        if !take.any() {
            return;
        }
        match slot {
            S0 | PRECISION => {}
            JOINT | DIFFUSIVITY | SPREAD | RATIO => self.keep_columns(take),
            OFFSET => self.keep_offset(R::select(take, more, zero)),
            _ if slots::is_theta(slot) => self.keep_column(fibre, take),
            _ => self.keep_stick(fibre, R::select(take, more, zero)),
        }
    }

    #[inline(always)]
    pub(super) fn adapt(&mut self) {
        let widest = self.value(WIDEST as f32);
        for slot in 0..SCALES {
            let ratio = (self.taken[slot] + 1.0) / (self.refused[slot] + 1.0);
            self.scale[slot] = (self.scale[slot] * ratio.sqrt()).min(widest);
            self.taken[slot] = self.value(0.0);
            self.refused[slot] = self.value(0.0);
        }
    }
}
