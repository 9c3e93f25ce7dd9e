//! Reading.

use std::path::Path;

use super::header::OdxHeader;
use super::{Harmonics, Odx, in_rows};
use crate::Datatype;
use crate::arrays::{ArraysError, Column, ColumnKind, Part, parse_name, read_parts};

/// Reads an archive or a folder.
pub(super) fn read(path: &Path) -> Result<Odx, ArraysError> {
    let wrong = |why: String| ArraysError::wrong(path, why);
    let mut parts = read_parts(path)?;
    let mut text = parts.remove("header.json").ok_or_else(|| wrong("no header.json".into()))?;
    let text = text.read_all().map_err(ArraysError::io("read", path))?;
    let header = OdxHeader::parse(&text).map_err(wrong)?;
    let mut odx = Odx {
        grid: header.grid,
        voxels: Vec::new(),
        first: Vec::new(),
        dirs_ras: Vec::new(),
        harmonics: None,
        per_fixel: Vec::new(),
        per_voxel: Vec::new(),
    };
    let (mut mask, mut offsets, mut dirs) = (None, None, None);
    for (file, part) in &mut parts {
        let (folder, last) = file.rsplit_once('/').unwrap_or(("", file));
        let Some(kind) = parse_name(last) else { continue };
        let array = Array { path, file, kind };
        match (folder, &*array.kind.name) {
            ("", "mask") => mask = Some(array.column(part, odx.grid.len() as u64)?),
            ("", "offsets") => offsets = Some(array.column(part, header.voxels + 1)?),
            ("", "directions") => {
                dirs = Some(array.checked_directions()?.column(part, header.fixels)?)
            }
            ("sh", "coefficients") => {
                let (basis, legacy) = header.basis().map_err(wrong)?;
                let width = array.kind.width;
                let column = array.column(part, header.voxels)?;
                let [slope, intercept] = header.scaling("sh/coefficients").unwrap_or([1.0, 0.0]);
                let rows = column.values().map(|x| (x * slope + intercept) as f32).collect();
                odx.harmonics = Some(Harmonics { basis, legacy, width, rows });
            }
            ("dpf", name) => {
                let scaling = header.scaling(&format!("dpf/{name}"));
                odx.per_fixel.push(scaled(array.column(part, header.fixels)?, scaling));
            }
            ("dpv", name) => {
                let scaling = header.scaling(&format!("dpv/{name}"));
                odx.per_voxel.push(scaled(array.column(part, header.voxels)?, scaling));
            }
            _ => {}
        }
    }
    let mask = mask.ok_or_else(|| wrong("no mask".into()))?;
    let inside = in_rows(&odx.grid).zip(mask.values()).filter(|(_, value)| *value != 0.0);
    odx.voxels = inside.map(|(voxel, _)| voxel).collect();
    if odx.voxels.len() as u64 != header.voxels {
        let there = odx.voxels.len();
        return Err(wrong(format!("the mask has {there} voxels, not {}", header.voxels)));
    }
    odx.first = vec![0; odx.voxels.len() + 1];
    if header.fixels > 0 {
        let missing = || wrong("no offsets or no directions".into());
        let (offsets, dirs) = (offsets.ok_or_else(missing)?, dirs.ok_or_else(missing)?);
        odx.first = ends(&offsets, header.fixels).map_err(wrong)?;
        let numbers: Vec<f32> = dirs.values().map(|x| x as f32).collect();
        odx.dirs_ras = numbers.as_chunks::<3>().0.to_vec();
    }
    Ok(odx)
}

/// An array of the archive.
struct Array<'a> {
    path: &'a Path,
    file: &'a str,
    kind: ColumnKind,
}

impl Array<'_> {
    /// Its numbers, which must be those of so many rows.
    fn column(self, part: &mut Part, rows: u64) -> Result<Column, ArraysError> {
        let Self { path, file, kind } = self;
        if rows.checked_mul(kind.row_bytes() as u64) != Some(part.length) {
            let why = format!("{file} has {} bytes, which is not {rows} rows", part.length);
            return Err(ArraysError::wrong(path, why));
        }
        Ok(Column::from_bytes(kind, part.read_all().map_err(ArraysError::io("read", path))?))
    }

    /// The same where its rows are directions.
    fn checked_directions(self) -> Result<Self, ArraysError> {
        match self.kind.width == 3 && self.kind.datatype.is_float() {
            true => Ok(self),
            false => {
                let why = format!("{} are no directions of three numbers", self.file);
                Err(ArraysError::wrong(self.path, why))
            }
        }
    }
}

/// Where the fixels of each voxel begin, and the last end.
fn ends(offsets: &Column, fixels: u64) -> Result<Vec<u32>, String> {
    let first: Vec<u32> = offsets.values().map(|at| at as u32).collect();
    let is_ordered = first.windows(2).all(|pair| pair[0] <= pair[1]);
    let is_whole =
        first.first() == Some(&0) && first.last().map(|end| u64::from(*end)) == Some(fixels);
    let is_counted = matches!(offsets.kind.datatype, Datatype::UInt32 | Datatype::UInt64);
    match is_ordered && is_whole && is_counted && offsets.kind.width == 1 {
        true => Ok(first),
        false => Err(format!("offsets do not rise from 0 to {fixels}")),
    }
}

/// A column as values, where it is kept in few bits.
fn scaled(column: Column, scaling: Option<[f64; 2]>) -> Column {
    let Some([slope, intercept]) = scaling else { return column };
    let values: Vec<f32> = column.values().map(|x| (x * slope + intercept) as f32).collect();
    Column::from_f32(&column.kind.name, column.kind.width, &values)
}
