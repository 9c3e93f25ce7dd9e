//! Many streamlines in flat arrays.

use crate::{Column, ColumnKind, Header};

/// Streamlines with their data: a whole tractogram's, or one chunk of a stream.
///
/// Streamline `i` is `positions[offsets[i]..offsets[i + 1]]`; so `offsets` has one element more than
/// there are streamlines, and starts with 0. A column per point has a row for each position, one per
/// streamline a row for each streamline.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamlines {
    offsets: Vec<u64>,
    positions: Vec<[f32; 3]>,
    per_point: Vec<Column>,
    per_streamline: Vec<Column>,
}

/// The parts of [`Streamlines`] while a reader fills them.
pub(crate) struct PartsMut<'a> {
    pub(crate) offsets: &'a mut Vec<u64>,
    pub(crate) positions: &'a mut Vec<[f32; 3]>,
    pub(crate) per_point: &'a mut [Column],
    pub(crate) per_streamline: &'a mut [Column],
}

impl Default for Streamlines {
    fn default() -> Self {
        Self { offsets: vec![0], positions: vec![], per_point: vec![], per_streamline: vec![] }
    }
}

impl Streamlines {
    /// None yet, with the columns that `header` names.
    pub fn for_header(header: &Header) -> Self {
        Self::with_columns(&header.per_point, &header.per_streamline)
    }

    /// None yet, with these columns.
    pub fn with_columns(per_point: &[ColumnKind], per_streamline: &[ColumnKind]) -> Self {
        Self {
            per_point: per_point.iter().map(ColumnKind::empty).collect(),
            per_streamline: per_streamline.iter().map(ColumnKind::empty).collect(),
            ..Self::default()
        }
    }

    /// Of flat arrays, without data.
    ///
    /// # Panics
    /// Where `offsets` does not start with 0, descends, or does not end with the number of positions.
    pub fn from_parts(offsets: Vec<u64>, positions: Vec<[f32; 3]>) -> Self {
        assert_eq!(offsets.first(), Some(&0), "offsets start with 0");
        assert_eq!(offsets.last(), Some(&(positions.len() as u64)), "offsets end with the points");
        assert!(offsets.is_sorted(), "offsets ascend");
        Self { offsets, positions, ..Self::default() }
    }

    /// Offsets, positions, data per point, and data per streamline.
    pub fn into_parts(self) -> (Vec<u64>, Vec<[f32; 3]>, Vec<Column>, Vec<Column>) {
        (self.offsets, self.positions, self.per_point, self.per_streamline)
    }

    /// Number of streamlines.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True without streamlines.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of points of all streamlines.
    pub fn n_points(&self) -> usize {
        self.positions.len()
    }

