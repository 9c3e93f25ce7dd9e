//! Finished chunks of an interrupted run.

use std::path::{Path, PathBuf};

use fimbria_sticks::Keeper;

/// Finished chunks in a folder, a file each.
pub(super) struct Kept {
    folder: PathBuf,
    resume: bool,
}

impl Kept {
    /// Chunks of another sampling, or that are not to be taken up, are removed.
    pub(super) fn open(folder: &Path, key: &str, resume: bool) -> std::io::Result<Self> {
        let key_file = folder.join("key");
        let same = std::fs::read_to_string(&key_file).is_ok_and(|kept| kept == key);
        if folder.exists() && !(resume && same) {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)?;
        std::fs::write(key_file, key)?;
        Ok(Self { folder: folder.to_owned(), resume })
    }

    fn path(&self, chunk: usize) -> PathBuf {
        self.folder.join(format!("chunk-{chunk}"))
    }
}

impl Keeper for Kept {
    fn kept(&self, chunk: usize) -> Option<Vec<u8>> {
        self.resume.then(|| std::fs::read(self.path(chunk)).ok()).flatten()
    }

    fn keep(&self, chunk: usize, results: &[u8]) -> std::io::Result<()> {
        let part = self.folder.join(format!("part-{chunk}"));
        std::fs::write(&part, results)?;
        std::fs::rename(part, self.path(chunk))
    }
}
