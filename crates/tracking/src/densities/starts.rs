//! Where streamlines through densities start, and all they depend on.

use std::sync::Arc;

use fimbria_compute::philox::{Philox, uniform};

use super::anatomy::Anatomy;
use super::field::Densities;
use super::options::DensityPropagation;
use crate::draws::item_key;
use crate::{Rules, Seed, Space};

/// Everything that streamlines through densities depend on.
#[derive(Clone, Copy, Debug)]
pub struct DensityTracking<'a> {
    /// The densities.
    pub densities: &'a Densities,
    /// Where seeds and regions are.
    pub space: &'a Space,
    /// How streamlines follow them.
    pub propagation: &'a DensityPropagation,
    /// What decides over streamlines.
    pub rules: &'a Rules,
    /// Tissues that say where they may end.
    pub anatomy: Option<Anatomy<'a>>,
    /// Where they may start.
    pub seeds: &'a [Seed],
    /// With which chances seeds are drawn; `None` for equal ones.
    pub chances: Option<&'a SeedChances>,
    /// How many start, and at which of the seeds.
    pub attempts: Attempts,
    /// Radius of the sphere around each seed to start in, mm; `None` for anywhere in its voxel.
    pub jitter_mm: Option<f32>,
    /// Go one way only, that of the first direction: streamlines begin at their seeds.
    pub one_way: bool,
    /// Seed of the random numbers.
    pub rng_seed: u64,
}

/// How many streamlines start, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// So many at each seed.
    PerSeed(u32),
    /// At seeds drawn at random, until so many are kept.
    UntilKept {
        /// Streamlines to keep.
        select: u64,
        /// Streamlines to start at most.
        at_most: u64,
    },
}

/// With which chances seeds are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedChances {
    /// Sums of the weights up to each of what is drawn: seeds, or fixels at them.
    sums: Vec<f64>,
    /// Those fixels.
    fixels: Option<Arc<[SeedFixel]>>,
}

/// The fibres of one direction at a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedFixel {
    /// The place of the seed in the list.
    pub seed: u32,
    /// Their unit direction, in the axes of the densities: streamlines start within 30° of it, one way or the
    /// other.
    pub dir: [f32; 3],
}

impl SeedChances {
    /// In proportion to weights, one for each seed, none below zero; `None` where their sum is zero or no
    /// number.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .into_iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        (sum > 0.0 && sum.is_finite()).then_some(Self { sums, fixels: None })
    }

    /// The same where weights are those of fixels: streamlines start along the one that is drawn.
    pub fn along(self, fixels: Arc<[SeedFixel]>) -> Self {
        Self { fixels: Some(fixels), ..self }
    }

    /// The seed that 64 random bits draw, and the direction near which a streamline starts there, if there is one.
    fn seed(&self, bits: u64) -> (usize, Option<[f32; 3]>) {
        let place = self.drawn(bits);
        match &self.fixels {
            Some(fixels) => (fixels[place].seed as usize, Some(fixels[place].dir)),
            None => (place, None),
        }
    }

    /// What 64 random bits draw.
    fn drawn(&self, bits: u64) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        // Half a unit keeps it off both ends, but for rounding.
        let at = (bits as f64 + 0.5) / 18_446_744_073_709_551_616.0 * total;
        // Of seeds without weight the sum is that of the one before.
        let place = self.sums.partition_point(|sum| *sum <= at);
        let last = || self.sums.partition_point(|sum| *sum < total);
        if place < self.sums.len() { place } else { last() }
    }
}

/// The stream of numbers for starts: no half has as many points.
const STARTS: u32 = u32::MAX;

/// Which seed is drawn.
const SEED: u32 = 0;
/// Where in its voxel or sphere; tries count on from there.
const PLACE: u32 = 1;

impl DensityTracking<'_> {
    /// Streamlines that may start.
    pub(crate) fn total(&self) -> u64 {
        match self.attempts {
            Attempts::PerSeed(n) => self.seeds.len() as u64 * u64::from(n),
            // They are numbered in 32 bits.
            Attempts::UntilKept { at_most, .. } => at_most.min(1 << 32),
        }
    }

    /// The place of the seed of a streamline in the list, the number of the streamline, and the direction near
    /// which it starts, if there is one.
    pub(super) fn seed_of(&self, at: u64) -> (usize, u32, Option<[f32; 3]>) {
        match self.attempts {
            Attempts::PerSeed(n) => {
                ((at / u64::from(n)) as usize, (at % u64::from(n)) as u32, None)
            }
            Attempts::UntilKept { .. } => {
                let [word, further, ..] = self.numbers().at(at, SEED);
                let evenly =
                    || (((u64::from(word) * self.seeds.len() as u64) >> 32) as usize, None);
                let by = |chances: &SeedChances| {
                    chances.seed(u64::from(word) << 32 | u64::from(further))
                };
                let (seed, near) = self.chances.map_or_else(evenly, by);
                (seed, at as u32, near)
            }
        }
    }

    /// What streamlines are sorted by.
    pub(super) fn order_of(&self, seed_index: usize, number: u32) -> (usize, u32) {
        match self.attempts {
            Attempts::PerSeed(_) => (seed_index, number),
            Attempts::UntilKept { .. } => (0, number),
        }
    }

    /// Where it starts, in voxels of the seed space.
    pub(super) fn start_of(&self, seed: &Seed, number: u32) -> [f32; 3] {
        let numbers = |attempt: u32| {
            let step = (PLACE + attempt) | seed.region << 11;
            let [x, y, z, _] = self.numbers().at(item_key(seed.key, number), step);
            [x, y, z].map(uniform::<f32>)
        };
        let Some(radius) = self.jitter_mm else {
            let place = numbers(0);
            return std::array::from_fn(|a| seed.pos[a] + place[a] - 0.5);
        };
        if radius <= 0.0 {
            return seed.pos;
        }
        let spacing = self.space.grid().ras_from_vox.spacing();
        // The chance to miss the sphere a thousand times is nil.
        let place = (0..1000)
            .map(|attempt| numbers(attempt).map(|u| (2.0 * u - 1.0) * radius))
            .find(|place| place.iter().map(|x| x * x).sum::<f32>() <= radius * radius);
        let place = place.unwrap_or_default();
        std::array::from_fn(|a| seed.pos[a] + place[a] / spacing[a] as f32)
    }

    fn numbers(&self) -> Philox {
        Philox::new(self.rng_seed).stream(STARTS)
    }
}
