//! The squared norms of M's columns, and their scaling.

use fimbria_compute::Workers;
use fimbria_compute::comm::Comm;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::Blocks;
use super::blocks::{Block, BlockEntry};
use crate::Dictionary;
use crate::exact::{Lattice, largest, largest_of_all, split};

impl Blocks {
    /// The squared norm of every column of M, of the voxels of all processes.
    pub fn column_squares(
        &self,
        dictionary: &Dictionary,
        workers: &Workers,
        comm: &dyn Comm,
    ) -> Vec<f64> {
        let of_block = |block: &Block| {
            let starts = &self.start[block.voxels.start..=block.voxels.end];
            let squares = SquaresOfBlock { starts, block, entries: &self.entries, dictionary };
            workers.simd().run(squares)
        };
        let squares: Vec<f64> =
            workers.install(|| self.blocks.par_iter().flat_map_iter(of_block).collect());
        // Exact sums, in two parts: a column may be a millionth of another.
        let coarse = largest_of_all(comm, largest(squares.iter().copied()));
        let coarse = Lattice::new(coarse, self.of_all);
        let fine = Lattice::new(coarse.half, self.of_all);
        let of_streamline = |f: usize| -> [f64; 2] {
            let slots = &self.streamline_slots[self.slots_of(f)];
            slots.iter().fold([0.0; 2], |sum, &slot| {
                let parts = split(squares[slot as usize], coarse, fine);
                [sum[0] + parts[0], sum[1] + parts[1]]
            })
        };
        let streamlines = (0..self.streamlines).into_par_iter();
        let mut sums: Vec<f64> =
            workers.install(|| streamlines.flat_map_iter(of_streamline).collect());
        comm.sum_f64(&mut sums);
        sums.as_chunks::<2>().0.iter().map(|[high, low]| high + low).collect()
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
}

/// The squared norms of the columns of one block; the same bits at every SIMD level.
struct SquaresOfBlock<'a> {
    /// Where the entries of each of its voxels start, and where the last one's end.
    starts: &'a [u64],
    block: &'a Block,
    /// Those of all blocks.
    entries: &'a [BlockEntry],
    dictionary: &'a Dictionary,
}

impl WithSimd for SquaresOfBlock<'_> {
    /// Of each slot.
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
        let Self { starts, block, entries, dictionary } = self;
        let mut squares = vec![0.0_f64; block.slots.len()];
        let mut column = vec![0.0_f64; dictionary.stride()];
        for voxel in starts.windows(2) {
            let entries = &entries[voxel[0] as usize..voxel[1] as usize];
            for of_streamline in entries.chunk_by(|a, b| a.slot == b.slot) {
                column.fill(0.0);
                for entry in of_streamline {
                    let (atom, value) = (dictionary.column(entry.atom as usize), entry.value);
                    for (c, d) in column.iter_mut().zip(atom) {
                        *c += f64::from(value) * f64::from(*d);
                    }
                }
                let mut sums = [0.0; Dictionary::ALIGN];
                for part in column.chunks_exact(Dictionary::ALIGN) {
                    sums.iter_mut().zip(part).for_each(|(sum, c)| *sum += c * c);
                }
                squares[of_streamline[0].slot as usize] += sums.iter().sum::<f64>();
            }
        }
        squares
    }
}
