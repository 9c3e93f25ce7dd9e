//! The products by all threads.

use std::sync::{Mutex, PoisonError};

use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::{HostError, HostSpace, Workers};
use rayon::prelude::*;

use super::blocks::Block;
use super::kernel::{BlockPass, Work};
use super::{Agree, Blocks, PartialProduct};
use crate::Dictionary;
use crate::exact::{Lattice, exact_parts};

/// Streamlines whose sums one task adds up.
const TASK: usize = 4096;

/// M by the threads and SIMD registers of a processor.
///
/// The range holds `stride` numbers of each voxel, in the order of [`Blocks::voxel_order`]; those
/// beyond the dictionary's rank are zero.
#[derive(Debug)]
pub struct ThreadedProduct<'a> {
    blocks: &'a Blocks,
    dictionary: &'a Dictionary,
    domain: HostSpace<'a>,
    range: HostSpace<'a>,
    /// The sums of every slot.
    sums: Mutex<Vec<f32>>,
}

impl<'a> ThreadedProduct<'a> {
    /// The product with `blocks` and `dictionary` by `workers`.
    pub fn new(blocks: &'a Blocks, dictionary: &'a Dictionary, workers: &'a Workers) -> Self {
        Self {
            blocks,
            dictionary,
            domain: HostSpace::new(workers, blocks.streamlines),
            range: HostSpace::new(workers, blocks.voxels() * dictionary.stride()),
            sums: Mutex::default(),
        }
    }

    fn workers(&self) -> &'a Workers {
        self.domain.workers()
    }

    /// What a pass over the voxels of `block` takes.
    fn pass<'p>(&'p self, block: &Block, work: Work<'p>) -> BlockPass<'p> {
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
    fn weights(&self, block: &Block, x: &[f32], w: &mut Vec<f32>) {
        let members = &self.blocks.slot_streamline[block.slots.clone()];
        w.clear();
        w.extend(members.iter().map(|&f| x[f as usize]));
    }

    fn voxels_of<'y>(&self, block: &Block, y: &'y [f32]) -> &'y [f32] {
        let stride = self.dictionary.stride();
        &y[block.voxels.start * stride..block.voxels.end * stride]
    }

    /// Runs `of_block` with each block and its slots' sums, set to zero, then writes the sum of
    /// each streamline's, as `rounded`, to `x`; gives what the blocks gave. Sums are exact, of numbers on
    /// a lattice that `agree` makes that of all processes.
    fn gather<T: Send>(
        &self,
        x: &mut [T],
        rounded: impl Fn(f64) -> T + Sync,
        agree: Agree<'_>,
        of_block: impl Fn(&mut Scratch, &Block, &mut [f32]) -> f64 + Sync,
    ) -> Vec<f64> {
        assert_eq!(x.len(), self.blocks.streamlines, "a vector of another space");
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.resize(self.blocks.slot_streamline.len(), 0.0);
        let mut rest = &mut sums[..];
        let mut parts = Vec::with_capacity(self.blocks.blocks.len());
        for block in &self.blocks.blocks {
            let (part, after) = rest.split_at_mut(block.slots.len());
            parts.push((block, part));
            rest = after;
        }
        let each = |scratch: &mut Scratch, (block, sums): (&Block, &mut [f32])| {
            sums.fill(0.0);
            let given = of_block(scratch, block, sums);
            (given, sums.iter().fold(0.0_f32, |largest, sum| sum.abs().max(largest)))
        };
        let given: (Vec<f64>, Vec<f32>) = self
            .workers()
            .install(|| parts.into_par_iter().map_init(Scratch::default, each).unzip());
        let largest = given.1.into_iter().fold(0.0_f32, f32::max);
        // A streamline has a sum in each block at most.
        let lattice = Lattice::new(agree(f64::from(largest)), self.blocks.of_all);
        let sums = &*sums;
        self.workers().install(|| {
            x.par_chunks_mut(TASK).enumerate().for_each(|(task, x)| {
                for (f, x) in (task * TASK..).zip(x) {
                    let slots = &self.blocks.streamline_slots[self.blocks.slots_of(f)];
                    let sum = |&s: &u32| lattice.round(f64::from(sums[s as usize]));
                    *x = rounded(slots.iter().map(sum).sum());
                }
            });
        });
        given.0
    }
}

