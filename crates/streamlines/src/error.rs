//! What can be wrong with a tractogram.

use std::io;
use std::path::{Path, PathBuf};

use fimbria_compute::Interrupted;
use fimbria_image::arrays::ArraysError;

/// A tractogram could not be read or written. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum TractogramError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "open", "read", "write" ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Neither the content nor the name is that of a tractogram.
    #[error("{} is no tractogram (TCK, TRK or TRX)", .0.display())]
    Unrecognised(PathBuf),
    /// A name from which no format to write can be told.
    #[error("{} has no tractogram format in its name (.tck, .trk or .trx)", .0.display())]
    Extension(PathBuf),
    /// The header, or a table of contents, cannot be understood or says what cannot be.
    #[error("{}: {reason}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The data end early or contradict the header.
    #[error("{}, streamline {streamline}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which streamline, counted from 0.
        streamline: u64,
        /// What is wrong.
        reason: String,
    },
    /// TRK and TRX say on which image they lie, and nothing says so here.
    #[error(
        "{} must name the grid of the image it lies on, and its source has none: give a reference \
         image",
        .0.display()
    )]
    NoGrid(PathBuf),
    /// What should be written cannot be expressed in the format.
    #[error("{} cannot be written: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the format cannot hold.
        reason: String,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl TractogramError {
    /// For `map_err` of system calls on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path: path.clone(), source }
    }

    pub(crate) fn header(path: &Path, reason: impl Into<String>) -> Self {
        Self::Header { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn damaged(path: &Path, streamline: u64, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), streamline, reason: reason.into() }
    }

    pub(crate) fn unwritable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unwritable { path: path.to_owned(), reason: reason.into() }
    }
}

impl From<ArraysError> for TractogramError {
    fn from(error: ArraysError) -> Self {
        match error {
            ArraysError::Io { action, path, source } => Self::Io { action, path, source },
            ArraysError::Wrong { path, reason } => Self::Header { path, reason },
        }
    }
}
