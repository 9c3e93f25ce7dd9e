//! Where a fit gets its samples from.

use rayon::prelude::*;

use crate::{Grid, Image};

/// Voxels that a task of [`SignalSource::gather_on_pool`] takes.
const TASK: usize = 4096;

/// A 4-D series that hands out the samples of chosen voxels as `f32`, whatever it stores.
///
/// Fits ask for small tiles of voxels, so a source may be a mapped file many times larger than
/// memory.
pub trait SignalSource: Sync {
    /// The lattice of every volume.
    fn grid(&self) -> &Grid;

    /// Number of volumes.
    fn n_volumes(&self) -> usize;

    /// Writes sample (volume v, voxel `voxels[l]`) to `rows[v][l]`, scaling applied.
    ///
    /// `voxels` are linear indices (x fastest); runs of consecutive ones are the fast case.
    ///
    /// # Panics
    /// Where a voxel lies outside the grid, there are fewer rows than volumes, or one is shorter than
    /// `voxels`.
    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]);

    /// The same to `out[v * stride + l]`.
    ///
    /// # Panics
    /// Where a voxel lies outside the grid, `stride < voxels.len()`, or `out` is shorter than
    /// `n_volumes() * stride`.
    fn gather(&self, voxels: &[u32], stride: usize, out: &mut [f32]) {
        assert!(voxels.len() <= stride, "{} voxels in rows of {stride}", voxels.len());
        assert!(out.len() >= self.n_volumes() * stride, "{} samples of room", out.len());
        let mut rows: Vec<_> = out.chunks_mut(stride).take(self.n_volumes()).collect();
        self.gather_rows(voxels, &mut rows);
    }

    /// The same for rows as long as there are voxels, on the threads of the current rayon pool.
    ///
    /// # Panics
    /// Where a voxel lies outside the grid, or `out` is shorter than `n_volumes() * voxels.len()`.
    fn gather_on_pool(&self, voxels: &[u32], out: &mut [f32]) {
        if voxels.is_empty() {
            return;
        }
        let of_task = |some| (some, Vec::with_capacity(self.n_volumes()));
        let mut tasks: Vec<(&[u32], Vec<&mut [f32]>)> = voxels.chunks(TASK).map(of_task).collect();
        for mut row in out.chunks_exact_mut(voxels.len()).take(self.n_volumes()) {
            for (some, rows) in &mut tasks {
                let (of_task, rest) = row.split_at_mut(some.len());
                rows.push(of_task);
                row = rest;
            }
        }
        tasks.into_par_iter().for_each(|(some, mut rows)| self.gather_rows(some, &mut rows));
    }

    /// Bytes of memory that the samples take; 0 where they are read from a file.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Lets go of what can be had again: pages of a file, which the system counts as ours. For who reads no
    /// more for a while.
    fn let_go(&self) {}
}

impl SignalSource for Image {
    fn held_bytes(&self) -> u64 {
        size_of_val(&*self.data) as u64
    }

    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn n_volumes(&self) -> usize {
        self.n_volumes
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        for (v, row) in rows[..self.n_volumes].iter_mut().enumerate() {
            let volume = self.volume(v);
            for (sample, &voxel) in row[..voxels.len()].iter_mut().zip(voxels) {
                *sample = volume[voxel as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Affine;

    use super::*;

    #[test]
    fn threads_gather_what_one_does() {
        // Two tasks and a part of one.
        let grid = Grid { dims: [30, 30, 25], ras_from_vox: Affine::IDENTITY };
        let image = Image {
            data: (0..3 * grid.len()).map(|i| i as f32).collect(),
            ..Image::zeros(grid, 3)
        };
        // Backwards, with gaps.
        let voxels: Vec<u32> = (0..grid.len() as u32).rev().step_by(2).collect();
        let n = voxels.len();
        assert!(n > 2 * TASK && !n.is_multiple_of(TASK));
        let (mut one, mut threads) = (vec![-1.0; 3 * n], vec![-1.0; 3 * n]);
        image.gather(&voxels, n, &mut one);
        image.gather_on_pool(&voxels, &mut threads);
        assert_eq!(one[n], (grid.len() + grid.len() - 1) as f32);
        assert!(threads == one);
        image.gather_on_pool(&[], &mut []);
    }
}
