//! The order in which the receivers' volume is kept: columns along one axis.

use crate::Geometry;

/// Voxels along each side of a column's foot.
const EDGE: usize = 4;
/// Voxels of a column in each plane.
pub(crate) const FOOT: usize = EDGE * EDGE;
/// From the first voxel of a foot to its middle.
pub(crate) const HALF_FOOT: f32 = 0.5 * (EDGE - 1) as f32;

/// Where the voxels of a foot are, from its first.
pub(crate) const AT: [[f32; FOOT]; 2] = {
    let mut at = [[0.0; FOOT]; 2];
    let mut i = 0;
    while i < FOOT {
        at[0][i] = (i % EDGE) as f32;
        at[1][i] = (i / EDGE) as f32;
        i += 1;
    }
    at
};

/// A volume cut into columns of 4×4 voxels; each is a run of planes, the 16 voxels of a plane
/// together. Voxels beyond the volume's edge pad the feet.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// Feet in a row.
    row: usize,
    /// Planes of a column.
    pub(crate) planes: usize,
    /// For each column its planes from the first to after the last that has a receiver.
    pub(crate) spans: Vec<[u32; 2]>,
    /// Where each receiver is.
    pub(crate) receivers: Vec<u32>,
}

impl Columns {
    /// Along the last of `axes`.
    pub(crate) fn new(geometry: &Geometry, receivers: &[u32], axes: [usize; 3]) -> Self {
        let [across, down, planes] = axes.map(|a| geometry.dims[a]);
        let row = across.div_ceil(EDGE);
        let mut spans = vec![[planes as u32, 0]; row * down.div_ceil(EDGE)];
        let place = |&voxel: &u32| {
            let at = geometry.voxel(voxel as usize);
            let [p, q, r] = axes.map(|a| at[a]);
            let column = p / EDGE + row * (q / EDGE);
            let span: &mut [u32; 2] = &mut spans[column];
            *span = [span[0].min(r as u32), span[1].max(r as u32 + 1)];
            ((column * planes + r) * FOOT + p % EDGE + EDGE * (q % EDGE)) as u32
        };
        let receivers = receivers.iter().map(place).collect();
        Self { row, planes, spans, receivers }
    }

    /// Elements of a column.
    pub(crate) fn column_len(&self) -> usize {
        self.planes * FOOT
    }

    /// Elements of the volume.
    pub(crate) fn len(&self) -> usize {
        self.spans.len() * self.column_len()
    }

    /// The first voxel of a column's foot, voxel coordinates.
    pub(crate) fn corner(&self, column: usize) -> [f32; 2] {
        [column % self.row, column / self.row].map(|i| (i * EDGE) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_has_a_place_of_its_own_that_says_where_it_is() {
        let geometry = Geometry {
            dims: [20, 17, 5],
            spacing: [1.0; 3],
            b0: [0.0, 0.0, 1.0],
            reversed: [false; 3],
        };
        let receivers: Vec<u32> = (0..geometry.len() as u32).collect();
        for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
            let columns = Columns::new(&geometry, &receivers, axes);
            for (&voxel, &place) in receivers.iter().zip(&columns.receivers) {
                let (column, rest) =
                    (place as usize / columns.column_len(), place as usize % columns.column_len());
                let corner = columns.corner(column);
                let p = (corner[0] + AT[0][rest % FOOT]) as usize;
                let q = (corner[1] + AT[1][rest % FOOT]) as usize;
                let at = geometry.voxel(voxel as usize);
                assert_eq!([p, q, rest / FOOT], axes.map(|a| at[a]));
                assert_eq!(columns.spans[column], [0, geometry.dims[axes[2]] as u32]);
            }
        }
    }
}
