//! GIFTI: surfaces, and numbers on their vertices, as XML with its data in text, base64, or
//! compressed base64 (GIFTI Surface Data Format 1.0, nitrc.org/projects/gifti).

mod array;
mod error;
mod read;
mod write;

use std::fs;
use std::path::Path;

pub use error::GiftiError;

/// Triangles in space, and a number on each vertex where the file has any.
///
/// Coordinates are those of the file: which space they are in, files say seldom and programs agree
/// on less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Millimetres, or whatever the file counts in.
    pub vertices: Vec<[f32; 3]>,
    /// Three vertices each.
    pub triangles: Vec<[u32; 3]>,
    /// The first array of numbers with one for each vertex.
    pub values: Option<Vec<f32>>,
}

impl Surface {
    /// The vertices that count: those whose number is not zero, all where there are no numbers.
    pub fn counted_vertices(&self) -> impl Iterator<Item = (u32, [f32; 3])> + '_ {
        let counts = |(vertex, _): &(u32, [f32; 3])| self.counts(*vertex);
        (0..).zip(self.vertices.iter().copied()).filter(counts)
    }

    /// True where the number of a vertex is not zero, or where there are no numbers.
    pub fn counts(&self, vertex: u32) -> bool {
        let number = self.values.as_ref().map(|values| values[vertex as usize]);
        number.is_none_or(|number| number != 0.0 && !number.is_nan())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`GiftiError`] says what is wrong with it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, GiftiError> {
        let path = path.as_ref();
        let bytes = crate::read_regular(path).map_err(|source| GiftiError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(&bytes)
            .map_err(|problem| GiftiError::Malformed { path: path.to_owned(), problem })
    }

    /// Writes a file with compressed data.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), GiftiError> {
        let path = path.as_ref();
        fs::write(path, self.to_xml()).map_err(|source| GiftiError::Io {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }
}
