//! Φ by voxel, in blocks that threads work on.

use std::ops::Range;

use fimbria_compute::Workers;
use fimbria_compute::philox::Philox;
use rayon::prelude::*;

use crate::{Dictionary, Encoding, LifeError, Signal};

/// Entries of a block, about.
const BLOCK: u64 = 1 << 15;

/// The entries of M's factors, voxel by voxel.
///
/// Voxels stand in the order of a Morton curve, so that a block is compact and streamlines are in
/// few of them.
#[derive(Clone, Debug)]
pub struct Blocks {
    pub(super) streamlines: usize,
    isotropic: usize,
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
    /// The entries of `encoding`, each times the unweighted signal of its voxel. Behind the
    /// streamlines stand `isotropic` compartments of every voxel (all voxels of the encoding, then
    /// those of the next), which use the dictionary's columns behind the encoding's atoms.
    ///
    /// # Errors
    /// Where there are more slots than can be counted.
    pub fn new(
        encoding: &Encoding,
        signal: &Signal,
        isotropic: usize,
        workers: &Workers,
    ) -> Result<Self, LifeError> {
        let voxels = encoding.voxels.len();
        let columns = encoding.streamlines() as u64 + isotropic as u64 * voxels as u64;
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
        for at in 0..voxels {
            start[at + 1] += start[at] + isotropic as u64;
        }
        let mut next = start.clone();
        let zero = BlockEntry { atom: 0, slot: 0, value: 0.0 };
        let mut entries = vec![zero; encoding.entries.len() + isotropic * voxels];
        for streamline in 0..encoding.streamlines() {
            for entry in encoding.of(streamline) {
                let at = &mut next[place[entry.voxel as usize] as usize];
                let value = entry.value * signal.s0[entry.voxel as usize];
                let slot = streamline as u32;
                entries[*at as usize] = BlockEntry { atom: entry.atom, slot, value };
                *at += 1;
            }
        }
        for compartment in 0..isotropic {
            let atom = (encoding.atoms.len() + compartment) as u32;
            for v in 0..voxels {
                let at = &mut next[place[v] as usize];
                let slot = (encoding.streamlines() + compartment * voxels + v) as u32;
                entries[*at as usize] = BlockEntry { atom, slot, value: signal.s0[v] };
                *at += 1;
            }
        }
        let columns = columns as usize;
        Ok(Self { isotropic, ..Self::from_voxels(columns, voxel, start, entries, workers)? })
    }

    /// Blocks of entries whose `slot` still is the streamline.
    fn from_voxels(
        streamlines: usize,
        voxel: Vec<u32>,
        start: Vec<u64>,
        mut entries: Vec<BlockEntry>,
        workers: &Workers,
    ) -> Result<Self, LifeError> {
        let mut bounds = vec![0];
        for at in 0..voxel.len() {
            let first = bounds.last().copied().unwrap_or(0);
            if start[at + 1] - start[first] >= BLOCK || at + 1 == voxel.len() {
                bounds.push(at + 1);
            }
        }
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
            isotropic: 0,
            voxel,
            start,
            entries,
            blocks,
            slot_streamline,
            slots_start,
            streamline_slots,
        })
    }

    /// Isotropic compartments of each voxel.
    pub fn isotropic(&self) -> usize {
        self.isotropic
    }

    /// Number of columns of M: streamlines, and isotropic compartments behind them.
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

    /// The norm of every column of M.
    pub fn column_norms(&self, dictionary: &Dictionary, workers: &Workers) -> Vec<f32> {
        let of_block = |block: &Block| {
            let mut squares = vec![0.0_f64; block.slots.len()];
            let mut column = vec![0.0_f64; dictionary.rank()];
            for at in block.voxels.clone() {
                let entries = &self.entries[self.start[at] as usize..self.start[at + 1] as usize];
                for of_streamline in entries.chunk_by(|a, b| a.slot == b.slot) {
                    column.fill(0.0);
                    for entry in of_streamline {
                        let atom = dictionary.column(entry.atom as usize);
                        for (c, d) in column.iter_mut().zip(atom) {
                            *c += f64::from(entry.value) * f64::from(*d);
                        }
                    }
                    let square: f64 = column.iter().map(|c| c * c).sum();
                    squares[of_streamline[0].slot as usize] += square;
                }
            }
            squares
        };
        let squares: Vec<f64> =
            workers.install(|| self.blocks.par_iter().flat_map_iter(of_block).collect());
        let norm = |f: usize| {
            let slots = &self.streamline_slots[self.slots_of(f)];
            slots.iter().map(|&slot| squares[slot as usize]).sum::<f64>().sqrt() as f32
        };
        workers.install(|| (0..self.streamlines).into_par_iter().map(norm).collect())
    }

    /// Multiplies the column of every streamline by its factor.
    pub fn scale_columns(&mut self, factors: &[f32], workers: &Workers) {
        let Self { entries, blocks, slot_streamline, start, .. } = self;
        let mut rest = &mut entries[..];
        let mut parts = Vec::new();
        for block in &*blocks {
            let len = start[block.voxels.end] - start[block.voxels.start];
            let (part, after) = rest.split_at_mut(len as usize);
            parts.push((block, part));
            rest = after;
        }
        workers.install(|| {
            parts.into_par_iter().for_each(|(block, entries)| {
                let members = &slot_streamline[block.slots.clone()];
                for entry in entries {
                    entry.value *= factors[members[entry.slot as usize] as usize];
                }
            });
        });
    }

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

    pub(super) fn slots_of(&self, streamline: usize) -> Range<usize> {
        self.slots_start[streamline] as usize..self.slots_start[streamline + 1] as usize
    }
}

