//! Plain arrays in a zip archive or a folder, one a file, little endian, as TRX and ODX have them. Names say
//! what they hold: `NAME.WIDTH.TYPE`, or `NAME.TYPE` of one number per row. `header.json` says the grid.

mod column;
mod grid;
mod name;
mod parts;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

pub use self::column::{Column, ColumnKind};
pub use self::grid::{count_in, grid_entries, grid_in};
pub use self::name::{column_name, is_safe_name, parse_name};
pub use self::parts::{Part, Parts, part_names, read_onto, read_parts};
pub use self::writer::ArrayWriter;

/// Why there are no arrays.
#[derive(Debug, thiserror::Error)]
pub enum ArraysError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "open", "list", "inflate" ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The archive, its header or an array cannot be understood, or says what cannot be.
    #[error("{}: {reason}", path.display())]
    Wrong {
        /// The archive or folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl ArraysError {
    /// For `map_err` of system calls on `path`.
    pub fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path: path.clone(), source }
    }

    /// Something that cannot be.
    pub fn wrong(path: &Path, reason: impl Into<String>) -> Self {
        Self::Wrong { path: path.to_owned(), reason: reason.into() }
    }
}
