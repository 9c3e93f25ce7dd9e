//! What a device has counted.

use crate::EndReason;

/// Counts of the samples of one launch, made by a device in place of a collector.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Samples made.
    pub(crate) made: u64,
    /// Samples kept, by seed region.
    pub(crate) kept: Vec<u64>,
    /// Halves by why they ended.
    pub(crate) ends: [u64; EndReason::ALL.len()],
    /// Points of all halves kept.
    pub(crate) points: u64,
    /// Samples that visit each voxel (radiological index), and the sum of the steps of their first visits;
    /// steps only where they are asked for.
    pub(crate) visits: Joined,
    /// Of each product of components of the steps that first lead to voxels, low words of its sum in all voxels, then
    /// high ones; only where they are asked for.
    pub(crate) products: Vec<u32>,
    /// From region (row) to region (column) of the network.
    pub(crate) network: Joined,
    /// `[target][seed]`, for as many seeds as are in the launch.
    pub(crate) targets: Joined,
    /// Those seeds.
    pub(crate) seeds: std::ops::Range<usize>,
}

/// How many samples join two things, and the sums of the steps between.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    /// Entries there are.
    pub(crate) n: usize,
    /// Samples of each entry; where steps are counted low words of the sums, then high ones.
    pub(crate) words: Vec<u32>,
}

impl Joined {
    /// Every entry with a sample: place, samples, sum of steps (0 where none are counted).
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, u32, u64)> + '_ {
        let word = |at: usize| self.words.get(at).copied().map_or(0, u64::from);
        let found = self.words.iter().take(self.n).enumerate().filter(|(_, samples)| **samples > 0);
        found.map(move |(at, samples)| {
            (at, *samples, word(self.n + at) | word(2 * self.n + at) << 32)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_a_low_and_a_high_word() {
        let joined = Joined { n: 3, words: vec![0, 7, 2, 9, 5, 1, 9, 0, 3] };
        let entries: Vec<_> = joined.entries().collect();
        assert_eq!(entries, [(1, 7, 5), (2, 2, 1 + (3 << 32))]);
        let joined = Joined { n: 2, words: vec![0, 7] };
        assert_eq!(joined.entries().collect::<Vec<_>>(), [(1, 7, 0)]);
    }
}