/// What checks of devices are made from.
impl Blocks {
    /// Entries of streamlines and atoms at random, as many for each voxel but the first, which
    /// has none.
    pub(crate) fn random(voxels: usize, streamlines: usize, atoms: usize, entries: usize) -> Self {
        let philox = Philox::new(17);
        let start: Vec<u64> =
            (0..=voxels as u64).map(|v| v.saturating_sub(1) * entries as u64).collect();
        let all = (0..start[voxels]).map(|k| {
            let [atom, streamline, value, _] = philox.at(k, 0);
            BlockEntry {
                atom: atom % atoms as u32,
                slot: streamline % streamlines as u32,
                value: 0.5 + value as f32 / u32::MAX as f32,
            }
        });
        let voxel: Vec<u32> = (0..voxels as u32).collect();
        // In one block slots may be the streamlines themselves.
        let members: Vec<u32> = (0..streamlines as u32).collect();
        Self {
            streamlines,
            isotropic: 0,
            voxel,
            entries: all.collect(),
            start,
            blocks: vec![Block { voxels: 0..voxels, slots: 0..streamlines }],
            slot_streamline: members.clone(),
            slots_start: (0..=streamlines as u64).collect(),
            streamline_slots: members,
        }
    }

    /// `data`, of each voxel as many numbers as the dictionary's rank, at the dictionary's stride.
    pub(crate) fn padded(&self, dictionary: &Dictionary, data: &[f32]) -> Vec<f32> {
        let mut padded = vec![0.0; self.voxels() * dictionary.stride()];
        for (to, from) in padded.chunks_mut(dictionary.stride()).zip(data.chunks(dictionary.rank()))
        {
            to[..from.len()].copy_from_slice(from);
        }
        padded
    }

    /// M'(M x - b), the sums of the magnitudes of its terms, and ‖M x - b‖², in f64.
    pub(crate) fn gradient_f64(
        &self,
        dictionary: &Dictionary,
        x: &[f32],
        b: &[f32],
    ) -> (Vec<f64>, Vec<f64>, f64) {
        let (mut g, mut magnitude) = (vec![0.0; self.streamlines], vec![0.0; self.streamlines]);
        let mut squares = 0.0;
        for block in &self.blocks {
            let members = &self.slot_streamline[block.slots.clone()];
            for at in block.voxels.clone() {
                let entries = &self.entries[self.start[at] as usize..self.start[at + 1] as usize];
                let data = &b[at * dictionary.stride()..][..dictionary.stride()];
                let mut residual: Vec<f64> = data.iter().map(|&b| -f64::from(b)).collect();
                let mut terms: Vec<f64> = residual.iter().map(|r| r.abs()).collect();
                for entry in entries {
                    let weight = f64::from(x[members[entry.slot as usize] as usize]);
                    let column = dictionary.column(entry.atom as usize);
                    for ((r, t), d) in residual.iter_mut().zip(&mut terms).zip(column) {
                        let term = weight * f64::from(entry.value) * f64::from(*d);
                        *r += term;
                        *t += term.abs();
                    }
                }
                squares += residual.iter().map(|r| r * r).sum::<f64>();
                for entry in entries {
                    let f = members[entry.slot as usize] as usize;
                    let column = dictionary.column(entry.atom as usize);
                    for ((d, r), t) in column.iter().zip(&residual).zip(&terms) {
                        g[f] += f64::from(entry.value) * f64::from(*d) * r;
                        magnitude[f] += (f64::from(entry.value) * f64::from(*d) * t).abs();
                    }
                }
            }
        }
        (g, magnitude, squares)
    }
}

/// Positions in the encoding's voxels along a Morton curve.
fn along_curve(encoding: &Encoding) -> Vec<u32> {
    let key = |position: u32| {
        let [i, j, k] = encoding.grid.voxel(encoding.voxels[position as usize] as usize);
        spread(i) | spread(j) << 1 | spread(k) << 2
    };
    let mut order: Vec<u32> = (0..encoding.voxels.len() as u32).collect();
    order.sort_by_cached_key(|&position| key(position));
    order
}

/// The lowest 21 bits of a number, two zeros between each.
fn spread(n: usize) -> u64 {
    let n = n as u64 & 0x1f_ffff;
    (0..21).fold(0, |spread, bit| spread | (n >> bit & 1) << (3 * bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_spread_by_three() {
        assert_eq!(spread(0b1011), 0b001_000_001_001);
    }
}
