//! Rows of coefficients as a series of volumes.

use super::{Harmonics, Odx};
use crate::{Grid, SignalSource};

/// A place that is none of a row.
pub(super) const NO_ROW: u32 = u32::MAX;

/// For each voxel of a grid which of `voxels` it is, or [`NO_ROW`].
pub(super) fn rows_of(grid: &Grid, voxels: &[u32]) -> Vec<u32> {
    let mut row_of = vec![NO_ROW; grid.len()];
    for (row, voxel) in voxels.iter().enumerate() {
        row_of[*voxel as usize] = row as u32;
    }
    row_of
}

/// Numbers of the voxels of a mask, as volumes that are zero outside of it.
pub struct MaskedRows {
    grid: Grid,
    row_of: Vec<u32>,
    width: usize,
    rows: Vec<f32>,
}

impl MaskedRows {
    /// The densities of an ODX; `None` where it has none.
    pub fn from_harmonics(odx: &mut Odx) -> Option<Self> {
        let Harmonics { width, rows, .. } = odx.harmonics.take()?;
        let row_of = rows_of(&odx.grid, &odx.voxels);
        Some(Self { grid: odx.grid, row_of, width, rows })
    }
}

impl SignalSource for MaskedRows {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn n_volumes(&self) -> usize {
        self.width
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        for (l, voxel) in voxels.iter().enumerate() {
            let own = match self.row_of[*voxel as usize] {
                NO_ROW => None,
                row => self.rows.get(row as usize * self.width..),
            };
            for (v, row) in rows[..self.width].iter_mut().enumerate() {
                row[l] = own.map_or(0.0, |own| own[v]);
            }
        }
    }

    fn held_bytes(&self) -> u64 {
        (size_of_val(&*self.rows) + size_of_val(&*self.row_of)) as u64
    }
}
