//! Metropolis jumps.

use std::f64::consts::TAU;

use fimbria_compute::philox::{Philox, normals, uniform};

use super::Posterior;
use super::learnt::Learnt;
use crate::SticksOptions;
use crate::rules::{
    FIRST_JOINT, FIRST_PRECISION_SHARE, FIRST_SHARE, FIRST_STEP, MOST_EXPONENT, WIDEST, WIDEST_TURN,
};
use crate::slots::{
    self, FIBRES, JOINT, MOST, MOST_CHANGED, OFFSET, PRECISION, S0, SCALES, SPREAD, fibre,
};

/// A voxel and where it starts.
pub(crate) struct Voxel<'a> {
    pub(crate) posterior: Posterior<'a>,
    /// Its linear index in the grid, which its random numbers are drawn for.
    pub(crate) item: u64,
    pub(crate) start: [f64; MOST],
}

/// The state of a chain.
pub(crate) struct Chain<'a> {
    voxel: Voxel<'a>,
    moves: Vec<usize>,
    joint: &'static [usize],
    pub(crate) p: [f64; MOST],
    energy: f64,
    learnt: Learnt,
    scale: [f64; SCALES],
    taken: [u32; SCALES],
    refused: [u32; SCALES],
    jumps: u32,
}

/// The first scales of moves.
fn first_scales(start: &[f64; MOST]) -> [f64; SCALES] {
    std::array::from_fn(|slot| match slot {
        OFFSET => FIRST_STEP,
        JOINT => FIRST_JOINT,
        PRECISION => FIRST_PRECISION_SHARE * start[slot],
        _ if slot < FIBRES => FIRST_SHARE * start[slot],
        _ if slots::is_fraction(slot) => FIRST_STEP,
        _ => FIRST_STEP / TAU,
    })
}

/// The same angle in (-1/2, 1/2] turns.
fn turned(turns: f64) -> f64 {
    turns - turns.round_ties_even()
}

impl<'a> Chain<'a> {
    pub(crate) fn new(voxel: Voxel<'a>) -> Self {
        let options = voxel.posterior.options;
        let p = voxel.start;
        Self {
            moves: slots::moves(options),
            joint: slots::joint(options.diffusivity),
            p,
            energy: voxel.posterior.energy(&p),
            learnt: Learnt::default(),
            scale: first_scales(&p),
            taken: [0; SCALES],
            refused: [0; SCALES],
            jumps: 0,
            voxel,
        }
    }

    /// One jump: every move once.
    pub(crate) fn jump(&mut self) {
        let SticksOptions { seed, adapt_every, burn_in, .. } = *self.voxel.posterior.options;
        if self.jumps <= burn_in && self.jumps.is_multiple_of(adapt_every) {
            self.learnt = Learnt::at(&self.p, &self.voxel.posterior);
        }
        let n = self.moves.len();
        let words = |k: usize| {
            Philox::new(seed).at(self.voxel.item, self.jumps * (n + 1) as u32 + k as u32)
        };
        let drawn: Vec<[u32; 4]> = (0..=n).map(words).collect();
        let normals = |k: usize| normals::<f32>(drawn[k]).map(f64::from);
        let [third, fourth, ..] = normals(n);
        for k in 0..n {
            let slot = slots::turn(self.moves[k], self.jumps, self.joint);
            let [first, second, ..] = normals(k);
            let chance = f64::from(uniform::<f32>(drawn[k][2]));
            self.propose(slot, [first, second, third, fourth], chance);
        }
        self.jumps += 1;
        if self.jumps.is_multiple_of(adapt_every) {
            for slot in 0..SCALES {
                let ratio = f64::from(self.taken[slot] + 1) / f64::from(self.refused[slot] + 1);
                self.scale[slot] = (self.scale[slot] * ratio.sqrt()).min(WIDEST);
            }
            (self.taken, self.refused) = ([0; SCALES], [0; SCALES]);
        }
    }

    /// The state with the move of `slot` made.
    fn moved(&self, slot: usize, z: [f64; MOST_CHANGED]) -> [f64; MOST] {
        let (mut p, scale) = (self.p, self.scale[slot]);
        if slot == JOINT {
            let shaped = self.learnt.shape(z, self.joint.len());
            for (&slot, x) in self.joint.iter().zip(shaped) {
                match slot {
                    SPREAD => p[slot] *= (x * scale).clamp(-MOST_EXPONENT, MOST_EXPONENT).exp(),
                    _ => p[slot] += x * scale,
                }
            }
        } else if slots::is_theta(slot) {
            let scale = scale.min(WIDEST_TURN);
            p[slot] = turned(p[slot] + z[0] * scale);
            p[slot + 1] = turned(p[slot + 1] + z[1] * scale / self.learnt.sine[fibre(slot)]);
        } else {
            p[slot] += z[0] * scale;
            if slots::is_fraction(slot) {
                p[S0] += self.learnt.shear[fibre(slot)] * (z[0] * scale);
            }
        }
        p
    }

    fn propose(&mut self, slot: usize, z: [f64; MOST_CHANGED], chance: f64) {
        let p = self.moved(slot, z);
        let energy = self.voxel.posterior.energy(&p);
        // A spread that is multiplied is proposed with the density 1/s: that of its prior.
        let is_multiplied = slot == JOINT && self.joint.contains(&SPREAD);
        let proposed = if is_multiplied { (p[SPREAD] / self.p[SPREAD]).ln() } else { 0.0 };
        if chance.ln() < self.energy - energy + proposed {
            (self.p, self.energy) = (p, energy);
            self.taken[slot] += 1;
        } else {
            self.refused[slot] += 1;
        }
    }
}
