//! The order in which a device keeps the receivers' volume: tiles of 4³ voxels.

use crate::Geometry;

/// Voxels along a tile's edge.
const EDGE: usize = 4;
/// Voxels of a tile.
pub(super) const TILE: usize = EDGE * EDGE * EDGE;

/// A volume cut into tiles, x fastest, as are the voxels of each. Voxels beyond the volume's edge
/// pad it to whole tiles.
pub(super) struct Tiles {
    /// Place and first voxel of each tile with a receiver.
    pub(super) list: Vec<[u32; 4]>,
    /// Where each receiver is.
    pub(super) receivers: Vec<u32>,
    /// Elements of the tiled volume.
    pub(super) elements: usize,
}

impl Tiles {
    pub(super) fn new(geometry: &Geometry, receivers: &[u32]) -> Self {
        let tiles = geometry.dims.map(|n| n.div_ceil(EDGE));
        let fold = |of: [usize; 3], n: [usize; 3]| of[0] + n[0] * (of[1] + n[1] * of[2]);
        let mut first = vec![None; tiles.iter().product()];
        let place = |&voxel: &u32| {
            let at = geometry.voxel(voxel as usize);
            let tile = fold(at.map(|i| i / EDGE), tiles);
            first[tile] = Some(at.map(|i| (i / EDGE * EDGE) as u32));
            (tile * TILE + fold(at.map(|i| i % EDGE), [EDGE; 3])) as u32
        };
        let receivers = receivers.iter().map(place).collect();
        let list = (0..).zip(&first).filter_map(|(tile, first)| {
            let [x, y, z] = (*first)?;
            Some([tile, x, y, z])
        });
        Self { list: list.collect(), receivers, elements: first.len() * TILE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_has_a_place_of_its_own_in_its_tile() {
        let geometry = Geometry {
            dims: [20, 17, 5],
            spacing: [1.0; 3],
            b0: [0.0, 0.0, 1.0],
            reversed: [false; 3],
        };
        let receivers: Vec<u32> = (0..geometry.len() as u32).collect();
        let tiles = Tiles::new(&geometry, &receivers);
        assert_eq!((tiles.list.len(), tiles.elements), (5 * 5 * 2, 5 * 5 * 2 * TILE));
        for (&voxel, &place) in receivers.iter().zip(&tiles.receivers) {
            let [tile, x, y, z] = tiles.list[place as usize / TILE];
            assert_eq!(tile as usize, place as usize / TILE);
            let i = place as usize % TILE;
            let at = [x as usize + i % 4, y as usize + i / 4 % 4, z as usize + i / 16];
            assert_eq!(at, geometry.voxel(voxel as usize));
        }
    }
}
