//! Named numbers in rows.

use half::f16;

use crate::Datatype;

/// What a column is called and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnKind {
    /// Its name.
    pub name: String,
    /// Type of its numbers; every type but [`Datatype::Bit`].
    pub datatype: Datatype,
    /// Numbers per row.
    pub width: usize,
}

impl ColumnKind {
    /// A column of one number per row.
    pub fn new(name: &str, datatype: Datatype) -> Self {
        Self { name: name.into(), datatype, width: 1 }
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.width * self.datatype.bits() / 8
    }

    /// An empty column of this kind.
    pub fn empty(&self) -> Column {
        Column { kind: self.clone(), bytes: Vec::new() }
    }
}

/// Rows of numbers, kept in the type and with the bits that their file holds (little endian), so
/// that nothing is lost on the way to another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, type and width.
    pub kind: ColumnKind,
    bytes: Vec<u8>,
}

impl Column {
    /// A column of `f32`, `width` numbers per row.
    pub fn from_f32(name: &str, width: usize, values: &[f32]) -> Self {
        let kind = ColumnKind { width, ..ColumnKind::new(name, Datatype::Float32) };
        Self { kind, bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect() }
    }

    /// A column of one `u32` per row.
    pub fn from_u32(name: &str, values: &[u32]) -> Self {
        let kind = ColumnKind::new(name, Datatype::UInt32);
        Self { kind, bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect() }
    }

    /// A column of one byte per row.
    pub fn from_u8(name: &str, values: &[u8]) -> Self {
        Self { kind: ColumnKind::new(name, Datatype::UInt8), bytes: values.to_vec() }
    }

    /// Of rows as [`bytes`](Self::bytes) gives them.
    ///
    /// # Panics
    /// Where a row is incomplete.
    pub fn from_bytes(kind: ColumnKind, bytes: Vec<u8>) -> Self {
        assert!(bytes.len().is_multiple_of(kind.row_bytes().max(1)), "whole rows of {}", kind.name);
        Self { kind, bytes }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.kind.row_bytes().max(1)
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Number `at` counted through all rows, as `f64` (64-bit integers lose digits beyond 2^53).
    ///
    /// # Panics
    /// Where `at >= len() * width`.
    pub fn value(&self, at: usize) -> f64 {
        let size = self.kind.datatype.bits() / 8;
        number(self.kind.datatype, &self.bytes[at * size..(at + 1) * size])
    }

    /// Every number, row by row.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.len() * self.kind.width).map(|at| self.value(at))
    }

    /// The rows as bytes, little endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Kind and rows as bytes, little endian.
    pub fn into_parts(self) -> (ColumnKind, Vec<u8>) {
        (self.kind, self.bytes)
    }

    /// The rows as bytes, to append to.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Takes the rows away and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Appends rows `from..to` of `other`, which is of the same kind.
    ///
    /// # Panics
    /// Where `other` has no such rows.
    pub fn extend_rows(&mut self, other: &Self, from: usize, to: usize) {
        debug_assert_eq!(self.kind, other.kind);
        let row = self.kind.row_bytes();
        self.bytes.extend_from_slice(&other.bytes[from * row..to * row]);
    }
}

/// One little-endian number.
fn number(datatype: Datatype, bytes: &[u8]) -> f64 {
    fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("as many bytes as the type has")
    }
    match datatype {
        Datatype::Bit => f64::from(bytes[0] & 1),
        Datatype::Int8 => f64::from(bytes[0] as i8),
        Datatype::UInt8 => f64::from(bytes[0]),
        Datatype::Int16 => f64::from(i16::from_le_bytes(array(bytes))),
        Datatype::UInt16 => f64::from(u16::from_le_bytes(array(bytes))),
        Datatype::Int32 => f64::from(i32::from_le_bytes(array(bytes))),
        Datatype::UInt32 => f64::from(u32::from_le_bytes(array(bytes))),
        Datatype::Int64 => i64::from_le_bytes(array(bytes)) as f64,
        Datatype::UInt64 => u64::from_le_bytes(array(bytes)) as f64,
        Datatype::Float16 => f16::from_le_bytes(array(bytes)).to_f64(),
        Datatype::Float32 => f64::from(f32::from_le_bytes(array(bytes))),
        Datatype::Float64 => f64::from_le_bytes(array(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_their_width() {
        let column = Column::from_f32("colour", 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(column.len(), 2);
        assert_eq!(column.value(4), 5.0);
        assert_eq!(column.values().sum::<f64>(), 21.0);
    }
}
