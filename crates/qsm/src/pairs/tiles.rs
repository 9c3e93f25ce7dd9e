//! The order in which the receivers' volume is kept: tiles of 4³ voxels, 4³ of them to a box.

use crate::Geometry;

/// Voxels along a tile's edge.
pub(crate) const EDGE: usize = 4;
/// Voxels of a tile.
pub(crate) const TILE: usize = EDGE * EDGE * EDGE;
/// Tiles along a box's edge.
const TILES: usize = 4;
/// Voxels along a box's edge.
pub(crate) const BOX_EDGE: usize = EDGE * TILES;
/// Voxels of a box.
pub(crate) const BOX: usize = BOX_EDGE * BOX_EDGE * BOX_EDGE;

/// Where the voxels of a tile are, from its first.
pub(crate) const AT: [[f32; TILE]; 3] = {
    let mut at = [[0.0; TILE]; 3];
    let mut i = 0;
    while i < TILE {
        at[0][i] = (i % EDGE) as f32;
        at[1][i] = (i / EDGE % EDGE) as f32;
        at[2][i] = (i / (EDGE * EDGE)) as f32;
        i += 1;
    }
    at
};

/// A volume cut into boxes, boxes into tiles; boxes and tiles are in order, x fastest, and the
/// voxels of each lie together. Voxels beyond the volume's edge pad it to whole boxes.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    boxes: [usize; 3],
    /// For each box the tiles that hold a receiver, a bit each.
    pub(crate) active: Vec<u64>,
    /// Where each receiver is.
    pub(crate) receivers: Vec<u32>,
}

impl Tiles {
    pub(crate) fn new(geometry: &Geometry, receivers: &[u32]) -> Self {
        let boxes = geometry.dims.map(|n| n.div_ceil(BOX_EDGE));
        let place = |&voxel: &u32| {
            let at = geometry.voxel(voxel as usize);
            let fold = |of: [usize; 3], n: [usize; 3]| of[0] + n[0] * (of[1] + n[1] * of[2]);
            let in_box = fold(at.map(|i| i / BOX_EDGE), boxes);
            let tile = fold(at.map(|i| i % BOX_EDGE / EDGE), [TILES; 3]);
            let element = fold(at.map(|i| i % EDGE), [EDGE; 3]);
            ((in_box * (BOX / TILE) + tile) * TILE + element) as u32
        };
        let receivers: Vec<u32> = receivers.iter().map(place).collect();
        let mut active = vec![0; boxes.iter().product()];
        for &place in &receivers {
            let tile = place as usize / TILE;
            active[tile / (BOX / TILE)] |= 1 << (tile % (BOX / TILE));
        }
        Self { boxes, active, receivers }
    }

    /// Elements of the tiled volume.
    pub(crate) fn len(&self) -> usize {
        self.active.len() * BOX
    }

    /// Place and first voxel of each tile with a receiver.
    pub(crate) fn list(&self) -> Vec<[u32; 4]> {
        let mut list = Vec::new();
        for (index, &active) in self.active.iter().enumerate() {
            let origin = self.box_origin(index);
            for tile in (0..BOX / TILE).filter(|tile| active >> tile & 1 == 1) {
                let offset = tile_offset(tile);
                let at = [0, 1, 2].map(|a| (origin[a] + offset[a]) as u32);
                list.push([(index * (BOX / TILE) + tile) as u32, at[0], at[1], at[2]]);
            }
        }
        list
    }

    /// The first voxel of a box, voxel coordinates.
    pub(crate) fn box_origin(&self, index: usize) -> [f32; 3] {
        let [x, y, _] = self.boxes;
        [index % x, index / x % y, index / (x * y)].map(|b| (b * BOX_EDGE) as f32)
    }
}

/// The first voxel of a tile, from that of its box.
pub(crate) fn tile_offset(tile: usize) -> [f32; 3] {
    [tile % TILES, tile / TILES % TILES, tile / (TILES * TILES)].map(|t| (t * EDGE) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_has_a_place_of_its_own_that_says_where_it_is() {
        let geometry = Geometry { dims: [20, 17, 5], spacing: [1.0; 3], b0: [0.0, 0.0, 1.0] };
        let receivers: Vec<u32> = (0..geometry.len() as u32).collect();
        let tiles = Tiles::new(&geometry, &receivers);
        for (&voxel, &place) in receivers.iter().zip(&tiles.receivers) {
            let place = place as usize;
            let origin = tiles.box_origin(place / BOX);
            let offset = tile_offset(place % BOX / TILE);
            let at: [usize; 3] =
                std::array::from_fn(|a| (origin[a] + offset[a] + AT[a][place % TILE]) as usize);
            assert_eq!(at, geometry.voxel(voxel as usize));
            assert!(tiles.active[place / BOX] >> (place % BOX / TILE) & 1 == 1);
        }
    }
}
