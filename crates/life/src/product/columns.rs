//! The squared norms of M's columns, and their scaling.

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Blocks;
use super::blocks::Block;
use crate::Dictionary;

impl Blocks {
    /// The squared norm of every column of M.
    pub fn column_squares(&self, dictionary: &Dictionary, workers: &Workers) -> Vec<f64> {
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
        let of_streamline = |f: usize| {
            let slots = &self.streamline_slots[self.slots_of(f)];
            slots.iter().map(|&slot| squares[slot as usize]).sum()
        };
        workers.install(|| (0..self.streamlines).into_par_iter().map(of_streamline).collect())
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
