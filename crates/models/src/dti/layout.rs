//! Rows of results: what one voxel's parameters and maps look like in memory.

use fimbria_image::{Grid, Image, Mask};

use super::DtiMap;

/// Rows of the fitted parameters, `[row][voxel]`.
pub(crate) mod parameter_row {
    /// Signal without weighting, input units.
    pub(crate) const S0: usize = 0;
    /// Six rows xx xy xz yy yz zz, µm²/ms.
    pub(crate) const TENSOR: usize = 1;
    /// Root mean square residual, input units.
    pub(crate) const RESIDUAL: usize = 7;
    /// Samples that were raised so that they have a logarithm.
    pub(crate) const RAISED: usize = 8;
    /// The number of a [`Status`](crate::Status).
    pub(crate) const STATUS: usize = 9;
    /// Number of rows.
    pub(crate) const COUNT: usize = 10;
}

/// Which row each map begins at; the status is always computed and is the last row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapLayout {
    maps: Vec<DtiMap>,
    /// The first row by the place of the map in [`DtiMap::ALL`].
    first_rows: [Option<usize>; DtiMap::ALL.len()],
    n_rows: usize,
}

impl MapLayout {
    /// Rows for the given maps, each once, in the given order.
    pub(crate) fn new(wanted: &[DtiMap]) -> Self {
        let mut layout =
            Self { maps: Vec::new(), first_rows: [None; DtiMap::ALL.len()], n_rows: 0 };
        let others = wanted.iter().copied().filter(|&map| map != DtiMap::Status);
        for map in others.chain([DtiMap::Status]) {
            let first_row = &mut layout.first_rows[map as usize];
            if first_row.is_none() {
                *first_row = Some(layout.n_rows);
                layout.n_rows += map.n_volumes();
                layout.maps.push(map);
            }
        }
        layout
    }

    /// Number of rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The row of the status.
    pub(crate) fn status_row(&self) -> usize {
        self.n_rows - 1
    }

    /// The first row of a map, `None` where it is not computed.
    #[inline(always)]
    pub(crate) fn first_row(&self, map: DtiMap) -> Option<usize> {
        self.first_rows[map as usize]
    }

    /// True where any of these maps is computed.
    pub(crate) fn has_any(&self, maps: &[DtiMap]) -> bool {
        maps.iter().any(|m| self.maps.contains(m))
    }

    /// An image of zeros for every map.
    pub(crate) fn images(&self, grid: &Grid) -> Vec<(DtiMap, Image)> {
        self.maps.iter().map(|&m| (m, Image::zeros(*grid, m.n_volumes()))).collect()
    }
}

/// A run of mask voxels and the parts of every output row that hold them.
pub(crate) struct Block<'a> {
    pub(crate) voxels: &'a [u32],
    /// Linear index of the first element of each part.
    first: usize,
    rows: Vec<&'a mut [f32]>,
}

impl<'a> Block<'a> {
    /// Cuts mask and images into blocks of at most `size` voxels that can be written at the same
    /// time: mask voxels ascend, so each block owns one stretch of every volume.
    pub(crate) fn cut(images: &'a mut [(DtiMap, Image)], mask: &'a Mask, size: usize) -> Vec<Self> {
        let mut blocks: Vec<Self> = mask
            .voxels
            .chunks(size)
            .map(|voxels| Self { voxels, first: voxels[0] as usize, rows: Vec::new() })
            .collect();
        let n = mask.grid.len();
        for (_, image) in images {
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

    /// Writes the rows `[row][stride]` of the voxels that begin at `offset` of this block.
    pub(crate) fn store(&mut self, offset: usize, n: usize, stride: usize, rows: &[f32]) {
        let voxels = &self.voxels[offset..offset + n];
        let start = voxels[0] as usize - self.first;
        let consecutive = (voxels[n - 1] - voxels[0]) as usize == n - 1;
        for (row, values) in self.rows.iter_mut().zip(rows.chunks(stride)) {
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
    use fimbria_image::Affine;

    use super::*;

    #[test]
    fn blocks_write_every_mask_voxel_and_nothing_else() {
        let grid = Grid { dims: [5, 2, 2], ras_from_vox: Affine::IDENTITY };
        let mask = Mask { grid, voxels: vec![2, 3, 4, 9, 11, 17] };
        let layout = MapLayout::new(&[DtiMap::V1]);
        let mut images = layout.images(&grid);
        for mut block in Block::cut(&mut images, &mask, 4) {
            let stride = 8;
            let values: Vec<f32> = (0..layout.n_rows())
                .flat_map(|row| {
                    let at = |l: usize| block.voxels.get(l).map_or(-1.0, |&v| v as f32);
                    (0..stride).map(move |l| at(l) + 100.0 * row as f32).collect::<Vec<_>>()
                })
                .collect();
            block.store(0, block.voxels.len(), stride, &values);
        }
        for (m, (_, image)) in images.iter().enumerate() {
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
