//! Finished chunks of an interrupted run.

use std::path::{Path, PathBuf};

use fimbria_sticks::Keeper;

use super::Resume;
use crate::checkpoint_file::CheckpointError;

/// Finished chunks in a folder, a file each.
pub(super) struct Kept {
    folder: PathBuf,
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
        let key = format!("{fingerprint:032x}");
        let key_file = folder.join("key");
        let is_same = fimbria_image::read_regular_text(&key_file).is_ok_and(|kept| kept == key);
        if folder.exists() && !is_same && resume == Resume::Yes {
            return Err(CheckpointError::Other(folder.to_owned()));
        }
        let begin = || {
            if folder.exists() && !(is_same && resume != Resume::No) {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
            std::fs::write(&key_file, key)
        };
        begin().map_err(|source| CheckpointError::Io {
            action: "begin",
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, chunk: usize) -> PathBuf {
        self.folder.join(format!("chunk-{chunk}"))
    }
}

impl Keeper for Kept {
    fn kept(&self, chunk: usize) -> Option<Vec<u8>> {
        fimbria_image::read_regular(self.path(chunk)).ok()
    }

    fn keep(&self, chunk: usize, results: &[u8]) -> std::io::Result<()> {
        let part = self.folder.join(format!("part-{chunk}"));
        std::fs::write(&part, results)?;
        std::fs::rename(part, self.path(chunk))
    }
}
