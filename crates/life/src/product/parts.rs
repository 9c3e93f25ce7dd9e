//! Some of M: the columns of some streamlines.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Blocks;
use super::blocks::{Block, BlockEntry};
use crate::LifeError;

impl Blocks {
    /// The entries of some streamlines, which are numbered anew in their order, in the same blocks: what
    /// is added up within one does not depend on who has the others.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn restricted(&self, kept: &[bool], workers: &Workers) -> Result<Self, LifeError> {
        let mut number = vec![u32::MAX; self.streamlines];
        let mut streamlines = 0;
        for (f, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
            number[f] = streamlines;
            streamlines += 1;
        }
        let of_block = |block: &Block| {
            let members = &self.slot_streamline[block.slots.clone()];
            let (mut entries, mut lens) = (Vec::new(), Vec::new());
            for at in block.voxels.clone() {
                let before = entries.len();
                let all = &self.entries[self.start[at] as usize..self.start[at + 1] as usize];
                entries.extend(all.iter().filter_map(|entry| {
                    let slot = number[members[entry.slot as usize] as usize];
                    (slot != u32::MAX).then_some(BlockEntry { slot, ..*entry })
                }));
                lens.push((entries.len() - before) as u64);
            }
            (entries, lens)
        };
        let parts: Vec<(Vec<BlockEntry>, Vec<u64>)> =
            workers.install(|| self.blocks.par_iter().map(of_block).collect());
        let mut entries = Vec::with_capacity(parts.iter().map(|part| part.0.len()).sum());
        let mut start = vec![0];
        for (part, lens) in parts {
            entries.extend(part);
            for len in lens {
                start.push(start.last().copied().unwrap_or(0) + len);
            }
        }
        let (voxel, ends) = (self.voxel.clone(), self.blocks.iter().map(|block| block.voxels.end));
        let ends: Vec<usize> = ends.collect();
        let some = Self::from_voxels(streamlines as usize, voxel, start, entries, &ends, workers)?;
        Ok(Self { of_all: self.of_all, ..some })
    }
}
