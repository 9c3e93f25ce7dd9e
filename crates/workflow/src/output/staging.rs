//! The hidden folder in which outputs are made, and what a killed process may have left of one.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{OutputError, commit, disk};

/// A folder beside the outputs that one process at a time has to itself.
#[derive(Debug)]
pub(super) struct StagingFolder {
    pub(super) path: PathBuf,
    /// Held while the folder is ours; the system lets go of it however the process ends.
    lock: File,
}

/// The file in it that is locked.
const LOCK: &str = "lock";

impl StagingFolder {
    /// The folder `path` for outputs in `root`, empty. What a killed process has left there is
    /// cleared away first, and a commit that it had begun is undone.
    pub(super) fn take(path: PathBuf, root: &Path) -> Result<Self, OutputError> {
        let failed = |path: &Path| OutputError::io("begin to write in", path);
        let lock_file = path.join(LOCK);
        if is_foreign(&path).map_err(failed(&path))? {
            return Err(OutputError::NotOurs(path));
        }
        // Who ends removes the folder, and with it the lock that another may just have opened.
        for _ in 0..100 {
            match disk::create_folder(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(root)(error));
                }
                _ => {}
            }
            let lock = match File::create(&lock_file) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(root)(error)),
            };
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(OutputError::Busy(root.to_owned())),
                // A file system without locks: nobody can be told apart.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            if is_same(&lock, &lock_file) {
                let place = Self { path, lock };
                commit::undo(&place.path, root).map_err(failed(root))?;
                for left in [place.made(), place.replaced()] {
                    if left.exists() {
                        disk::remove_all(&left).map_err(failed(root))?;
                    }
                }
                disk::create_folder(&place.made()).map_err(failed(root))?;
                return Ok(place);
            }
        }
        Err(OutputError::Busy(root.to_owned()))
    }

    /// Takes the folder away. An open file keeps its folder alive on NFS, so that the lock is let go of
    /// before: who takes it then has a file of their own there, and the folder stays.
    pub(super) fn remove(self) {
        let Self { path, lock } = self;
        let mut is_empty = true;
        for name in list_of(&path).unwrap_or_default().iter().filter(|name| *name != LOCK) {
            let left = path.join(name);
            let is_folder = left.symlink_metadata().is_ok_and(|found| found.is_dir());
            let removed = if is_folder { disk::remove_all(&left) } else { disk::remove(&left) };
            is_empty &= removed.is_ok();
        }
        // Without its lock a folder is not known as ours, and only an empty one is taken.
        if is_empty && disk::remove(&path.join(LOCK)).is_ok() {
            drop(lock);
            let _ = disk::remove(&path);
        }
    }

    /// Where outputs are made.
    pub(super) fn made(&self) -> PathBuf {
        new(&self.path)
    }

    /// Where those are kept meanwhile that they replace.
    pub(super) fn replaced(&self) -> PathBuf {
        old(&self.path)
    }
}

/// True where `path` is a link, or a folder that holds something and no lock. Another process may begin
/// or end there between a look at the files and one at the lock, so that several looks must agree.
fn is_foreign(path: &Path) -> io::Result<bool> {
    const LOOKS: usize = 5;
    const PAUSE: Duration = Duration::from_millis(1);
    let has_lock = || path.join(LOCK).symlink_metadata().is_ok_and(|lock| lock.is_file());
    if path.is_symlink() {
        return Ok(true);
    }
    for _ in 0..LOOKS {
        if list_of(path)?.is_empty() || has_lock() {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(true)
}

/// The names in a folder, but those that NFS gives to what is removed and open; none where there is no folder.
fn list_of(folder: &Path) -> io::Result<Vec<OsString>> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let names = entries?.map(|entry| entry.map(|entry| entry.file_name()));
            let is_there = |name: &OsString| !name.to_string_lossy().starts_with(".nfs");
            names.filter(|name| name.as_ref().map_or(true, is_there)).collect()
        }
    }
}

pub(super) fn new(place: &Path) -> PathBuf {
    place.join("new")
}

pub(super) fn old(place: &Path) -> PathBuf {
    place.join("old")
}

/// True where `path` still is the open file: who lets go of a lock removes its file, and another may
/// have opened it before.
#[cfg(unix)]
pub fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// True where `path` still is the open file; open files cannot be removed there.
#[cfg(not(unix))]
pub fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}
