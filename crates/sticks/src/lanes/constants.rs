//! What is the same for all voxels.

use crate::protocol::Protocol;
use crate::rules::{MOST_SPREAD, MOST_ZEPPELIN_SPREAD};
use crate::slots::{self, MOST, OFFSET, fraction};
use crate::{Diffusivity, Noise, Offset, Relevance, SticksOptions};

/// What is the same for all voxels, in `f32`.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    pub(crate) diffusivity: Diffusivity,
    pub(crate) noise: Noise,
    pub(crate) n_fibres: usize,
    pub(crate) n: usize,
    /// √b g.
    pub(crate) root: [Vec<f32>; 3],
    pub(crate) b: Vec<f32>,
    pub(crate) sampled: Vec<usize>,
    pub(crate) moves: Vec<usize>,
    pub(crate) joint: &'static [usize],
    /// Exponent of the prior of each fraction.
    pub(crate) relevance: [f32; MOST],
    pub(crate) ratio: (f32, f32),
    pub(crate) most_spread: f32,
    pub(crate) burn_in: u32,
    pub(crate) jumps: u32,
    pub(crate) sample_every: u32,
    pub(crate) adapt_every: u32,
    pub(crate) seed: u64,
}

impl Constants {
    pub(crate) fn new(options: &SticksOptions, protocol: &Protocol) -> Self {
        let mut relevance = [0.0; MOST];
        if options.offset == Offset::Relevance {
            relevance[OFFSET] = 1.0;
        }
        let first = match options.relevance {
            Relevance::Off => options.n_fibres,
            Relevance::Further => 1,
            Relevance::All => 0,
        };
        for fibre in first..options.n_fibres {
            relevance[fraction(fibre)] = options.fudge as f32;
        }
        let most_spread = match options.diffusivity {
            Diffusivity::Zeppelin => MOST_ZEPPELIN_SPREAD,
            _ => MOST_SPREAD,
        };
        Self {
            diffusivity: options.diffusivity,
            noise: options.noise,
            n_fibres: options.n_fibres,
            n: protocol.len(),
            root: protocol.root_rows(),
            b: protocol.b.iter().map(|&b| b as f32).collect(),
            sampled: slots::sampled(options),
            moves: slots::moves(options),
            joint: slots::joint(options.diffusivity),
            relevance,
            ratio: (options.ratio.0 as f32, options.ratio.1 as f32),
            most_spread: most_spread as f32,
            burn_in: options.burn_in,
            jumps: options.jumps,
            sample_every: options.sample_every,
            adapt_every: options.adapt_every,
            seed: options.seed,
        }
    }
}
