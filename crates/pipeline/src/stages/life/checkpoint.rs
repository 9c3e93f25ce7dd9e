//! Weights on disk while they are being found, so that interrupted work goes on where it was.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    pub(super) fn new(path: &Path, key: &str) -> Self {
        Self { path: path.to_owned(), key: key.replace('\n', " "), last: Instant::now() }
    }

    /// The weights there, where they belong to the same problem.
    pub(super) fn read(&self, streamlines: usize) -> Option<Vec<f32>> {
        let bytes = fs::read(&self.path).ok()?;
        let rest = bytes.strip_prefix(self.key.as_bytes())?.strip_prefix(b"\n")?;
        let (weights, left) = rest.as_chunks::<4>();
        if weights.len() != streamlines || !left.is_empty() {
            return None;
        }
        Some(weights.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Writes the weights where it is time to.
    pub(super) fn keep(&mut self, weights: &dyn Fn() -> Vec<f32>) -> std::io::Result<()> {
        if self.last.elapsed() < EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        self.write(&weights())
    }

    fn write(&self, weights: &[f32]) -> std::io::Result<()> {
        // Beside it, under a name that nothing of the user's has.
        let mut temporary = self.path.clone().into_os_string();
        temporary.push(format!(".unfinished-{}", std::process::id()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(self.key.as_bytes())?;
        file.write_all(b"\n")?;
        let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
        file.write_all(&bytes)?;
        drop(file);
        fs::rename(temporary, &self.path)
    }

    /// The work is done: nobody needs it.
    pub(super) fn remove(self) {
        // What is not there need not be removed.
        let _ = fs::remove_file(self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_come_back_for_the_same_problem_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("life.checkpoint");
        let checkpoint = Checkpoint::new(&path, "a problem");
        assert_eq!(checkpoint.read(3), None);
        checkpoint.write(&[0.5, 0.0, 2.0]).unwrap();
        assert_eq!(checkpoint.read(3), Some(vec![0.5, 0.0, 2.0]));
        assert_eq!(checkpoint.read(4), None);
        assert_eq!(Checkpoint::new(&path, "another").read(3), None);
        checkpoint.remove();
        assert!(!path.exists());
    }
}
