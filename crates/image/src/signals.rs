//! Where a fit gets its samples from.

use crate::{Grid, Image};

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
