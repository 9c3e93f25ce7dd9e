//! The files that exist but do not count yet.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Every file and folder some output in progress has made and would take away again.
///
/// Outputs clean up after themselves when they are dropped; this shared list is for the one case
/// in which nothing is dropped: a program told twice to stop calls
/// [`remove_all`](Self::remove_all) and leaves.
#[derive(Clone, Debug, Default)]
pub struct Unfinished(Arc<Mutex<BTreeSet<PathBuf>>>);

impl Unfinished {
    /// A list with nothing on it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes everything on the list: files, and folders where they are empty by then.
    pub fn remove_all(&self) {
        // A folder sorts before what it holds, so the reverse order empties it first.
        for path in std::mem::take(&mut *self.lock()).iter().rev() {
            remove(path);
        }
    }

    /// The same for a program that is about to end while its other threads still work: nothing is
    /// waited for, and nothing can be put on the list any more.
    pub fn remove_all_for_good(&self) {
        /// Longer than it takes to make what was just put on the list.
        const MADE: Duration = Duration::from_millis(20);
        let Ok(paths) = self.0.try_lock() else { return };
        for _ in 0..2 {
            paths.iter().rev().for_each(|path| remove(path));
            std::thread::sleep(MADE);
        }
        std::mem::forget(paths);
    }

    pub(crate) fn add(&self, path: &Path) {
        self.lock().insert(path.to_owned());
    }

    /// Takes `path` off the list: it is finished, or gone.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        // A set of paths is valid whatever another thread was doing when it panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a file or an empty folder; a file that is gone already is no error, and a folder that
/// somebody else has put something into stays.
pub(crate) fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
}