/// What a thread needs for a block.
#[derive(Default)]
struct Scratch {
    w: Vec<f32>,
    residual: Vec<f32>,
}

impl<'a> Operator for ThreadedProduct<'a> {
    fimbria_compute::between!(HostSpace<'a> => HostSpace<'a>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        assert_eq!((x.len(), y.len()), (self.domain.len(), self.range.len()), "other spaces");
        let simd = self.workers().simd();
        let mut parts = Vec::with_capacity(self.blocks.blocks.len());
        let mut rest = &mut y[..];
        for block in &self.blocks.blocks {
            let (part, after) = rest.split_at_mut(block.voxels.len() * self.dictionary.stride());
            parts.push((block, part));
            rest = after;
        }
        self.workers().install(|| {
            parts.into_par_iter().for_each_init(Vec::new, |w, (block, y)| {
                self.weights(block, x, w);
                simd.run(self.pass(block, Work::Apply { w, y }));
            });
        });
        Ok(())
    }
}

impl ThreadedProduct<'_> {
    fn adjoint_into<T: Send>(
        &self,
        y: &[f32],
        x: &mut [T],
        rounded: impl Fn(f64) -> T + Sync,
        agree: Agree<'_>,
    ) {
        assert_eq!(y.len(), self.range.len(), "a vector of another space");
        let simd = self.workers().simd();
        self.gather(x, rounded, agree, |_, block, g| {
            let y = self.voxels_of(block, y);
            simd.run(self.pass(block, Work::Adjoint { y, g }))
        });
    }

    /// Both products in one pass over entries and columns; residuals are never stored.
    fn gradient_into<T: Send>(
        &self,
        x: &[f32],
        b: &[f32],
        g: &mut [T],
        rounded: impl Fn(f64) -> T + Sync,
        agree: Agree<'_>,
    ) -> [f64; 2] {
        let spaces = (self.domain.len(), self.range.len());
        assert_eq!((x.len(), b.len()), spaces, "vectors of other spaces");
        let simd = self.workers().simd();
        let of_blocks = self.gather(g, rounded, agree, |scratch, block, g| {
            self.weights(block, x, &mut scratch.w);
            scratch.residual.resize(self.dictionary.stride(), 0.0);
            let Scratch { w, residual } = scratch;
            let b = self.voxels_of(block, b);
            simd.run(self.pass(block, Work::Gradient { w, b, g, residual }))
        });
        exact_parts(&of_blocks, self.blocks.of_all, agree)
    }
}

/// What a process by itself agrees on.
fn alone(mine: f64) -> f64 {
    mine
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

impl LinearOperator for ThreadedProduct<'_> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        self.adjoint_into(y, x, |sum| sum as f32, &alone);
        Ok(())
    }

    fn gradient(&self, x: &Vec<f32>, b: &Vec<f32>, g: &mut Vec<f32>) -> Result<f64, HostError> {
        Ok(self.gradient_into(x, b, g, |sum| sum as f32, &alone).iter().sum())
    }
}

impl PartialProduct for ThreadedProduct<'_> {
    fn adjoint_sums(
        &self,
        y: &Vec<f32>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<(), HostError> {
        self.adjoint_into(y, sums, |sum| sum, agree);
        Ok(())
    }

    fn gradient_sums(
        &self,
        x: &Vec<f32>,
        b: &Vec<f32>,
        sums: &mut [f64],
        agree: Agree<'_>,
    ) -> Result<[f64; 2], HostError> {
        Ok(self.gradient_into(x, b, sums, |sum| sum, agree))
    }

    fn dot_sums(
        &self,
        x: &Vec<f32>,
        y: &Vec<f32>,
        agree: Agree<'_>,
    ) -> Result<[f64; 2], HostError> {
        assert!([x.len(), y.len()] == [self.range.len(); 2], "vectors of another space");
        let of_block = |block: &Block| dot(self.voxels_of(block, x), self.voxels_of(block, y));
        let blocks = &self.blocks.blocks;
        let of_blocks: Vec<f64> =
            self.workers().install(|| blocks.par_iter().map(of_block).collect());
        Ok(exact_parts(&of_blocks, self.blocks.of_all, agree))
    }
}
