//! Some of M: the columns of some streamlines, or the voxels of one process.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Blocks;
use super::blocks::{Block, BlockEntry};
use crate::LifeError;

impl Blocks {
    /// The entries of some streamlines, which are numbered anew in their order.
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
        Self::from_voxels(streamlines as usize, self.voxel.clone(), start, entries, workers)
    }

    /// The entries of some blocks, all streamlines kept: one process's part.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn part(&self, part: usize, parts: usize, workers: &Workers) -> Result<Self, LifeError> {
        let bound = |part: usize| part * self.blocks.len() / parts;
        let blocks = &self.blocks[bound(part)..bound(part + 1)];
        let voxels = match (blocks.first(), blocks.last()) {
            (Some(first), Some(last)) => first.voxels.start..last.voxels.end,
            _ => 0..0,
        };
        let first = self.start[voxels.start];
        let mut entries = Vec::new();
        for block in blocks {
            let members = &self.slot_streamline[block.slots.clone()];
            let range =
                self.start[block.voxels.start] as usize..self.start[block.voxels.end] as usize;
            entries.extend(self.entries[range].iter().map(|entry| {
                let slot = members[entry.slot as usize];
                BlockEntry { slot, ..*entry }
            }));
        }
        let start = self.start[voxels.start..=voxels.end].iter().map(|s| s - first).collect();
        let voxel = self.voxel[voxels].to_vec();
        let part = Self::from_voxels(self.streamlines, voxel, start, entries, workers)?;
        Ok(Self { isotropic: self.isotropic, ..part })
    }
}
