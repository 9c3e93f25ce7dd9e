//! What holds for all streamlines of a tractogram.

use fimbria_image::{Datatype, Grid};

use crate::{Column, ColumnKind};

/// Some of the streamlines, under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Indices of its streamlines.
    pub members: Vec<u32>,
    /// Data of the group: columns of one row.
    pub data: Vec<Column>,
}

/// What holds for all streamlines of a tractogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The grid of the image they lie on; TCK has none.
    pub grid: Option<Grid>,
    /// Type of the stored coordinates: Float16, Float32 or Float64. In memory they are `f32`.
    pub position_type: Datatype,
    /// How many streamlines there are, where the file says so.
    pub n_streamlines: Option<u64>,
    /// How many points there are, where the file says so.
    pub n_points: Option<u64>,
    /// The columns of data per point.
    pub per_point: Vec<ColumnKind>,
    /// The columns of data per streamline.
    pub per_streamline: Vec<ColumnKind>,
    /// Named groups of streamlines.
    pub groups: Vec<Group>,
    /// Remarks, as name and text.
    pub keyvals: Vec<(String, String)>,
}

impl Header {
    /// A header with nothing but a grid.
    pub fn on(grid: Grid) -> Self {
        Self { grid: Some(grid), ..Self::default() }
    }
}
