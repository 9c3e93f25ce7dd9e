//! Finished chunks of an interrupted run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fimbria_sticks::Keeper;
use fimbria_workflow::{CheckpointError, CheckpointFile, remove_checkpoints};

use super::Resume;

/// Finished chunks in a folder, a file each, with the fingerprint of the sampling and a hash.
pub(super) struct Kept {
    folder: PathBuf,
    fingerprint: u128,
}

impl Kept {
    /// A place for the chunks of the sampling with this fingerprint, and for those found to be
    /// taken up.
    ///
    /// # Errors
    /// Where chunks of another sampling should be, or the system refuses.
    pub(super) fn open(
        folder: &Path,
        fingerprint: u128,
        resume: Resume,
    ) -> Result<Self, CheckpointError> {
        let kept = Self { folder: folder.to_owned(), fingerprint };
        // An empty one, which says whose the others are.
        let mut whose = kept.file("sampling");
        let found = whose.read(|_| Some(()));
        let is_same = matches!(found, Ok(Some(())));
        if folder.exists() && resume == Resume::Yes {
            found?;
        }
        if folder.exists() && !(is_same && resume != Resume::No) {
            remove_checkpoints(folder);
        }
        whose.write(&[])?;
        Ok(kept)
    }

    /// Takes the chunks away, and the folder they are in where nothing else is in it.
    pub(super) fn clear(&self) {
        remove_checkpoints(&self.folder);
        let _ = self.folder.parent().map(std::fs::remove_dir);
    }

    fn file(&self, name: &str) -> CheckpointFile {
        CheckpointFile::new(&self.folder.join(name), self.fingerprint, Duration::ZERO)
    }

    fn chunk(&self, chunk: usize) -> CheckpointFile {
        self.file(&format!("chunk-{chunk}"))
    }
}

impl Keeper for Kept {
    /// One that is damaged, or of another sampling, is sampled again.
    fn kept(&self, chunk: usize) -> Option<Vec<u8>> {
        self.chunk(chunk).read(|results| Some(results.to_vec())).ok().flatten()
    }

    fn keep(&self, chunk: usize, results: &[u8]) -> std::io::Result<()> {
        self.chunk(chunk).write(results).map_err(std::io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path, fingerprint: u128) -> Result<Kept, CheckpointError> {
        Kept::open(&folder.join("kept"), fingerprint, Resume::Yes)
    }

    #[test]
    fn a_damaged_chunk_is_not_taken_up() {
        let folder = tempfile::tempdir().unwrap();
        let kept = open(folder.path(), 7).unwrap();
        kept.keep(3, &[1; 8192]).unwrap();
        assert_eq!(open(folder.path(), 7).unwrap().kept(3), Some(vec![1; 8192]));
        let path = folder.path().join("kept/chunk-3");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096..].fill(0);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(open(folder.path(), 7).unwrap().kept(3), None);
    }

    #[test]
    fn chunks_of_another_sampling_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), 7).unwrap().keep(0, &[1]).unwrap();
        assert!(matches!(open(folder.path(), 8), Err(CheckpointError::Other(_))));
    }
}
