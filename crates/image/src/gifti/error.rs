//! What can be wrong with a surface file.

use std::io;
use std::path::PathBuf;

/// A surface could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GiftiError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is no surface.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Problem,
    },
}

/// What is wrong with the text of a surface file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is no XML.
    #[error("no XML: {0}")]
    Xml(String),
    /// The end is missing, and with it what may have stood before it.
    #[error("the file ends before </GIFTI>: it was cut short, or is no GIFTI file")]
    Cut,
    /// Another kind of XML.
    #[error("no GIFTI file: it has no array of points")]
    NoPoints,
    /// An attribute that an array must have.
    #[error("an array has no {0}")]
    Missing(&'static str),
    /// An attribute with a value that is not known.
    #[error("{name}=\"{value}\" is not known")]
    Unknown {
        /// The attribute.
        name: &'static str,
        /// What it says.
        value: String,
    },
    /// Data that cannot be decoded.
    #[error("the data of an array cannot be decoded: {0}")]
    Data(String),
    /// Data of another length than the header says.
    #[error("an array of {dims:?} has {found} numbers")]
    Length {
        /// What the header says.
        dims: Vec<usize>,
        /// What there is.
        found: usize,
    },
    /// More numbers than such a file holds.
    #[error("an array of {numbers} numbers is too large: a file of this size holds {room} more")]
    Implausible {
        /// What the header says.
        numbers: usize,
        /// What is left of what such a file may hold.
        room: usize,
    },
    /// Points or triangles that do not come in threes.
    #[error("{what} come in threes, not in arrays of {dims:?}")]
    NoThrees {
        /// "points" or "triangles".
        what: &'static str,
        /// The array.
        dims: Vec<usize>,
    },
    /// A triangle of a vertex that is not there.
    #[error("a triangle has vertex {0}, of {1}")]
    NoVertex(i64, usize),
    /// A coordinate that is none.
    #[error("vertex {0} has a coordinate that is not finite")]
    NotFinite(usize),
}
