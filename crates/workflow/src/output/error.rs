//! Why outputs could not be written.

use std::io;
use std::path::{Path, PathBuf};

use fimbria_compute::Interrupted;

use super::name::NAME_RULE;

/// Why outputs could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Files that would be written exist, and overwriting was not asked for.
    #[error("{} already holds {}", folder.display(), some_of(names))]
    Exists {
        /// The folder.
        folder: PathBuf,
        /// Names of the files in the way.
        names: Vec<String>,
    },
    /// A folder is to be made where a file is.
    #[error("{} is a file, and a folder is to be written there", .0.display())]
    NotAFolder(PathBuf),
    /// The folder to be made has the name of a file.
    #[error(
        "{} is the name of a .{extension} file, and a folder is to be made: leave the extension \
         away", path.display()
    )]
    NameOfFile {
        /// The name.
        path: PathBuf,
        /// The name that a folder may have.
        stem: String,
        /// What is too much of it.
        extension: String,
    },
    /// A name that the record beside the file cannot quote, or that leaves it no room.
    #[error("{} cannot be written: {NAME_RULE}", .0.display())]
    Name(PathBuf),
    /// A file is to be written where a folder is.
    #[error("{} is a folder, and a file is to be written there", .0.display())]
    NotAFile(PathBuf),
    /// What is to be replaced is a device, a pipe or a socket.
    #[error("{} is no regular file: only files and folders are replaced", .0.display())]
    NotRegular(PathBuf),
    /// A folder in which outputs would be put is a link.
    #[error("{} is a link: outputs are put through none below their folder", .0.display())]
    Link(PathBuf),
    /// What has the name of a folder of ours is not ours.
    #[error("{} was not made by fimbria: move it away, or write elsewhere", .0.display())]
    NotOurs(PathBuf),
    /// Another process is at work there.
    #[error("another run is writing to {}: wait for it, or write elsewhere with -o", .0.display())]
    Busy(PathBuf),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The system refused.
    #[error("could not {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl OutputError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// At most six names, then a count.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}
