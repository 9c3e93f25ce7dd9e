//! Φ by voxel, in blocks that threads work on.

use std::ops::Range;

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::curve::{along_curve, key};
use crate::{Compartments, Encoding, LifeError};

/// Entries of a block, about.
pub(crate) const BLOCK: u64 = 1 << 13;

/// The entries of M's factors, voxel by voxel.
///
/// Voxels stand in the order of a Morton curve, so that a block is compact and streamlines are in
/// few of them.
#[derive(Clone, Debug)]
pub struct Blocks {
    pub(super) streamlines: usize,
    pub(super) compartments: usize,
    /// Number of blocks of all processes together.
    pub(super) of_all: usize,
    /// Of each place along the curve the position in the encoding's voxels.
    pub(super) voxel: Vec<u32>,
    /// Where each voxel's entries start, and where the last one's end.
    pub(super) start: Vec<u64>,
    /// By voxel, then streamline, then atom.
    pub(super) entries: Vec<BlockEntry>,
    pub(super) blocks: Vec<Block>,
    /// The streamline of each slot, block by block.
    pub(super) slot_streamline: Vec<u32>,
    /// Of each streamline where its slots start in `streamline_slots`.
    pub(super) slots_start: Vec<u64>,
    /// The slots of each streamline, ascending.
    pub(super) streamline_slots: Vec<u32>,
}

/// An entry of Φ times the voxel's signal without weighting.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct BlockEntry {
    /// Column of the dictionary.
    pub(super) atom: u32,
    /// Number of the streamline within the block.
    pub(super) slot: u32,
    /// How much.
    pub(super) value: f32,
}

/// Some voxels and the streamlines that pass them.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Places along the curve.
    pub(super) voxels: Range<usize>,
    /// Slots.
    pub(super) slots: Range<usize>,
}

impl Blocks {
    /// The entries of `encoding`, each times the unweighted signal `s0` of its voxel. Behind the
    /// streamlines stand the compartments (the first of all voxels of all processes, then the next), which
    /// use the dictionary's columns behind the encoding's atoms. Blocks begin where the encoding says, or
    /// where it does not, after enough entries.
    ///
    /// # Errors
    /// Where there are more slots than can be counted.
    pub fn new(
        encoding: &Encoding,
        s0: &[f32],
        compartments: &Compartments,
        workers: &Workers,
    ) -> Result<Self, LifeError> {
        let voxels = encoding.voxels.len();
        let of_all = encoding.passed.len();
        let columns = encoding.streamlines() as u64 + compartments.len() as u64 * of_all as u64;
        if columns >= u64::from(u32::MAX) {
            return Err(LifeError::TooMany { what: "unknowns", count: columns });
        }
        let voxel = along_curve(encoding);
        let mut place = vec![0_u32; voxel.len()];
        for (at, &v) in voxel.iter().enumerate() {
            place[v as usize] = at as u32;
        }
        let mut start = vec![0_u64; voxel.len() + 1];
        for entry in &encoding.entries {
            start[place[entry.voxel as usize] as usize + 1] += 1;
        }
        let beside = |v: usize| {
            (0..compartments.len()).filter_map(move |c| Some((c, compartments.column_of(c, v)?)))
        };
        for (at, &v) in voxel.iter().enumerate() {
            start[at + 1] += start[at] + beside(v as usize).count() as u64;
        }
        let mut next = start.clone();
        let zero = BlockEntry { atom: 0, slot: 0, value: 0.0 };
        let mut entries = vec![zero; start[voxels] as usize];
        for streamline in 0..encoding.streamlines() {
            for entry in encoding.entries_of(streamline) {
                let at = &mut next[place[entry.voxel as usize] as usize];
                let value = entry.value * s0[entry.voxel as usize];
                let slot = streamline as u32;
                entries[*at as usize] = BlockEntry { atom: entry.atom, slot, value };
                *at += 1;
            }
        }
        for v in 0..voxels {
            for (compartment, column) in beside(v) {
                let at = &mut next[place[v] as usize];
                let atom = (encoding.atoms.len() + column) as u32;
                let unknown = compartment * of_all + encoding.place[v] as usize;
                let slot = (encoding.streamlines() + unknown) as u32;
                entries[*at as usize] = BlockEntry { atom, slot, value: s0[v] };
                *at += 1;
            }
        }
        let columns = columns as usize;
        let ends = if encoding.cuts.is_empty() {
            ends_by_entries(&start)
        } else {
            ends_at_cuts(encoding, &voxel)
        };
        let of_all = (encoding.cuts.len() + 1).max(ends.len());
        let blocks = Self::from_voxels(columns, voxel, start, entries, &ends, workers)?;
        Ok(Self { compartments: compartments.len(), of_all, ..blocks })
    }

