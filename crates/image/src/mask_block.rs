//! Runs of mask voxels that are written at the same time.

use crate::{Image, Mask};

/// A run of mask voxels and the parts of every output volume that hold them, for tasks that write
/// maps side by side.
pub struct MaskBlock<'a> {
    /// Linear indices of its voxels, ascending.
    pub voxels: &'a [u32],
    /// Linear index of the first element of each part.
    first: usize,
    rows: Vec<&'a mut [f32]>,
}

impl<'a> MaskBlock<'a> {
    /// Cuts mask and images into blocks of at most `size` voxels that can be written at the same
    /// time: mask voxels ascend, so each block owns one stretch of every volume.
    pub fn cut(
        images: impl Iterator<Item = &'a mut Image>,
        mask: &'a Mask,
        size: usize,
    ) -> Vec<Self> {
        let mut blocks: Vec<Self> = mask
            .voxels
            .chunks(size)
            .map(|voxels| Self { voxels, first: voxels[0] as usize, rows: Vec::new() })
            .collect();
        let n = mask.grid.len();
        for image in images {
            for mut volume in image.data.chunks_mut(n) {
                let mut start = 0;
                for block in &mut blocks {
                    let end = block.voxels[block.voxels.len() - 1] as usize + 1;
                    let (stretch, rest) = volume.split_at_mut(end - start);
                    block.rows.push(&mut stretch[block.first - start..]);
                    (volume, start) = (rest, end);
                }
            }
        }
        blocks
    }

    /// Writes the rows `[row][stride]` of the `n` voxels that begin at `offset` of this block, one
    /// row for each volume of each image; rows beyond those of the images are left out.
    pub fn store(&mut self, offset: usize, n: usize, stride: usize, rows: &[f32]) {
        self.store_rows(offset, n, rows.chunks(stride));
    }

    /// The same from rows that begin with the value of the voxel at `offset`.
    pub fn store_rows<'r>(
        &mut self,
        offset: usize,
        n: usize,
        rows: impl Iterator<Item = &'r [f32]>,
    ) {
        let voxels = &self.voxels[offset..offset + n];
        let start = voxels[0] as usize - self.first;
        let consecutive = (voxels[n - 1] - voxels[0]) as usize == n - 1;
        for (row, values) in self.rows.iter_mut().zip(rows) {
            if consecutive {
                row[start..start + n].copy_from_slice(&values[..n]);
            } else {
                for (&voxel, &value) in voxels.iter().zip(values) {
                    row[voxel as usize - self.first] = value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Affine, Grid};

    use super::*;

    #[test]
    fn blocks_write_every_mask_voxel_and_nothing_else() {
        let grid = Grid { dims: [5, 2, 2], ras_from_vox: Affine::IDENTITY };
        let mask = Mask { grid, voxels: vec![2, 3, 4, 9, 11, 17] };
        let mut images = [Image::zeros(grid, 3), Image::zeros(grid, 1)];
        for mut block in MaskBlock::cut(images.iter_mut(), &mask, 4) {
            let stride = 8;
            // One row more than the images have.
            let values: Vec<f32> = (0..5)
                .flat_map(|row| {
                    let at = |l: usize| block.voxels.get(l).map_or(-1.0, |&v| v as f32);
                    (0..stride).map(move |l| at(l) + 100.0 * row as f32).collect::<Vec<_>>()
                })
                .collect();
            block.store(0, block.voxels.len(), stride, &values);
        }
        for (m, image) in images.iter().enumerate() {
            for volume in 0..image.n_volumes {
                for (voxel, &value) in image.volume(volume).iter().enumerate() {
                    let row = 3 * m + volume;
                    let inside = mask.voxels.contains(&(voxel as u32));
                    let expected = if inside { (voxel + 100 * row) as f32 } else { 0.0 };
                    assert_eq!(value, expected, "row {row} voxel {voxel}");
                }
            }
        }
    }
}
