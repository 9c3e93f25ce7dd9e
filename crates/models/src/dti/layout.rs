//! Rows of results: what one voxel's parameters and maps look like in memory.

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
    /// The number of a [`Status`](fimbria_image::Status).
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

    /// The first row of a map, `None` where it is not computed.
    #[inline(always)]
    pub(crate) fn first_row(&self, map: DtiMap) -> Option<usize> {
        self.first_rows[map as usize]
    }

    /// True where any of these maps is computed.
    pub(crate) fn has_any(&self, maps: &[DtiMap]) -> bool {
        maps.iter().any(|m| self.maps.contains(m))
    }

    /// The maps, in the order of their rows.
    pub(crate) fn maps(&self) -> &[DtiMap] {
        &self.maps
    }
}
