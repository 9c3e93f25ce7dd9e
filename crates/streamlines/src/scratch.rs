//! Files read block by block and files written beside each other.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use fimbria_image::{ByteOrder, Datatype};
use half::f16;

/// Appends the whole points of three numbers of a floating-point type.
pub(crate) fn decode_points(
    datatype: Datatype,
    order: ByteOrder,
    bytes: &[u8],
    points: &mut Vec<[f32; 3]>,
) {
    fn all<const N: usize>(
        bytes: &[u8],
        points: &mut Vec<[f32; 3]>,
        number: impl Fn([u8; N]) -> f32,
    ) {
        let (numbers, _) = bytes.as_chunks::<N>();
        let (triplets, _) = numbers.as_chunks::<3>();
        points.extend(triplets.iter().map(|triplet| triplet.map(&number)));
    }
    match (datatype, order) {
        (Datatype::Float16, ByteOrder::Little) => {
            all(bytes, points, |b| f16::from_le_bytes(b).to_f32());
        }
        (Datatype::Float16, ByteOrder::Big) => {
            all(bytes, points, |b| f16::from_be_bytes(b).to_f32());
        }
        (Datatype::Float64, ByteOrder::Little) => {
            all(bytes, points, |b| f64::from_le_bytes(b) as f32);
        }
        (Datatype::Float64, ByteOrder::Big) => all(bytes, points, |b| f64::from_be_bytes(b) as f32),
        (_, ByteOrder::Little) => all(bytes, points, f32::from_le_bytes),
        (_, ByteOrder::Big) => all(bytes, points, f32::from_be_bytes),
    }
}

/// Room for what is written later, in a nameless file in the folder of `path`.
pub(crate) struct Spill(BufWriter<File>);

impl Spill {
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Ok(Self(BufWriter::new(tempfile::tempfile_in(folder)?)))
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Everything written, from the start.
    pub(crate) fn into_reader(self) -> io::Result<File> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}
