//! Some of M: the columns of some streamlines.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Blocks;
use super::blocks::{Block, BlockEntry};
use crate::LifeError;

/// Which columns of M products are made with.
pub(super) struct Kept {
    /// The columns that are.
    pub(super) columns: Vec<u32>,
    /// Of every column its number among them, [`LEFT`](Self::LEFT) where it is left out.
    pub(super) number: Vec<u32>,
}

impl Kept {
    pub(super) const LEFT: u32 = u32::MAX;

    /// Those whose flag is set.
    pub(super) fn new(flags: &[bool]) -> Self {
        let columns: Vec<u32> =
            (0..).zip(flags).filter(|(_, kept)| **kept).map(|(f, _)| f).collect();
        let mut number = vec![Self::LEFT; flags.len()];
        (0..).zip(&columns).for_each(|(new, f)| number[*f as usize] = new);
        Self { columns, number }
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }
}

impl Blocks {
    /// The entries of some streamlines, which are numbered anew in their order, in the same blocks: what
    /// is added up within one does not depend on who has the others.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn restricted(&self, kept: &Kept, workers: &Workers) -> Result<Self, LifeError> {
        let of_block = |block: &Block| {
            let members = &self.slot_streamline[block.slots.clone()];
            let (mut entries, mut lens) = (Vec::new(), Vec::new());
            for at in block.voxels.clone() {
                let before = entries.len();
                let all = &self.entries[self.start[at] as usize..self.start[at + 1] as usize];
                entries.extend(all.iter().filter_map(|entry| {
                    let slot = kept.number[members[entry.slot as usize] as usize];
                    (slot != Kept::LEFT).then_some(BlockEntry { slot, ..*entry })
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
        let some = Self::from_voxels(kept.len(), voxel, start, entries, &ends, workers)?;
        Ok(Self { of_all: self.of_all, ..some })
    }
}
