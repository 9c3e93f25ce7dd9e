//! A sample as it is handed on: two halves from one seed, judged and joined.

use crate::{EndReason, Seed};

/// One sample of one seed, judged.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Where it started.
    pub seed: &'a Seed,
    /// Place of the seed in the list of seeds.
    pub seed_index: usize,
    /// Which of the seed's samples.
    pub number: u32,
    /// The halves that are kept, joined as probtrackx2 joins them: the first from the seed outwards,
    /// then the second from the seed outwards. Radiological voxel coordinates of the seed space.
    pub points: &'a [[f32; 3]],
    /// How many of them are of the first half.
    pub n_first: usize,
    /// Points of the first half, kept or not; with [`all_points`](Self::all_points).
    pub n_made_first: usize,
    /// Every point of both halves, kept or not.
    pub all_points: &'a [[f32; 3]],
    /// Why each half ended.
    pub ends: [EndReason; 2],
    /// False where both halves were rejected.
    pub kept: bool,
    /// Points from the seed at which each region of the network was first reached.
    pub network: &'a [Option<u32>],
}

/// What is made of samples. One collector per thread takes samples in any order; what must keep
/// their order is handed out block by block.
pub trait Collect: Send {
    /// What a block of samples leaves behind.
    type Block: Send;

    /// Takes a sample.
    fn sample(&mut self, sample: &Sample<'_>);

    /// The block ends: all samples of some seeds were handed in.
    fn end_block(&mut self) -> Self::Block;
}
