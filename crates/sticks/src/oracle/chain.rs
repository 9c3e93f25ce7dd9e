//! Metropolis jumps.

use std::f64::consts::TAU;

use fimbria_compute::philox::{Philox, normals, uniform};

use super::Posterior;
use crate::SticksOptions;
use crate::rules::{FIRST_PRECISION_SHARE, FIRST_SHARE, FIRST_STEP, WIDEST, WIDEST_TURN};
use crate::slots::{self, FIBRES, MOST, OFFSET, PRECISION};

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
    sampled: Vec<usize>,
    pub(crate) p: [f64; MOST],
    energy: f64,
    step: [f64; MOST],
    taken: [u32; MOST],
    refused: [u32; MOST],
    jumps: u32,
}

/// The first steps of proposals.
fn first_steps(start: &[f64; MOST]) -> [f64; MOST] {
    std::array::from_fn(|slot| match slot {
        OFFSET => FIRST_STEP,
        PRECISION => FIRST_PRECISION_SHARE * start[slot],
        _ if slot < FIBRES => FIRST_SHARE * start[slot],
        _ if (slot - FIBRES) % 3 == 2 => FIRST_STEP,
        _ => FIRST_STEP / TAU,
    })
}

impl<'a> Chain<'a> {
    pub(crate) fn new(voxel: Voxel<'a>) -> Self {
        let sampled = slots::sampled(voxel.posterior.options);
        let p = voxel.start;
        let energy = voxel.posterior.energy(&p);
        let step = first_steps(&p);
        Self { voxel, sampled, p, energy, step, taken: [0; MOST], refused: [0; MOST], jumps: 0 }
    }

    /// One jump: every parameter once.
    pub(crate) fn jump(&mut self) {
        let SticksOptions { seed, adapt_every, .. } = *self.voxel.posterior.options;
        let per_jump = self.sampled.len().div_ceil(2) as u32;
        for k in 0..self.sampled.len() {
            let slot = self.sampled[k];
            let step = self.jumps * per_jump + (k / 2) as u32;
            let words = Philox::new(seed).at(self.voxel.item, step);
            let normal = f64::from(normals::<f32>(words)[k % 2]);
            let chance = f64::from(uniform::<f32>(words[2 + k % 2]));
            self.propose(slot, normal, chance);
        }
        self.jumps += 1;
        if self.jumps.is_multiple_of(adapt_every) {
            for slot in 0..MOST {
                let ratio = f64::from(self.taken[slot] + 1) / f64::from(self.refused[slot] + 1);
                self.step[slot] = (self.step[slot] * ratio.sqrt()).min(WIDEST);
            }
            (self.taken, self.refused) = ([0; MOST], [0; MOST]);
        }
    }

    fn propose(&mut self, slot: usize, normal: f64, chance: f64) {
        let is_angle = slot >= FIBRES && (slot - FIBRES) % 3 < 2;
        let mut p = self.p;
        if is_angle {
            p[slot] += normal * self.step[slot].min(WIDEST_TURN);
            p[slot] -= p[slot].round_ties_even();
        } else {
            p[slot] += normal * self.step[slot];
        }
        let energy = self.voxel.posterior.energy(&p);
        if chance.ln() < self.energy - energy {
            (self.p, self.energy) = (p, energy);
            self.taken[slot] += 1;
        } else {
            self.refused[slot] += 1;
        }
    }
}
