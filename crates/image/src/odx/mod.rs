//! ODX: densities and fibre populations of the voxels of a mask, as plain [`arrays`](crate::arrays) in a zip
//! archive or a folder. Described at <https://github.com/PennLINC/odx-rs> (`SPECIFICATION.md`).
//!
//! | file | holds |
//! |---|---|
//! | `header.json` | affine, dimensions, counts, the basis of harmonics |
//! | `mask.uint8` | all voxels of the grid, z fastest: not 0 where a row is of it |
//! | `offsets.uint32` | where the fixels of each voxel begin, then their number |
//! | `directions.3.TYPE` | unit directions of fixels, scanner RAS axes |
//! | `sh/coefficients.N.TYPE` | harmonics of even degree, a row for each voxel |
//! | `dpf/NAME[.WIDTH].TYPE` | data per fixel |
//! | `dpv/NAME[.WIDTH].TYPE` | data per voxel |
//!
//! Sampled densities (`odf/`, `sphere/`) and groups are left where they are: harmonics say the same.

mod header;
mod read;
mod rows;
#[cfg(test)]
mod tests;
mod write;

use std::ffi::OsStr;
use std::path::Path;

pub use self::rows::MaskedRows;
use self::rows::{NO_ROW, rows_of};
use crate::arrays::{ArraysError, Column, ColumnKind, parse_name, part_names};
use crate::fixels::{Fixels, FixelsError};
use crate::{Grid, Mask};

/// Densities and fibre populations of some voxels of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Odx {
    /// The grid.
    pub grid: Grid,
    /// The voxels that have rows, in the order of rows: z fastest, then y.
    pub voxels: Vec<u32>,
    /// `first[k] .. first[k + 1]` are the fixels of `voxels[k]`.
    pub first: Vec<u32>,
    /// Unit direction of each fixel, scanner axes.
    pub dirs_ras: Vec<[f32; 3]>,
    /// The densities, where there are any.
    pub harmonics: Option<Harmonics>,
    /// Data per fixel.
    pub per_fixel: Vec<Column>,
    /// Data per voxel.
    pub per_voxel: Vec<Column>,
}

/// Densities as even real harmonics, scanner axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Harmonics {
    /// The basis as the format calls it: [`TOURNIER`] or [`DESCOTEAUX`].
    pub basis: String,
    /// Whether it is DIPY's `legacy` form of it; `None` where nothing says so.
    pub legacy: Option<bool>,
    /// Coefficients of a voxel.
    pub width: usize,
    /// Those of all voxels, a row for each.
    pub rows: Vec<f32>,
}

/// What an ODX has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Densities as harmonics.
    pub has_densities: bool,
    /// Data per fixel.
    pub per_fixel: Vec<ColumnKind>,
}

/// MRtrix3's basis.
pub const TOURNIER: &str = "tournier07";
/// DIPY's, with `legacy` or without.
pub const DESCOTEAUX: &str = "descoteaux07";

impl Odx {
    /// Whether a path is that of an ODX: by its name, or a folder with the file that each has.
    pub fn is_named(path: &Path) -> bool {
        let named = path.extension().and_then(OsStr::to_str);
        named.is_some_and(|name| name.eq_ignore_ascii_case("odx"))
            || path.is_dir() && path.join("mask.uint8").is_file()
    }

    /// Fixels with their values, and without densities, of the voxels that have any.
    ///
    /// # Panics
    /// Where a column has not as many rows as there are fixels.
    pub fn from_fixels(fixels: &Fixels, per_fixel: &[(&str, &[f32])]) -> Self {
        let count = |voxel: u32| fixels.of_voxel[voxel as usize][1];
        let voxels: Vec<u32> = in_rows(&fixels.grid).filter(|voxel| count(*voxel) > 0).collect();
        Self::from_voxels(voxels, fixels, per_fixel)
    }

