//! Work under way on disk, so that what was interrupted goes on where it was.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The system refused.
    #[error("could not {action} the checkpoint {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is no checkpoint, or not a whole one.
    #[error("{} is damaged, or no checkpoint of this version", .0.display())]
    Damaged(PathBuf),
    /// A file of this name is somebody's.
    #[error("{} is no checkpoint: move it away, or write elsewhere", .0.display())]
    NotOurs(PathBuf),
    /// It was made from other data or with other parameters.
    #[error(
        "{} was left by work on other inputs or with other parameters: without --resume it is begun \
         anew", .0.display()
    )]
    Other(PathBuf),
}

/// Then the fingerprint, a hash of the work and the work.
const MAGIC: &[u8; 8] = b"fbkept\0\x02";

/// The place where one piece of work, told by its fingerprint, keeps what it came to.
#[derive(Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    fingerprint: u128,
    every: Duration,
    last: Instant,
}

impl CheckpointFile {
    /// At `path`, of the work of this `fingerprint`, to be written each time `every` has passed.
    pub fn new(path: &Path, fingerprint: u128, every: Duration) -> Self {
        Self { path: path.to_owned(), fingerprint, every, last: Instant::now() }
    }

    /// True where it is time to write it again.
    pub fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Writes `work` in one step, and its folder where that is missing: a file there is whole,
    /// whenever the process ends.
    ///
    /// # Errors
    /// Where the file cannot be written, or there is one that is no checkpoint.
    pub fn write(&mut self, work: &[u8]) -> Result<(), CheckpointError> {
        let temporary = unfinished(&self.path);
        for path in [&self.path, &temporary] {
            if path.symlink_metadata().is_ok() && !is_checkpoint(path) {
                return Err(CheckpointError::NotOurs(path.clone()));
            }
        }
        let write = || {
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut file = std::fs::File::create(&temporary)?;
            file.write_all(MAGIC)?;
            file.write_all(&self.fingerprint.to_le_bytes())?;
            file.write_all(&xxh3_64(work).to_le_bytes())?;
            file.write_all(work)?;
            file.sync_all()?;
            std::fs::rename(&temporary, &self.path)
        };
        write().map_err(|source| {
            // What is left of it is of no use; the error that counts is the first.
            let _ = std::fs::remove_file(&temporary);
            CheckpointError::Io { action: "write", path: self.path.clone(), source }
        })?;
        self.last = Instant::now();
        Ok(())
    }

    /// The work there, as `decode` understands it; `None` where there is no file.
    ///
    /// # Errors
    /// [`CheckpointError`], also where `decode` does not understand it.
    pub fn read<T>(
        &self,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, CheckpointError> {
        let path = || self.path.clone();
        let bytes = match fimbria_image::read_regular(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(CheckpointError::Io { action: "read", path: path(), source });
            }
        };
        let rest = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<16>());
        let (fingerprint, rest) = rest.ok_or_else(|| CheckpointError::Damaged(path()))?;
        if u128::from_le_bytes(*fingerprint) != self.fingerprint {
            return Err(CheckpointError::Other(path()));
        }
        let whole =
            rest.split_first_chunk().filter(|(hash, work)| **hash == xxh3_64(work).to_le_bytes());
        let decoded = whole.and_then(|(_, work)| decode(work));
        decoded.map(Some).ok_or_else(|| CheckpointError::Damaged(path()))
    }
}

/// True for a file that begins as checkpoints do, or was about to, and is no link.
pub(crate) fn is_checkpoint(path: &Path) -> bool {
    let start = || {
        let mut start = [0; MAGIC.len() - 2];
        std::fs::File::open(path)?.read_exact(&mut start).map(|()| start)
    };
    let is_begun = || path.extension().is_some_and(|extension| extension == "unfinished");
    path.symlink_metadata().is_ok_and(|found| match found.len() {
        0 => found.is_file() && is_begun(),
        _ => found.is_file() && start().is_ok_and(|start| MAGIC.starts_with(&start)),
    })
}

/// Removes every checkpoint in a folder, and the folder where nothing else is in it.
pub fn remove_checkpoints(folder: &Path) {
    if folder.is_symlink() || folder.parent().is_some_and(Path::is_symlink) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_checkpoint(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// What a checkpoint is called while it is written: one name, so that what a killed process left is
/// written over by the next.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &Path, fingerprint: u128) -> CheckpointFile {
        CheckpointFile::new(&folder.join("checkpoint"), fingerprint, Duration::from_secs(60))
    }

    fn text(bytes: &[u8]) -> Option<String> {
        String::from_utf8(bytes.to_vec()).ok().filter(|text| text.ends_with('.'))
    }

    #[test]
    fn work_comes_back_to_whom_it_belongs() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = place(folder.path(), 7);
        assert_eq!(own.read(text).unwrap(), None);
        own.write(b"half done.").unwrap();
        assert_eq!(own.read(text).unwrap().as_deref(), Some("half done."));
        assert!(!own.is_due());
        let foreign = place(folder.path(), 8).read(text);
        assert!(matches!(foreign, Err(CheckpointError::Other(_))));
    }

    #[test]
    fn what_somebody_else_keeps_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["checkpoint", "checkpoint.unfinished"] {
            std::fs::write(path(name), "mine").unwrap();
            let written = place(folder.path(), 7).write(b"half done.");
            assert!(matches!(written, Err(CheckpointError::NotOurs(at)) if at == path(name)));
            remove_checkpoints(folder.path());
            assert_eq!(std::fs::read(path(name)).unwrap(), b"mine");
            std::fs::remove_file(path(name)).unwrap();
        }
        place(folder.path(), 7).write(b"half done.").unwrap();
        std::fs::write(path("checkpoint.unfinished"), "").unwrap();
        remove_checkpoints(folder.path());
        assert!(!folder.path().exists());
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = place(folder.path(), 7);
        own.write(b"half done.").unwrap();
        let path = folder.path().join("checkpoint");
        let bytes = std::fs::read(&path).unwrap();
        for length in [0, 5, 20, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(matches!(own.read(text), Err(CheckpointError::Damaged(_))), "{length}");
        }
        let mut turned = bytes.clone();
        *turned.iter_mut().nth_back(3).unwrap() ^= 1;
        std::fs::write(&path, &turned).unwrap();
        assert!(matches!(own.read(text), Err(CheckpointError::Damaged(_))), "a bit turned");
    }
}
