//! Where a run of voxels lies in every output volume.

use fimbria_image::{Image, Mask};

/// A run of mask voxels and the stretch of every output volume that holds them.
pub(super) struct Block<'a> {
    pub(super) voxels: &'a [u32],
    rows: Vec<&'a mut [f32]>,
}

/// Cuts mask and images into blocks of at most `size` voxels that can be written at the same time:
/// mask voxels ascend, so each block owns one stretch of every volume.
pub(super) fn cut<'a>(images: &'a mut [Image], mask: &'a Mask, size: usize) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'_>> =
        mask.voxels.chunks(size).map(|voxels| Block { voxels, rows: Vec::new() }).collect();
    let n = mask.grid.len();
    for mut volume in images.iter_mut().flat_map(|image| image.data.chunks_mut(n)) {
        let mut start = 0;
        for block in &mut blocks {
            let first = block.voxels[0] as usize;
            let end = block.voxels[block.voxels.len() - 1] as usize + 1;
            let (stretch, rest) = volume.split_at_mut(end - start);
            block.rows.push(&mut stretch[first - start..]);
            (volume, start) = (rest, end);
        }
    }
    blocks
}

impl Block<'_> {
    /// Writes the rows `[row][stride]` of the `n` voxels that begin at `offset` of this block.
    pub(super) fn store(&mut self, offset: usize, n: usize, stride: usize, rows: &[f32]) {
        let voxels = &self.voxels[offset..offset + n];
        let start = (voxels[0] - self.voxels[0]) as usize;
        let consecutive = (voxels[n - 1] - voxels[0]) as usize == n - 1;
        for (row, values) in self.rows.iter_mut().zip(rows.chunks(stride)) {
            if consecutive {
                row[start..start + n].copy_from_slice(&values[..n]);
            } else {
                for (&voxel, &value) in voxels.iter().zip(values) {
                    row[(voxel - self.voxels[0]) as usize] = value;
                }
            }
        }
    }
}
