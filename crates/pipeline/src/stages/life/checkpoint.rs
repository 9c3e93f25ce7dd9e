//! Weights on disk while they are being found and until all is written, so that interrupted work
//! goes on where it was.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::LifeInputError;

/// How long apart weights are written.
const EVERY: Duration = Duration::from_secs(30);

/// The file, and when it was last written.
pub(super) struct Checkpoint {
    path: PathBuf,
    /// What the weights belong to, in one line.
    key: String,
    last: Instant,
}

impl Checkpoint {
    /// The file at `path` for the problem of this `fingerprint`.
    pub(super) fn new(path: &Path, fingerprint: u128) -> Self {
        let key = format!("fimbria life {fingerprint:032x}\n");
        Self { path: path.to_owned(), key, last: Instant::now() }
    }

    /// The weights there, of so many unknowns; `None` where there is no file.
    ///
    /// # Errors
    /// Where they cannot be read or belong to another problem.
    pub(super) fn read(&self, unknowns: usize) -> Result<Option<Vec<f32>>, LifeInputError> {
        let path = || self.path.clone();
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LifeInputError::Read { path: path(), source }),
        };
        let (weights, left) = bytes.strip_prefix(self.key.as_bytes()).unwrap_or(&[0]).as_chunks();
        if weights.len() != unknowns || !left.is_empty() {
            return Err(LifeInputError::OtherWork { path: path() });
        }
        Ok(Some(weights.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()))
    }

    /// True where it is time to write weights.
    pub(super) fn is_due(&self) -> bool {
        self.last.elapsed() >= EVERY
    }

    /// Writes `weights` in one step: a file there is whole, whenever the process ends.
    pub(super) fn write(&mut self, weights: &[f32]) -> io::Result<()> {
        self.last = Instant::now();
        let temporary = unfinished(&self.path);
        let write = || {
            let mut file = fs::File::create(&temporary)?;
            file.write_all(self.key.as_bytes())?;
            let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        };
        // What is left of it is of no use; the error that counts is the first.
        write().inspect_err(|_| drop(fs::remove_file(&temporary)))
    }
}

/// Where weights are while they are being written: one name, so that what a killed process left
/// is written over by the next.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".unfinished");
    name.into()
}

/// Removes the weights kept at `path`, and what a killed process may have left beside them: the
/// work is done.
pub fn remove_checkpoint(path: &Path) {
    // What is not there need not be removed.
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(unfinished(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_come_back_for_the_same_problem_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("life.checkpoint");
        let mut checkpoint = Checkpoint::new(&path, 7);
        assert_eq!(checkpoint.read(3).unwrap(), None);
        checkpoint.write(&[0.5, 0.0, 2.0]).unwrap();
        assert_eq!(checkpoint.read(3).unwrap(), Some(vec![0.5, 0.0, 2.0]));
        let other = |read| matches!(read, Err(LifeInputError::OtherWork { .. }));
        assert!(other(checkpoint.read(4)));
        assert!(other(Checkpoint::new(&path, 8).read(3)));
        fs::write(&path, &fs::read(&path).unwrap()[..50]).unwrap();
        assert!(other(checkpoint.read(3)));
        remove_checkpoint(&path);
        assert!(!path.exists());
    }
}
