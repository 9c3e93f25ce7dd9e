//! Rows of results: what one voxel's parameters and maps look like in memory.

use super::DkiMap;

/// Rows of the fitted parameters `[row][voxel]`, those of
/// [`LogLinearFit`](fimbria_fitting::linear::LogLinearFit) for this model.
pub(crate) mod parameter_row {
    use crate::dki::form::{N_D, N_W};

    /// Signal without weighting, input units.
    pub(crate) const S0: usize = 0;
    /// Six rows xx xy xz yy yz zz, µm²/ms.
    pub(crate) const TENSOR: usize = 1;
    /// Fifteen rows 1111 1112 ... 3333 of V = MD² W, µm⁴/ms².
    pub(crate) const QUARTIC: usize = TENSOR + N_D;
    /// Root mean square residual, input units.
    pub(crate) const RESIDUAL: usize = QUARTIC + N_W;
    /// Samples that were raised so that they have a logarithm.
    pub(crate) const RAISED: usize = RESIDUAL + 1;
    /// The number of a [`Status`](fimbria_image::Status).
    pub(crate) const STATUS: usize = RAISED + 1;
    /// Number of rows.
    pub(crate) const COUNT: usize = STATUS + 1;
}

/// Which row each map begins at; the status is always computed and is the last row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapLayout {
    maps: Vec<DkiMap>,
    /// The first row by the place of the map in [`DkiMap::ALL`].
    first_rows: [Option<usize>; DkiMap::ALL.len()],
    n_rows: usize,
}

impl MapLayout {
    /// Rows for the given maps, each once, in the given order.
    pub(crate) fn new(wanted: &[DkiMap]) -> Self {
        let mut layout =
            Self { maps: Vec::new(), first_rows: [None; DkiMap::ALL.len()], n_rows: 0 };
        let others = wanted.iter().copied().filter(|&map| map != DkiMap::Status);
        for map in others.chain([DkiMap::Status]) {
            let first_row = &mut layout.first_rows[map as usize];
            if first_row.is_none() {
                *first_row = Some(layout.n_rows);
                layout.n_rows += map.n_volumes();
                layout.maps.push(map);
            }
        }
        layout
    }

    /// The maps in the order of their rows.
    pub(crate) fn maps(&self) -> &[DkiMap] {
        &self.maps
    }

    /// Number of rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The first row of a map, `None` where it is not computed.
    #[inline(always)]
    pub(crate) fn first_row(&self, map: DkiMap) -> Option<usize> {
        self.first_rows[map as usize]
    }

    /// True where the extremes of kurtosis are wanted.
    pub(crate) fn has_extremes(&self) -> bool {
        self.maps.iter().any(|map| map.is_extreme())
    }
}
