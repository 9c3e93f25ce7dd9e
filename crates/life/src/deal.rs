//! Which voxels each of several processes has.

use std::ops::Range;

use fimbria_image::Grid;

use crate::product::{BLOCK, key};

/// Voxels along a curve that keeps neighbours together, cut into blocks, and the blocks dealt to
/// processes by what they weigh.
///
/// Blocks are the same for any number of processes, so that what is added up within one of them is.
#[derive(Clone, Debug)]
pub struct Deal {
    grid: Grid,
    /// The keys along the curve at which blocks begin, after the first.
    cuts: Vec<u64>,
    /// Of each process the keys of its voxels.
    parts: Vec<Range<u64>>,
    /// Of each process how many entries and voxels it has, about.
    sizes: Vec<[u64; 2]>,
}

impl Deal {
    /// Of `weights` by voxel (how many entries a voxel has, about; `None` where no streamline
    /// passes), for so many `processes`. What is held of a voxel besides counts as `rows` entries:
    /// an entry takes twelve bytes twice, a row twelve as measured, demeaned and predicted, and as
    /// many in the solver's vectors.
    pub(crate) fn new(grid: Grid, weights: &[Option<u64>], rows: usize, processes: usize) -> Self {
        let passed = weights.iter().enumerate().filter_map(|(v, w)| w.map(|w| (v, w)));
        let mut passed: Vec<(u64, u64)> = passed.map(|(v, w)| (key(&grid, v), w)).collect();
        passed.sort_unstable();
        let (mut cuts, mut blocks) = (Vec::new(), vec![[0, 0]]);
        for &(key, weight) in &passed {
            let mut block = blocks.last().copied().unwrap_or_default();
            if block[0] >= BLOCK {
                cuts.push(key);
                blocks.push([0, 0]);
                block = [0, 0];
            }
            if let Some(last) = blocks.last_mut() {
                *last = [block[0] + weight, block[1] + 1];
            }
        }
        let weight = |[entries, voxels]: [u64; 2]| entries + voxels * rows as u64;
        let all: u64 = blocks.iter().map(|block| weight(*block)).sum();
        let (mut parts, mut sizes) = (vec![u64::MAX..u64::MAX; processes], vec![[0; 2]; processes]);
        let mut before = 0;
        for (number, &block) in blocks.iter().enumerate() {
            // Whose part its middle lies in.
            let middle = u128::from(2 * before + weight(block));
            let owner = (middle * processes as u128 / u128::from(2 * all.max(1))) as usize;
            let owner = owner.min(processes - 1);
            let begin = if number == 0 { 0 } else { cuts[number - 1] };
            let end = cuts.get(number).copied().unwrap_or(u64::MAX);
            parts[owner] = begin.min(parts[owner].start)..end;
            sizes[owner] = std::array::from_fn(|i| sizes[owner][i] + block[i]);
            before += weight(block);
        }
        Self { grid, cuts, parts, sizes }
    }

    /// Number of processes.
    pub fn processes(&self) -> usize {
        self.parts.len()
    }

    /// About how many entries and voxels the process with most has.
    pub fn largest(&self) -> [u64; 2] {
        std::array::from_fn(|i| self.sizes.iter().map(|size| size[i]).max().unwrap_or(0))
    }

    /// The keys at which blocks begin.
    pub(crate) fn cuts(&self) -> &[u64] {
        &self.cuts
    }

    /// True where the voxel of this linear index is one of process `rank`.
    pub fn is_of(&self, rank: usize, voxel: usize) -> bool {
        self.parts[rank].contains(&key(&self.grid, voxel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::GRID;

    fn weights() -> Vec<Option<u64>> {
        let weight = |v: usize| (!v.is_multiple_of(5)).then_some(((v * 7919) % 900) as u64);
        (0..GRID.len()).map(weight).collect()
    }

    #[test]
    fn every_voxel_is_of_one_process_and_none_has_much_more_than_another() {
        let weights = weights();
        let all: u64 = weights.iter().flatten().map(|w| w + 30).sum();
        for processes in [1, 2, 3, 4, 7] {
            let deal = Deal::new(GRID, &weights, 30, processes);
            let mut of_each = vec![0; processes];
            for (voxel, weight) in weights.iter().enumerate() {
                let owners: Vec<usize> =
                    (0..processes).filter(|&rank| deal.is_of(rank, voxel)).collect();
                assert_eq!(owners.len(), 1, "voxel {voxel} of {processes}");
                of_each[owners[0]] += weight.map_or(0, |w| w + 30);
            }
            // Whole blocks are dealt: each share is right to one of them.
            let fair = all / processes as u64;
            let block = 2 * (BLOCK + 900);
            assert!(of_each.iter().all(|of| of.abs_diff(fair) <= block), "{of_each:?} {fair}");
        }
    }

    #[test]
    fn blocks_do_not_depend_on_the_number_of_processes() {
        let weights = weights();
        let alone = Deal::new(GRID, &weights, 30, 1);
        assert!(alone.cuts.len() > 5);
        for processes in [2, 5, 200] {
            assert_eq!(Deal::new(GRID, &weights, 30, processes).cuts, alone.cuts);
        }
    }
}
