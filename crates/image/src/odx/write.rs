//! Writing.

use std::io;
use std::path::Path;

use super::header::to_json;
use super::{Odx, in_rows};
use crate::arrays::{ArrayWriter, ArraysError, Column, column_name, is_safe_name};

/// Writes an archive.
pub(super) fn write(odx: &Odx, path: &Path) -> Result<(), ArraysError> {
    let mut names = odx.per_fixel.iter().chain(&odx.per_voxel).map(|column| &column.kind.name);
    if let Some(name) = names.find(|name| !is_safe_name(name)) {
        return Err(ArraysError::wrong(path, format!("`{name}` cannot be the name of a file")));
    }
    let zip = ArrayWriter::create_zip(path).map_err(ArraysError::io("create", path))?;
    write_arrays(odx, zip).map_err(ArraysError::io("write", path))
}

fn write_arrays(odx: &Odx, mut zip: ArrayWriter) -> io::Result<()> {
    let mut add = |folder: &str, column: &Column| {
        zip.add(&format!("{folder}{}", column_name(&column.kind)), &mut column.bytes())
    };
    let mut is_inside = vec![0_u8; odx.grid.len()];
    odx.voxels.iter().for_each(|voxel| is_inside[*voxel as usize] = 1);
    let mask: Vec<u8> = in_rows(&odx.grid).map(|voxel| is_inside[voxel as usize]).collect();
    add("", &Column::from_u8("mask", &mask))?;
    add("", &Column::from_u32("offsets", &odx.first))?;
    add("", &Column::from_f32("directions", 3, odx.dirs_ras.as_flattened()))?;
    if let Some(harmonics) = &odx.harmonics {
        add("sh/", &Column::from_f32("coefficients", harmonics.width, &harmonics.rows))?;
    }
    for column in &odx.per_fixel {
        add("dpf/", column)?;
    }
    for column in &odx.per_voxel {
        add("dpv/", column)?;
    }
    zip.add("header.json", &mut to_json(odx).as_bytes())?;
    zip.close()
}
