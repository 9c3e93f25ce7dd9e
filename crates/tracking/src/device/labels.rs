//! Regions as bits of each voxel of the seed space, as the judge of a device reads them.

use fimbria_memory::try_zeros;

use crate::Rules;
use crate::region::Region;

/// Bits of each voxel: in word 0 bit 0 the regions to avoid, bit 1 those to stop in, then each that is to be stopped
/// in on leaving; waypoints after them, or in a word of their own; regions of a network and targets each from
/// a new word on.
pub(crate) struct RegionBits {
    /// `[voxel][word]`, by radiological index.
    pub(crate) values: Vec<u32>,
    /// Words of each voxel.
    pub(crate) words: usize,
    pub(crate) n_leave: usize,
    pub(crate) n_waypoints: usize,
    /// Word, and bit of the first.
    pub(crate) waypoints: (usize, usize),
    pub(crate) n_network: usize,
    pub(crate) network_word: usize,
    pub(crate) n_targets: usize,
    pub(crate) target_word: usize,
}

/// Bits of a word.
pub(crate) const WORD: usize = 32;
/// Regions of a network, or targets, at most: a streamline keeps a bit of each.
const MOST: usize = 256;

impl RegionBits {
    /// True where all are voxels, and not too many.
    pub(crate) fn fit(rules: &Rules, targets: &[Region]) -> bool {
        let Rules { avoid, stop, stop_on_leaving, waypoints, network, .. } = rules;
        let groups = [avoid, stop, stop_on_leaving, &waypoints.regions, network, targets];
        let mut all = groups.into_iter().flatten();
        stop_on_leaving.len() <= WORD - 2
            && waypoints.regions.len() <= WORD
            && network.len() <= MOST
            && targets.len() <= MOST
            && all.all(|region| region.mesh().is_none())
    }

    /// Of regions in `n_voxels` voxels; `None` where they do not [fit](Self::fit).
    pub(crate) fn new(rules: &Rules, targets: &[Region], n_voxels: usize) -> Option<Self> {
        if !Self::fit(rules, targets) {
            return None;
        }
        let Rules { avoid, stop, stop_on_leaving, waypoints, network, .. } = rules;
        let waypoints = &waypoints.regions;
        let groups: [&[Region]; 6] = [avoid, stop, stop_on_leaving, waypoints, network, targets];
        let n_words = |n: usize| n.div_ceil(WORD);
        let before = 2 + stop_on_leaving.len();
        let fits = before + waypoints.len() <= WORD;
        let way = if fits { (0, before) } else { (1, 0) };
        let network_word = way.0 + 1;
        let target_word = network_word + n_words(network.len());
        let words = target_word + n_words(targets.len());
        let has_some = groups.iter().any(|group| !group.is_empty());
        // Where there is no memory for them the threads judge.
        let mut values = try_zeros(if has_some { words * n_voxels } else { 0 }).ok()?;
        let mut mark = |region: &Region, word: usize, bit: usize| {
            for voxel in region.voxels() {
                values[voxel as usize * words + word + bit / WORD] |= 1 << (bit % WORD);
            }
        };
        avoid.iter().for_each(|region| mark(region, 0, 0));
        stop.iter().for_each(|region| mark(region, 0, 1));
        let each = [(stop_on_leaving, 0, 2), (waypoints, way.0, way.1), (network, network_word, 0)];
        for (regions, word, first) in each {
            (first..).zip(regions).for_each(|(bit, region)| mark(region, word, bit));
        }
        (0..).zip(targets).for_each(|(bit, region)| mark(region, target_word, bit));
        Some(Self {
            values,
            words,
            n_leave: stop_on_leaving.len(),
            n_waypoints: waypoints.len(),
            waypoints: way,
            n_network: network.len(),
            network_word,
            n_targets: targets.len(),
            target_word,
        })
    }

    /// A word with this many of the lowest bits set.
    pub(crate) fn mask(n: usize) -> u32 {
        if n >= WORD { u32::MAX } else { (1 << n) - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waypoints;

    /// One voxel of three hundred.
    fn voxel(at: usize) -> Region {
        Region::of_voxels("voxel", (0..300).map(|voxel| voxel == at).collect())
    }

    #[test]
    fn every_region_has_a_bit_of_its_own_and_waypoints_share_one_word() {
        let regions = |from: usize, n: usize| (from..from + n).map(voxel).collect::<Vec<_>>();
        for n_waypoints in [3, 27, 28, 32] {
            let rules = Rules {
                avoid: regions(0, 1),
                stop: regions(1, 1),
                stop_on_leaving: regions(2, 3),
                waypoints: Waypoints { regions: regions(5, n_waypoints), ..Waypoints::default() },
                network: regions(40, 40),
                ..Rules::default()
            };
            let bits = RegionBits::new(&rules, &regions(100, 33), 300).unwrap();
            assert_eq!(bits.words, if n_waypoints > 27 { 2 } else { 1 } + 2 + 2);
            let found = |voxel: usize| -> Vec<usize> {
                let words = &bits.values[voxel * bits.words..][..bits.words];
                (0..WORD * bits.words)
                    .filter(|at| words[at / WORD] >> (at % WORD) & 1 == 1)
                    .collect()
            };
            for at in 0..5 {
                assert_eq!(found(at), [at]);
            }
            for at in 0..n_waypoints {
                assert_eq!(found(5 + at), [WORD * bits.waypoints.0 + bits.waypoints.1 + at]);
            }
            for at in 0..40 {
                assert_eq!(found(40 + at), [WORD * bits.network_word + at]);
            }
            for at in 0..33 {
                assert_eq!(found(100 + at), [WORD * bits.target_word + at]);
            }
            assert!(bits.waypoints.1 + n_waypoints <= WORD);
        }
    }

    #[test]
    fn what_has_no_room_is_left_to_the_threads() {
        let many = |n: usize| vec![voxel(0); n];
        let network = |n: usize| Rules { network: many(n), ..Rules::default() };
        assert!(RegionBits::new(&network(256), &[], 300).is_some());
        assert!(RegionBits::new(&network(257), &[], 300).is_none());
        assert!(RegionBits::new(&Rules::default(), &many(257), 300).is_none());
        let leave = |n: usize| Rules { stop_on_leaving: many(n), ..Rules::default() };
        assert!(RegionBits::new(&leave(30), &[], 300).is_some());
        assert!(RegionBits::new(&leave(31), &[], 300).is_none());
    }
}
