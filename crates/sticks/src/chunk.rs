//! What is sampled in one go, kept, and taken up again.

use std::ops::Range;

use fimbria_image::Status;
use fimbria_image::sticks::PackedStick;

use crate::summary::Scalars;

/// Voxels of a chunk: what a device takes at a time, and what is kept where work is resumed.
pub const CHUNK: usize = 4096;

/// Voxels that a thread takes at a time: a few registers of lanes, so that all threads finish
/// together.
pub(crate) const TILE: usize = 64;

/// Finished chunks of an earlier run, and a place for those of this one.
pub trait Keeper: Sync {
    /// The results of a chunk, if an earlier run finished it.
    fn kept(&self, chunk: usize) -> Option<Vec<u8>>;

    /// Keeps the results of a chunk.
    ///
    /// # Errors
    /// Where they cannot be written.
    fn keep(&self, chunk: usize, results: &[u8]) -> std::io::Result<()>;
}

/// What is known of a voxel beside its sticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VoxelResult {
    pub(crate) scalars: Scalars,
    pub(crate) acceptance: f32,
    pub(crate) status: Status,
}

impl VoxelResult {
    pub(crate) fn without_samples(status: Status) -> Self {
        Self { scalars: Scalars::default(), acceptance: 0.0, status }
    }
}

/// Voxels in a row of the mask and the places of their results.
pub(crate) struct Chunk<'a> {
    pub(crate) index: usize,
    pub(crate) voxels: &'a [u32],
    pub(crate) sticks: &'a mut [PackedStick],
    pub(crate) results: &'a mut [VoxelResult],
}

/// Numbers that [`Chunk::bytes`] keeps of a voxel beside its sticks.
const KEPT: usize = 10;

impl VoxelResult {
    fn to_numbers(self) -> [f32; KEPT] {
        let s = self.scalars;
        [
            s.d,
            s.d_deviation,
            s.s0,
            s.spread,
            s.ratio,
            s.offset,
            s.precision,
            s.effective,
            self.acceptance,
            self.status.code(),
        ]
    }

    fn from_numbers(n: [f32; KEPT]) -> Self {
        let [d, d_deviation, s0, spread, ratio, offset, precision, effective, acceptance, status] =
            n;
        let scalars = Scalars { d, d_deviation, s0, spread, ratio, offset, precision, effective };
        Self { scalars, acceptance, status: Status::from_code(status) }
    }
}

impl Chunk<'_> {
    /// Some of its voxels, in its places.
    pub(crate) fn part(&mut self, voxels: Range<usize>) -> Chunk<'_> {
        let per_voxel = self.sticks.len() / self.voxels.len().max(1);
        Chunk {
            index: self.index,
            voxels: &self.voxels[voxels.clone()],
            sticks: &mut self.sticks[voxels.start * per_voxel..voxels.end * per_voxel],
            results: &mut self.results[voxels],
        }
    }

    /// The results as bytes: sticks, then ten numbers per voxel.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = bytemuck::cast_slice::<_, u8>(self.sticks).to_vec();
        for result in self.results.iter() {
            bytes.extend_from_slice(bytemuck::cast_slice(&result.to_numbers()));
        }
        bytes
    }

    /// Takes results from [`bytes`](Self::bytes); false where they are not of this chunk's size.
    pub(crate) fn restore(&mut self, bytes: &[u8]) -> bool {
        let sticks = size_of_val(&*self.sticks);
        let per_voxel = KEPT * size_of::<f32>();
        if bytes.len() != sticks + self.results.len() * per_voxel {
            return false;
        }
        let (of_sticks, of_voxels) = bytes.split_at(sticks);
        bytemuck::cast_slice_mut::<_, u8>(self.sticks).copy_from_slice(of_sticks);
        for (result, bytes) in self.results.iter_mut().zip(of_voxels.chunks_exact(per_voxel)) {
            let mut numbers = [0.0; KEPT];
            bytemuck::cast_slice_mut::<f32, u8>(&mut numbers).copy_from_slice(bytes);
            *result = VoxelResult::from_numbers(numbers);
        }
        true
    }
}
