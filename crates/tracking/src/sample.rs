//! A sample as it is handed on: two halves from one seed, judged and joined.

use crate::counts::Counts;
use crate::met::Met;
use crate::needs::Needs;
use crate::{EndReason, Seed, Space};

/// One sample of one seed, judged.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Where it started.
    pub seed: &'a Seed,
    /// Place of the seed in the list of seeds.
    pub seed_index: usize,
    /// Which of the seed's samples, or of all.
    pub number: u32,
    /// What samples are sorted by.
    pub order: (usize, u32),
    /// The halves that are kept, joined as probtrackx2 joins them: the first from the seed outwards,
    /// then the second from the seed outwards. Radiological voxel coordinates of the seed space.
    pub points: &'a [[f32; 3]],
    /// A number for each of these points, the same for neighbours in one voxel and another where
    /// the voxel changes; empty where nobody has looked.
    pub places: &'a [u32],
    /// How many of them are of the first half.
    pub n_first: usize,
    /// Points of the first half, kept or not; with [`all_points`](Self::all_points).
    pub n_made_first: usize,
    /// Every point of both halves, kept or not; those that are kept alone where a collector
    /// [needs](Needs) no others.
    pub all_points: &'a [[f32; 3]],
    /// Why each half ended.
    pub ends: [EndReason; 2],
    /// False where both halves were rejected.
    pub kept: bool,
    /// Points from the seed at which each region of the network was first reached.
    pub network: &'a [Option<u32>],
}

impl<'a> Sample<'a> {
    /// The halves that are kept, each from the seed outwards.
    pub fn halves(&self) -> [&'a [[f32; 3]]; 2] {
        let (first, second) = self.points.split_at(self.n_first);
        [first, second]
    }

    /// The points of the streamline: from the far end of the first half through the seed to the far end of the second,
    /// the seed point once.
    pub fn joined(&self) -> impl Iterator<Item = &'a [f32; 3]> + use<'a> {
        let [first, second] = self.halves();
        // Both start at the seed.
        let skip = usize::from(!first.is_empty());
        first.iter().rev().chain(second.iter().skip(skip))
    }

    /// Steps from the seed and voxel of the points of both halves; points that are known to be in the
    /// voxel of the one before are left out.
    pub(crate) fn voxels(
        &self,
        space: &'a Space,
    ) -> [impl Iterator<Item = (usize, Option<u32>)> + use<'a>; 2] {
        let [first, second] = self.halves();
        let (places, n_first) = (self.places, self.n_first);
        let of_half = move |half: &'a [[f32; 3]], places: &'a [u32]| {
            let mut before = None;
            half.iter().enumerate().filter_map(move |(steps, pos)| {
                let place = places.get(steps).copied();
                if place.is_some() && place == before {
                    return None;
                }
                before = place;
                Some((steps, space.voxel(*pos)))
            })
        };
        let cut = n_first.min(places.len());
        [of_half(first, &places[..cut]), of_half(second, &places[cut..])]
    }
}

/// What is made of samples. One collector per thread takes samples in any order; what must keep
/// their order is handed out block by block.
pub trait Collect: Send {
    /// What a block of samples leaves behind.
    type Block: Send;

    /// Takes a sample.
    fn sample(&mut self, sample: &Sample<'_>);

    /// What it asks for: every point of every sample, unless it says less.
    fn needs(&self) -> Needs<'_> {
        Needs::default()
    }

    /// Takes what a device has counted in its place, where it [needs](Self::needs) counts.
    fn counted(&mut self, _counts: &Counts) {}

    /// Takes what a kept sample that is in [`counted`](Self::counted) has met, where places are asked for.
    fn met(&mut self, _met: &Met<'_>) {}

    /// Takes a sample that is in [`counted`](Self::counted), where its points are needed beside counts.
    fn counted_sample(&mut self, _sample: &Sample<'_>) {}

    /// The block ends: all samples of some seeds were handed in.
    fn end_block(&mut self) -> Self::Block;
}

/// Takes a sample. No type parameter, so that trackers are compiled once and not for every collector.
pub(crate) type Take<'a> = dyn FnMut(&Sample<'_>) + 'a;

/// A collector on several processes.
pub trait Parcel: Collect {
    /// Takes over what another one, whose blocks have ended, has counted.
    fn merge(&mut self, other: Self);

    /// A block as bytes, on its way to the first process.
    fn pack(block: Self::Block) -> Vec<u8>;

    /// The block that another process of the same program packed.
    fn unpack(bytes: &[u8]) -> Self::Block;
}