    /// Where each streamline starts, and where the last one ends.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The points of all streamlines, scanner RAS+ mm.
    pub fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    /// The points of streamline `index`, scanner RAS+ mm.
    ///
    /// # Panics
    /// Where there is no such streamline.
    pub fn points(&self, index: usize) -> &[[f32; 3]] {
        &self.positions[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// Every streamline's points.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[[f32; 3]]> {
        (0..self.len()).map(|index| self.points(index))
    }

    /// Data per point.
    pub fn per_point(&self) -> &[Column] {
        &self.per_point
    }

    /// Data per streamline.
    pub fn per_streamline(&self) -> &[Column] {
        &self.per_streamline
    }

    /// The column of data per streamline with this name.
    pub fn streamline_column(&self, name: &str) -> Option<&Column> {
        self.per_streamline.iter().find(|column| column.kind.name == name)
    }

    /// Appends a streamline without data.
    ///
    /// # Panics
    /// Where there are columns, which would be left short.
    pub fn push(&mut self, points: &[[f32; 3]]) {
        assert!(self.per_point.is_empty() && self.per_streamline.is_empty(), "data would be short");
        self.positions.extend_from_slice(points);
        self.end_streamline();
    }

    /// Adds a column of data per point.
    ///
    /// # Panics
    /// Where it does not have a row for each point.
    pub fn add_per_point(&mut self, column: Column) {
        assert_eq!(column.len(), self.n_points(), "a row of {} per point", column.kind.name);
        self.per_point.push(column);
    }

    /// Adds a column of data per streamline.
    ///
    /// # Panics
    /// Where it does not have a row for each streamline.
    pub fn add_per_streamline(&mut self, column: Column) {
        assert_eq!(column.len(), self.len(), "a row of {} per streamline", column.kind.name);
        self.per_streamline.push(column);
    }

    /// Appends streamline `index` of `other`, which has the same columns, with its data.
    ///
    /// # Panics
    /// Where the columns are others or there is no such streamline.
    pub fn push_from(&mut self, other: &Self, index: usize) {
        let (from, to) = (other.offsets[index] as usize, other.offsets[index + 1] as usize);
        self.positions.extend_from_slice(&other.positions[from..to]);
        assert_eq!(self.per_point.len(), other.per_point.len(), "the same columns");
        assert_eq!(self.per_streamline.len(), other.per_streamline.len(), "the same columns");
        for (mine, theirs) in self.per_point.iter_mut().zip(&other.per_point) {
            mine.extend_rows(theirs, from, to);
        }
        for (mine, theirs) in self.per_streamline.iter_mut().zip(&other.per_streamline) {
            mine.extend_rows(theirs, index, index + 1);
        }
        self.end_streamline();
    }

    /// Appends all of `other`, which has the same columns.
    ///
    /// # Panics
    /// Where the columns are others.
    pub fn append(&mut self, other: &Self) {
        for index in 0..other.len() {
            self.push_from(other, index);
        }
    }

    /// Takes every streamline away and keeps columns and memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.positions.clear();
        self.per_point.iter_mut().for_each(Column::clear);
        self.per_streamline.iter_mut().for_each(Column::clear);
    }

    /// Empties the chunk and gives it the columns of `header` where it has others.
    pub(crate) fn reset_for(&mut self, header: &Header) {
        let same = |columns: &[Column], kinds: &[ColumnKind]| {
            columns.iter().map(|column| &column.kind).eq(kinds)
        };
        if same(&self.per_point, &header.per_point)
            && same(&self.per_streamline, &header.per_streamline)
        {
            self.clear();
        } else {
            *self = Self::for_header(header);
        }
    }

    /// A point of the streamline being read.
    #[inline]
    pub(crate) fn push_point(&mut self, point: [f32; 3]) {
        self.positions.push(point);
    }

    /// Points of the streamline being read.
    pub(crate) fn extend_points(&mut self, points: &[[f32; 3]]) {
        self.positions.extend_from_slice(points);
    }

    /// The streamline being read is complete.
    pub(crate) fn end_streamline(&mut self) {
        self.offsets.push(self.positions.len() as u64);
    }

    /// The parts, for a reader to fill.
    pub(crate) fn parts_mut(&mut self) -> PartsMut<'_> {
        PartsMut {
            offsets: &mut self.offsets,
            positions: &mut self.positions,
            per_point: &mut self.per_point,
            per_streamline: &mut self.per_streamline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_travel_with_their_streamline() {
        let mut all = Streamlines::from_parts(vec![0, 2, 2, 3], vec![[0.0; 3], [1.0; 3], [2.0; 3]]);
        all.add_per_point(Column::from_f32("fa", 1, &[0.1, 0.2, 0.3]));
        all.add_per_streamline(Column::from_u32("seed", &[7, 8, 9]));
        let mut some = Streamlines::with_columns(
            &[all.per_point()[0].kind.clone()],
            &[all.per_streamline()[0].kind.clone()],
        );
        some.push_from(&all, 2);
        some.push_from(&all, 1);
        assert_eq!(some.points(0), [[2.0; 3]]);
        assert_eq!(some.points(1).len(), 0);
        assert_eq!(some.per_point()[0].bytes(), 0.3f32.to_le_bytes());
        assert_eq!(some.streamline_column("seed").unwrap().values().collect::<Vec<_>>(), [9., 8.]);
    }
}