    /// Blocks that end before these places, of entries whose `slot` still is the streamline.
    pub(super) fn from_voxels(
        streamlines: usize,
        voxel: Vec<u32>,
        start: Vec<u64>,
        mut entries: Vec<BlockEntry>,
        ends: &[usize],
        workers: &Workers,
    ) -> Result<Self, LifeError> {
        let bounds = [&[0], ends].concat();
        let mut parts = Vec::new();
        let mut rest = &mut entries[..];
        for bound in bounds.windows(2) {
            let len = (start[bound[1]] - start[bound[0]]) as usize;
            let (part, after) = rest.split_at_mut(len);
            parts.push(part);
            rest = after;
        }
        // Each thread keeps one list of which slot a streamline has in the block it is at.
        let scratch = || vec![u32::MAX; streamlines];
        let number = |slot_of: &mut Vec<u32>, entries: &mut [BlockEntry]| {
            let mut members = Vec::new();
            for entry in entries {
                let slot = &mut slot_of[entry.slot as usize];
                if *slot == u32::MAX {
                    *slot = members.len() as u32;
                    members.push(entry.slot);
                }
                entry.slot = *slot;
            }
            members.iter().for_each(|&f| slot_of[f as usize] = u32::MAX);
            members
        };
        let members: Vec<Vec<u32>> =
            workers.install(|| parts.into_par_iter().map_init(scratch, number).collect());
        let mut blocks = Vec::new();
        let mut slot_streamline = Vec::with_capacity(members.iter().map(Vec::len).sum());
        for (bound, members) in bounds.windows(2).zip(members) {
            let first = slot_streamline.len();
            slot_streamline.extend(members);
            let slots = first..slot_streamline.len();
            blocks.push(Block { voxels: bound[0]..bound[1], slots });
        }
        let count = slot_streamline.len() as u64;
        if count > u64::from(u32::MAX) {
            return Err(LifeError::TooMany { what: "streamlines of blocks", count });
        }
        let mut slots_start = vec![0_u64; streamlines + 1];
        slot_streamline.iter().for_each(|&f| slots_start[f as usize + 1] += 1);
        for f in 0..streamlines {
            slots_start[f + 1] += slots_start[f];
        }
        let mut next = slots_start.clone();
        let mut streamline_slots = vec![0_u32; slot_streamline.len()];
        for (slot, &f) in slot_streamline.iter().enumerate() {
            streamline_slots[next[f as usize] as usize] = slot as u32;
            next[f as usize] += 1;
        }
        Ok(Self {
            streamlines,
            compartments: 0,
            of_all: ends.len(),
            voxel,
            start,
            entries,
            blocks,
            slot_streamline,
            slots_start,
            streamline_slots,
        })
    }

    /// Compartments of each voxel.
    pub fn compartments(&self) -> usize {
        self.compartments
    }

    /// Number of columns of M: streamlines, and compartments behind them.
    pub fn streamlines(&self) -> usize {
        self.streamlines
    }

    /// Number of voxels.
    pub fn voxels(&self) -> usize {
        self.voxel.len()
    }

    /// Of each voxel, in the order of blocks, the position in the encoding's voxels.
    pub fn voxel_order(&self) -> &[u32] {
        &self.voxel
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Of each voxel's entries the columns of the dictionary, in the order in which products read
    /// them.
    pub fn atoms(&self) -> impl Iterator<Item = impl Iterator<Item = u32> + Clone> {
        let of_voxel = |at: &[u64]| &self.entries[at[0] as usize..at[1] as usize];
        self.start.windows(2).map(move |at| of_voxel(at).iter().map(|entry| entry.atom))
    }

    /// Number of blocks, and of the streamlines in each, added up.
    pub fn blocks_and_slots(&self) -> (usize, usize) {
        (self.blocks.len(), self.slot_streamline.len())
    }

    /// Bytes that the arrays take.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&*self.entries) + size_of_val(&*self.start) + size_of_val(&*self.voxel)) as u64
            + (size_of_val(&*self.slot_streamline) + size_of_val(&*self.slots_start)) as u64
            + size_of_val(&*self.streamline_slots) as u64
    }

    /// The places of the voxels of some blocks.
    pub(super) fn voxels_of(&self, part: &Range<usize>) -> Range<usize> {
        match &self.blocks[part.clone()] {
            [] => 0..0,
            [first, .., last] => first.voxels.start..last.voxels.end,
            [only] => only.voxels.clone(),
        }
    }

    /// How many entries some blocks have.
    pub(super) fn entries_of(&self, part: &Range<usize>) -> u64 {
        let voxels = self.voxels_of(part);
        self.start[voxels.end] - self.start[voxels.start]
    }

    pub(super) fn slots_of(&self, streamline: usize) -> Range<usize> {
        self.slots_start[streamline] as usize..self.slots_start[streamline + 1] as usize
    }
}

/// Ends of blocks that have enough entries.
fn ends_by_entries(start: &[u64]) -> Vec<usize> {
    let (mut ends, mut first, last) = (Vec::new(), 0, start.len() - 1);
    for end in 1..=last {
        if start[end] - start[first] >= BLOCK || end == last {
            ends.push(end);
            first = end;
        }
    }
    ends
}

/// Ends of blocks where the encoding says, of voxels in the order of the curve.
fn ends_at_cuts(encoding: &Encoding, voxel: &[u32]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut cuts = encoding.cuts.iter().peekable();
    for (place, &v) in voxel.iter().enumerate() {
        let key = key(&encoding.grid, encoding.voxels[v as usize] as usize);
        let mut begins = false;
        while cuts.next_if(|cut| **cut <= key).is_some() {
            begins = place > 0;
        }
        if begins {
            ends.push(place);
        }
    }
    if !voxel.is_empty() {
        ends.push(voxel.len());
    }
    ends
}
