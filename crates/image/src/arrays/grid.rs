//! What `header.json` says of the grid: `VOXEL_TO_RASMM` and `DIMENSIONS`.

use serde_json::{Map, Value, json};

use crate::{Affine, Grid};

/// The grid of a header.
///
/// # Errors
/// What is wrong with it, in words.
pub fn grid_in(header: &Value) -> Result<Grid, String> {
    let rows = header["VOXEL_TO_RASMM"].as_array().filter(|rows| rows.len() == 4);
    let affine = rows.and_then(|rows| Some([row(&rows[0])?, row(&rows[1])?, row(&rows[2])?]));
    let affine = affine.map(Affine).filter(|affine| affine.inverse().is_some());
    let ras_from_vox = affine.ok_or_else(|| {
        format!("header.json: VOXEL_TO_RASMM {} is no affine", header["VOXEL_TO_RASMM"])
    })?;
    let dims = header["DIMENSIONS"].as_array().filter(|dims| dims.len() == 3);
    let dims = dims.and_then(|d| Some([dim(&d[0])?, dim(&d[1])?, dim(&d[2])?]));
    let dims = dims.ok_or_else(|| {
        format!("header.json: DIMENSIONS {} are no three counts", header["DIMENSIONS"])
    })?;
    Ok(Grid { dims, ras_from_vox })
}

/// The entries that say a grid.
pub fn grid_entries(grid: &Grid) -> Map<String, Value> {
    let [x, y, z] = grid.ras_from_vox.0;
    let mut entries = Map::new();
    entries.insert("DIMENSIONS".to_owned(), json!(grid.dims));
    entries.insert("VOXEL_TO_RASMM".to_owned(), json!([x, y, z, [0.0, 0.0, 0.0, 1.0]]));
    entries
}

/// The count that a header has by this name.
///
/// # Errors
/// What stands in its place, in words.
pub fn count_in(header: &Value, key: &str) -> Result<u64, String> {
    header[key].as_u64().ok_or_else(|| format!("header.json: {key} is {}", header[key]))
}

fn row(value: &Value) -> Option<[f64; 4]> {
    let numbers = value.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()?;
    numbers.try_into().ok()
}

/// Dimensions as no image exceeds; some writers give them as 2.0.
fn dim(value: &Value) -> Option<usize> {
    let n = value.as_f64()?;
    (n.fract() == 0.0 && (0.0..=1e6).contains(&n)).then_some(n as usize)
}
