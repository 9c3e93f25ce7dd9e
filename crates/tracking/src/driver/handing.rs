//! Samples that a device has judged, handed in.

use super::judging::Made as Sampled;
use crate::device::Made;
use crate::sample::Take;
use crate::tracking::Tracking;

/// Hands in samples of a launch, one after the other.
pub(super) struct Handing<'a> {
    tracking: &'a Tracking<'a>,
    made: &'a Made,
    /// The sample of its first item.
    first: u64,
    all: Vec<[f32; 3]>,
    network: Vec<Option<u32>>,
}

impl<'a> Handing<'a> {
    pub(super) fn new(tracking: &'a Tracking<'a>, made: &'a Made, first: u64) -> Self {
        Self { tracking, made, first, all: Vec::new(), network: Vec::new() }
    }

    /// Whether any of a sample is kept.
    pub(super) fn is_kept(&self, at: u64) -> bool {
        self.made.kept((at - self.first) as usize).contains(&true)
    }

    /// Hands in a sample, with the points that have come back.
    pub(super) fn sample(&mut self, at: u64, take: &mut Take<'_>) {
        let Self { tracking, made, .. } = *self;
        let item = (at - self.first) as usize;
        let n_samples = u64::from(tracking.n_samples);
        let (seed_index, number) = ((at / n_samples) as usize, (at % n_samples) as u32);
        self.all.clear();
        let mut n_made_first = 0;
        for half in 0..2 {
            n_made_first = self.all.len();
            let points = made.half(half, item).iter();
            self.all.extend(points.map(|pos| tracking.space.from_samples(*pos)));
        }
        self.network.clear();
        self.network.extend(made.network(item));
        let sampled = Sampled {
            seed: &tracking.seeds[seed_index],
            seed_index,
            number,
            order: (seed_index, number),
            n_made_first,
            ends: [0, 1].map(|half| made.reason(half, item)),
        };
        sampled.hand_on(made.kept(item), &self.network, &self.all, &[], take);
    }
}
