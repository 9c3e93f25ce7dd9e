//! Hashes of inputs, computed beside the work.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::InputEntry;

/// An input whose hash could not be computed.
#[derive(Debug, thiserror::Error)]
#[error("could not read {}", path.display())]
pub struct HashError {
    path: PathBuf,
    source: io::Error,
}

/// Inputs being hashed in the background: XXH3 keeps up with memory, so one thread that reads
/// what the page cache holds anyway costs the work itself next to nothing.
#[derive(Debug)]
pub struct Hashing(JoinHandle<Result<Vec<InputEntry>, HashError>>);

impl Hashing {
    /// Begins to hash `inputs`, pairs of a role and a path.
    pub fn start(inputs: Vec<(String, PathBuf)>) -> Self {
        Self(std::thread::spawn(move || {
            inputs.into_iter().map(|(role, path)| hash_file(role, &path)).collect()
        }))
    }

    /// Waits for the hashes.
    ///
    /// # Errors
    /// [`HashError`] where a file cannot be read.
    ///
    /// # Panics
    /// Only where the hashing thread did.
    pub fn finish(self) -> Result<Vec<InputEntry>, HashError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn hash_file(role: String, path: &Path) -> Result<InputEntry, HashError> {
    let hashed = || {
        let mut file = fimbria_image::open_regular(path)?;
        let (mut hasher, mut bytes) = (Xxh3::new(), 0);
        // Small enough that a block is still in the cache when it is hashed.
        let mut block = vec![0; 128 << 10];
        loop {
            let n = file.read(&mut block)?;
            if n == 0 {
                break;
            }
            hasher.update(&block[..n]);
            bytes += n as u64;
        }
        let path = std::path::absolute(path)?;
        Ok(InputEntry { role, path, bytes, xxh3_128: format!("{:032x}", hasher.digest128()) })
    };
    hashed().map_err(|source| HashError { path: path.to_owned(), source })
}

/// Hash of a text, for fingerprints.
pub(crate) fn hash_text(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}
