//! The products of some blocks by all threads.

use std::ops::Range;

use fimbria_compute::Workers;
use rayon::prelude::*;

use super::Blocks;
use super::blocks::Block;
use super::kernel::{BlockPass, Work};
use crate::Dictionary;
use crate::exact::{Lattice, sum_of_voxels};

/// Streamlines whose sums one task adds up.
const TASK: usize = 4096;

/// A product, with vectors in host memory.
#[derive(Clone, Copy)]
pub(super) enum Asked<'x> {
    /// M'(M x - b), without b where there is none, and ‖M x - b‖².
    Gradient { x: &'x [f32], b: Option<&'x [f32]> },
    /// M'y.
    Adjoint { y: &'x [f32] },
    /// ‖M x‖².
    Squares { x: &'x [f32] },
}

/// What the first half of a product tells.
pub(super) struct Told {
    /// Size of the largest sum of a slot, infinite where one is no finite number: what the lattice follows
    /// from.
    pub(super) largest: f64,
    /// Of each block ‖M x - b‖².
    pub(super) squares: Vec<f64>,
}

/// M by the threads and SIMD registers of a processor, or some blocks of it.
#[derive(Clone, Copy)]
pub(super) struct OnThreads<'a> {
    pub(super) blocks: &'a Blocks,
    pub(super) dictionary: &'a Dictionary,
    pub(super) workers: &'a Workers,
}

/// What a thread needs for a block.
#[derive(Default)]
struct Scratch {
    w: Vec<f32>,
    residual: Vec<f32>,
    squares: Vec<f32>,
}

impl<'a> OnThreads<'a> {
    /// The first half of a product: the sums of the slots of `mine`, zero for those of other blocks; what it
    /// tells is of the blocks of `mine`, in their order.
    pub(super) fn slot_sums(
        self,
        mine: &[Range<usize>],
        asked: Asked<'_>,
        sums: &mut Vec<f32>,
    ) -> Told {
        sums.resize(self.blocks.slot_streamline.len(), 0.0);
        let mut rest = &mut sums[..];
        let mut parts = Vec::with_capacity(self.blocks.blocks.len());
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            let (part, after) = rest.split_at_mut(block.slots.len());
            parts.push((mine.iter().any(|range| range.contains(&index)), block, part));
            rest = after;
        }
        let each = |scratch: &mut Scratch, (is_mine, block, sums): (bool, &Block, &mut [f32])| {
            sums.fill(0.0);
            is_mine.then(|| {
                let squares = self.pass_of(asked, block, scratch, sums);
                (squares, sums.iter().fold(0.0, |largest, sum| larger(largest, *sum)))
            })
        };
        let told: Vec<Option<(f64, f32)>> = self
            .workers
            .install(|| parts.into_par_iter().map_init(Scratch::default, each).collect());
        let told = || told.iter().flatten();
        let largest = told().fold(0.0_f32, |largest, of_block| largest.max(of_block.1));
        Told { largest: f64::from(largest), squares: told().map(|of_block| of_block.0).collect() }
    }

    /// The second half: hands `take` the exact sum of every streamline's slots.
    pub(super) fn add_up<T: Send>(
        self,
        sums: &[f32],
        lattice: Lattice,
        x: &mut [T],
        take: impl Fn(&mut T, f64) + Sync,
    ) {
        self.workers.install(|| {
            x.par_chunks_mut(TASK).enumerate().for_each(|(task, x)| {
                for (f, x) in (task * TASK..).zip(x) {
                    let slots = &self.blocks.streamline_slots[self.blocks.slots_of(f)];
                    let sum = |&s: &u32| lattice.round(f64::from(sums[s as usize]));
                    take(x, slots.iter().map(sum).sum());
                }
            });
        });
    }

    /// M x of the blocks of `mine`, into their places of `y`.
    pub(super) fn apply(self, mine: &[Range<usize>], x: &[f32], y: &mut [f32]) {
        let mut parts = Vec::with_capacity(self.blocks.blocks.len());
        let mut rest = y;
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            let (part, after) = rest.split_at_mut(block.voxels.len() * self.dictionary.stride());
            if mine.iter().any(|range| range.contains(&index)) {
                parts.push((block, part));
            }
            rest = after;
        }
        let simd = self.workers.simd();
        self.workers.install(|| {
            parts.into_par_iter().for_each_init(Vec::new, |w, (block, y)| {
                self.weights(block, x, w);
                simd.run(self.pass(block, Work::Apply { w, y }));
            });
        });
    }

    /// ⟨x, y⟩ of vectors over voxels, of each block.
    pub(super) fn dots(self, x: &[f32], y: &[f32]) -> Vec<f64> {
        let of_block = |block: &Block| dot(self.voxels_of(block, x), self.voxels_of(block, y));
        self.workers.install(|| self.blocks.blocks.par_iter().map(of_block).collect())
    }

    /// A product of one block, its slots' sums into `g`; gives ‖M x - b‖².
    fn pass_of(self, asked: Asked<'_>, block: &Block, scratch: &mut Scratch, g: &mut [f32]) -> f64 {
        let Scratch { w, residual, squares } = scratch;
        residual.resize(self.dictionary.stride(), 0.0);
        squares.resize(block.voxels.len(), 0.0);
        let work = match asked {
            Asked::Adjoint { y } => {
                let y = self.voxels_of(block, y);
                self.workers.simd().run(self.pass(block, Work::Adjoint { y, g }));
                return 0.0;
            }
            Asked::Gradient { x, b } => {
                self.weights(block, x, w);
                let b = b.map(|b| self.voxels_of(block, b));
                Work::Gradient { w, b, g, squares, residual }
            }
            Asked::Squares { x } => {
                self.weights(block, x, w);
                Work::Squares { w, squares, residual }
            }
        };
        self.workers.simd().run(self.pass(block, work));
        sum_of_voxels(squares)
    }

    /// What a pass over the voxels of `block` takes.
    fn pass<'p>(self, block: &Block, work: Work<'p>) -> BlockPass<'p>
    where
        'a: 'p,
    {
        let start = &self.blocks.start[block.voxels.start..=block.voxels.end];
        let entries = start[0] as usize..start[start.len() - 1] as usize;
        BlockPass {
            start,
            entries: &self.blocks.entries[entries],
            columns: self.dictionary.columns(),
            stride: self.dictionary.stride(),
            work,
        }
    }

    /// The weights of a block's streamlines.
    fn weights(self, block: &Block, x: &[f32], w: &mut Vec<f32>) {
        let members = &self.blocks.slot_streamline[block.slots.clone()];
        w.clear();
        w.extend(members.iter().map(|&f| x[f as usize]));
    }

    fn voxels_of<'y>(self, block: &Block, y: &'y [f32]) -> &'y [f32] {
        let stride = self.dictionary.stride();
        &y[block.voxels.start * stride..block.voxels.end * stride]
    }
}

/// The larger of two sizes; what is no finite number is infinite.
fn larger(largest: f32, x: f32) -> f32 {
    if x.is_finite() { largest.max(x.abs()) } else { f32::INFINITY }
}

/// ⟨x, y⟩, by sums side by side.
fn dot(x: &[f32], y: &[f32]) -> f64 {
    let mut sums = [0.0; Dictionary::ALIGN];
    for (x, y) in x.chunks(sums.len()).zip(y.chunks(sums.len())) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += f64::from(*x) * f64::from(*y);
        }
    }
    sums.iter().sum()
}
