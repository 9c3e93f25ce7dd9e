//! `header.json`.

use serde_json::{Value, json};

use super::{Harmonics, Odx};
use crate::Grid;
use crate::arrays::{count_in, grid_entries, grid_in};

/// What the header says.
pub(super) struct OdxHeader {
    value: Value,
    pub(super) grid: Grid,
    pub(super) voxels: u64,
    pub(super) fixels: u64,
}

impl OdxHeader {
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value =
            serde_json::from_slice(text).map_err(|why| format!("header.json: {why}"))?;
        let (voxels, fixels) = (count_in(&value, "NB_VOXELS")?, count_in(&value, "NB_PEAKS")?);
        let grid = grid_in(&value)?;
        let most = grid.dims.iter().try_fold(1_u64, |n, dim| n.checked_mul(*dim as u64));
        if !most.is_some_and(|most| voxels <= most && most <= u64::from(u32::MAX)) {
            return Err(format!("header.json: {voxels} voxels of a grid of {:?}", grid.dims));
        }
        Ok(Self { value, grid, voxels, fixels })
    }

    /// The basis of harmonics, and whether it is a legacy one.
    pub(super) fn basis(&self) -> Result<(String, Option<bool>), String> {
        let basis = self.value["SH_BASIS"].as_str().ok_or("header.json: no SH_BASIS")?;
        if self.value["SH_FULL_BASIS"] == true {
            return Err("harmonics of odd degree (SH_FULL_BASIS) are not read".into());
        }
        Ok((basis.to_owned(), self.value["SH_LEGACY"].as_bool()))
    }

    /// What turns the numbers of an array into values: factor and offset, where it is kept in few bits.
    pub(super) fn scaling(&self, array: &str) -> Option<[f64; 2]> {
        let of_array = self.value["ARRAY_QUANTIZATION"].get(array)?;
        Some([of_array["slope"].as_f64()?, of_array["intercept"].as_f64()?])
    }
}

/// The header of what is written.
pub(super) fn to_json(odx: &Odx) -> String {
    let mut entries = grid_entries(&odx.grid);
    entries.insert("NB_VOXELS".to_owned(), json!(odx.voxels.len()));
    entries.insert("NB_PEAKS".to_owned(), json!(odx.dirs_ras.len()));
    if let Some(Harmonics { basis, legacy, width, .. }) = &odx.harmonics {
        // (L + 1) (L + 2) / 2 coefficients.
        let order = (0..).step_by(2).find(|order| (order + 1) * (order + 2) / 2 >= *width);
        entries.insert("SH_ORDER".to_owned(), json!(order));
        entries.insert("SH_BASIS".to_owned(), json!(basis));
        entries.insert("SH_FULL_BASIS".to_owned(), json!(false));
        entries.insert("SH_LEGACY".to_owned(), json!(legacy));
        entries.insert("CANONICAL_DENSE_REPRESENTATION".to_owned(), json!("sh"));
    }
    format!("{:#}\n", Value::Object(entries))
}
