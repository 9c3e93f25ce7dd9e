//! What streamlines through samples depend on.

use crate::draws::Draws;
use crate::{Field, Propagation, Rules, Seed, Space};

/// Everything that streamlines depend on.
#[derive(Clone, Copy, Debug)]
pub struct Tracking<'a> {
    /// The directions.
    pub field: &'a Field,
    /// Where seeds and regions are.
    pub space: &'a Space,
    /// How streamlines are propagated.
    pub propagation: &'a Propagation,
    /// What decides over them.
    pub rules: &'a Rules,
    /// Where they start.
    pub seeds: &'a [Seed],
    /// Samples of each seed.
    pub n_samples: u32,
    /// Radius of the sphere around each seed to start in, mm.
    pub jitter_mm: f32,
    /// Seed of the random numbers.
    pub rng_seed: u64,
}

/// Places tried in the sphere around a seed. The chance to miss it so often is nil, unless numbers are no
/// random ones.
pub(crate) const JITTER_TRIALS: u32 = 1000;

/// A place in the sphere of radius `jitter_mm` around a seed, or the seed itself.
pub(crate) fn jittered(tracking: &Tracking<'_>, seed: &Seed, draws: &mut dyn Draws) -> [f32; 3] {
    let radius = tracking.jitter_mm;
    if radius <= 0.0 {
        return seed.pos;
    }
    let spacing = tracking.space.grid().ras_from_vox.spacing();
    for attempt in 0..JITTER_TRIALS {
        let place = draws.jitter(attempt).map(|u| (2.0 * u - 1.0) * radius);
        if place.iter().map(|x| x * x).sum::<f32>() <= radius * radius {
            return std::array::from_fn(|a| seed.pos[a] + place[a] / spacing[a] as f32);
        }
    }
    seed.pos
}