    /// The fixels of these voxels with their values, without densities.
    fn from_voxels(voxels: Vec<u32>, fixels: &Fixels, per_fixel: &[(&str, &[f32])]) -> Self {
        let mut order = Vec::with_capacity(fixels.len());
        let mut ends = vec![0];
        for [first, count] in voxels.iter().map(|voxel| fixels.of_voxel[*voxel as usize]) {
            order.extend(first as usize..(first + count) as usize);
            ends.push(order.len() as u32);
        }
        let column = |(name, values): &(&str, &[f32])| {
            assert_eq!(values.len(), fixels.len(), "{name} of each fixel");
            let values: Vec<f32> = order.iter().map(|fixel| values[*fixel]).collect();
            Column::from_f32(name, 1, &values)
        };
        Self {
            grid: fixels.grid,
            voxels,
            first: ends,
            dirs_ras: order.iter().map(|fixel| fixels.dirs_ras[*fixel]).collect(),
            harmonics: None,
            per_fixel: per_fixel.iter().map(column).collect(),
            per_voxel: Vec::new(),
        }
    }

    /// The same with the densities of a mask: `rows` has `width` coefficients of each voxel of it, in MRtrix3's
    /// basis and scanner axes, and all its voxels have rows. Fixels of other voxels are left out.
    ///
    /// # Panics
    /// Where `rows` are not those of the mask.
    pub fn from_densities(
        mask: &Mask,
        width: usize,
        rows: &[f32],
        fixels: &Fixels,
        per_fixel: &[(&str, &[f32])],
    ) -> Self {
        assert_eq!(rows.len(), mask.len() * width, "{width} coefficients of each voxel");
        let row_of = rows_of(&mask.grid, &mask.voxels);
        let has_row = |voxel: &u32| row_of[*voxel as usize] != NO_ROW;
        let voxels: Vec<u32> = in_rows(&mask.grid).filter(has_row).collect();
        let row = |voxel: &u32| {
            let row = row_of[*voxel as usize] as usize;
            &rows[row * width..(row + 1) * width]
        };
        let rows = voxels.iter().flat_map(row).copied().collect();
        let harmonics = Harmonics { basis: TOURNIER.to_owned(), legacy: Some(false), width, rows };
        Self { harmonics: Some(harmonics), ..Self::from_voxels(voxels, fixels, per_fixel) }
    }

    /// Its fixels.
    ///
    /// # Errors
    /// [`FixelsError::Many`].
    pub fn fixels(&self) -> Result<Fixels, FixelsError> {
        Fixels::new(self.grid, &self.voxels, &self.first, self.dirs_ras.clone())
    }

    /// The voxels that have rows.
    pub fn mask(&self) -> Mask {
        let mut voxels = self.voxels.clone();
        voxels.sort_unstable();
        Mask { grid: self.grid, voxels }
    }

    /// What an archive or a folder has, of which no numbers are read.
    ///
    /// # Errors
    /// [`ArraysError`].
    pub fn listing(path: &Path) -> Result<Listing, ArraysError> {
        let names = part_names(path)?;
        let has = |folder: &str| {
            let inside = names.iter().filter_map(move |name| name.strip_prefix(folder));
            inside.filter_map(parse_name).collect::<Vec<_>>()
        };
        let has_densities = has("sh/").iter().any(|kind| kind.name == "coefficients");
        Ok(Listing { has_densities, per_fixel: has("dpf/") })
    }

    /// Reads an archive or a folder.
    ///
    /// # Errors
    /// [`ArraysError`].
    pub fn read(path: &Path) -> Result<Self, ArraysError> {
        read::read(path)
    }

    /// Writes an archive.
    ///
    /// # Errors
    /// [`ArraysError`] where it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ArraysError> {
        write::write(self, path)
    }
}

/// The voxels of a grid in the order of the mask: z fastest, then y.
fn in_rows(grid: &Grid) -> impl Iterator<Item = u32> + use<> {
    let grid = *grid;
    let [nx, ny, nz] = grid.dims;
    let along_z = move |(x, y)| (0..nz).map(move |z| grid.index([x, y, z]) as u32);
    (0..nx).flat_map(move |x| (0..ny).map(move |y| (x, y))).flat_map(along_z)
}
