//! The files that exist but do not count yet.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fimbria_compute::Interrupted;

/// What hidden folders of ours begin with.
pub(crate) const PREFIX: &str = ".unfinished";

/// Every folder some output in progress has made and would take away again, and whether the user
/// has asked to stop: outputs look before each file they begin.
///
/// Outputs clean up after themselves when they are dropped; this shared list is for the cases in
/// which nothing is dropped: a program told twice to stop, or busy with what cannot be stopped, calls
/// [`remove_all`](Self::remove_all) and leaves.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// With room for more than there ever are: nothing is allocated while the list is locked, so
    /// that it can be cleaned up where memory is refused.
    paths: Arc<Mutex<Vec<PathBuf>>>,
    stopped: Arc<AtomicBool>,
    /// How many [`Held`] there are.
    held: Arc<AtomicUsize>,
}

/// While it lives, what is under way comes to its end by itself, and is not left in the middle.
#[derive(Debug)]
pub struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Default for Unfinished {
    fn default() -> Self {
        /// A folder that is made, those above it, and their hidden ones, of a few outputs.
        const ROOM: usize = 256;
        let paths = Arc::new(Mutex::new(Vec::with_capacity(ROOM)));
        Self { paths, stopped: Arc::default(), held: Arc::default() }
    }
}

impl Unfinished {
    /// A list with nothing on it, that nobody stops.
    pub fn new() -> Self {
        Self::default()
    }

    /// A list with nothing on it; no output is begun or finished once `stopped` is set.
    pub fn until(stopped: Arc<AtomicBool>) -> Self {
        Self { stopped, ..Self::default() }
    }

    /// Removes everything on the list: hidden folders with what is in them, and others where they
    /// are empty by then.
    pub fn remove_all(&self) {
        let mut paths = self.lock();
        remove_each(&mut paths);
        paths.clear();
    }

    /// The same for a program that is about to end while its other threads still work: nothing is
    /// waited for, and nothing can be put on the list any more.
    pub fn remove_all_for_good(&self) {
        /// Longer than it takes to make what was just put on the list.
        const MADE: Duration = Duration::from_millis(20);
        let Ok(mut paths) = self.paths.try_lock() else { return };
        for _ in 0..2 {
            remove_each(&mut paths);
            std::thread::sleep(MADE);
        }
        std::mem::forget(paths);
    }

    /// For work that keeps what it came to before it stops, and for moving outputs to their places.
    pub fn hold(&self) -> Held {
        self.held.fetch_add(1, Ordering::SeqCst);
        Held(self.held.clone())
    }

    /// True where nothing is lost that would be kept if the program left now.
    pub fn may_be_left(&self) -> bool {
        self.held.load(Ordering::SeqCst) == 0
    }

    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        if self.stopped.load(Ordering::SeqCst) { Err(Interrupted) } else { Ok(()) }
    }

    pub(crate) fn add(&self, path: &Path) {
        let path = path.to_owned();
        let mut paths = self.lock();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }

    /// Takes `path` off the list: it is finished, or gone.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().retain(|listed| listed != path);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        // A list of paths is valid whatever another thread was doing when it panicked.
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove_each(paths: &mut [PathBuf]) {
    paths.sort_unstable();
    // A folder sorts before what it holds, so the reverse order empties it first.
    for path in paths.iter().rev() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = match name.starts_with(PREFIX) {
            true => fs::remove_dir_all(path),
            false => fs::remove_dir(path),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_may_be_left_once_all_let_go() {
        let unfinished = Unfinished::new();
        assert!(unfinished.may_be_left());
        let (first, second) = (unfinished.hold(), unfinished.clone().hold());
        drop(first);
        assert!(!unfinished.may_be_left());
        drop(second);
        assert!(unfinished.may_be_left());
    }
}
