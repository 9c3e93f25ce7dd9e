//! A solver on disk, to go on from after the process was killed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Iteration, Saved};

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
    #[error("{} is no checkpoint of this version", .0.display())]
    Damaged(PathBuf),
    /// It was made from other data or with other parameters.
    #[error("{} was made from other inputs or with other parameters", .0.display())]
    Other(PathBuf),
}

/// A solver between two iterations, and the iterations that led there.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The solver.
    pub saved: Saved,
    /// What it did so far.
    pub log: Vec<Iteration>,
    /// The step that a Landweber iteration was found to be safe with.
    pub step: f64,
}

/// What a checkpoint is called while it is written, beside its place.
const UNFINISHED: &str = ".unfinished-checkpoint";

const MAGIC: &[u8; 8] = b"fbqsm\0\0\x02";

impl Checkpoint {
    /// Writes it to `path`, in one step: a file there is whole, whenever the process ends.
    /// `fingerprint` tells the problem.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self, path: &Path, fingerprint: u128) -> Result<(), CheckpointError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(fingerprint.to_le_bytes());
        let Saved { number, numbers, vectors } = &self.saved;
        for count in [*number, numbers.len(), vectors.len()] {
            bytes.extend((count as u64).to_le_bytes());
        }
        let numbers = numbers.iter().chain([&self.step]);
        numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend((self.log.len() as u64).to_le_bytes());
        for i in &self.log {
            bytes.extend((i.number as u64).to_le_bytes());
            for value in [i.rms, i.relative_change, i.data, i.penalty, i.relative_gradient] {
                bytes.extend(value.to_le_bytes());
            }
        }
        for vector in vectors {
            bytes.extend((vector.len() as u64).to_le_bytes());
            vector.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        let io = |action| {
            let path = path.to_owned();
            move |source| CheckpointError::Io { action, path, source }
        };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // One name, so that what a killed process left is written over by the next.
        let temporary = folder.join(UNFINISHED);
        let write = || {
            let mut file = std::fs::File::create(&temporary)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)
        };
        write().map_err(|error| {
            // What is left of it is of no use; the error that counts is the first.
            let _ = std::fs::remove_file(&temporary);
            io("write")(error)
        })
    }

    /// Removes it, and what a killed process may have left of one.
    pub fn remove(path: &Path) {
        // What is gone already need not be removed.
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_file(path.with_file_name(UNFINISHED));
    }

    /// Reads the checkpoint of the problem of this `fingerprint`; `None` where there is no file.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn read(path: &Path, fingerprint: u128) -> Result<Option<Self>, CheckpointError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(CheckpointError::Io { action: "read", path: path.to_owned(), source });
            }
        };
        let mut rest = Rest(&bytes);
        if rest.take::<8>() != Some(*MAGIC) {
            return Err(CheckpointError::Damaged(path.to_owned()));
        }
        if rest.take::<16>().map(u128::from_le_bytes) != Some(fingerprint) {
            return Err(CheckpointError::Other(path.to_owned()));
        }
        rest.checkpoint().map(Some).ok_or_else(|| CheckpointError::Damaged(path.to_owned()))
    }
}

/// The bytes not yet read.
struct Rest<'b>(&'b [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take()?)).ok()
    }

    fn number(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn vector(&mut self) -> Option<Vec<f32>> {
        let bytes = self.count()?.checked_mul(4)?;
        let (values, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(values.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect())
    }

    fn iteration(&mut self) -> Option<Iteration> {
        Some(Iteration {
            number: self.count()?,
            rms: self.number()?,
            relative_change: self.number()?,
            data: self.number()?,
            penalty: self.number()?,
            relative_gradient: self.number()?,
        })
    }

    fn checkpoint(&mut self) -> Option<Checkpoint> {
        let [number, numbers, vectors] = [self.count()?, self.count()?, self.count()?];
        let numbers = (0..numbers).map(|_| self.number()).collect::<Option<_>>()?;
        let step = self.number()?;
        let iterations = self.count()?;
        let mut log = Vec::new();
        for _ in 0..iterations {
            log.push(self.iteration()?);
        }
        let vectors = (0..vectors).map(|_| self.vector()).collect::<Option<_>>()?;
        let saved = Saved { number, numbers, vectors };
        self.0.is_empty().then_some(Checkpoint { saved, log, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let iteration = Iteration {
            number: 1,
            rms: 0.1,
            relative_change: 1.0,
            data: 3.0,
            penalty: 0.5,
            relative_gradient: 0.25,
        };
        let vectors = vec![vec![1.0, 2.0], vec![-3.0; 3], vec![], vec![0.5, 0.25]];
        let saved = Saved { number: 1, numbers: vec![2.0, 4.0], vectors };
        Checkpoint { saved, log: vec![iteration], step: 0.7 }
    }

    #[test]
    fn a_checkpoint_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        assert_eq!(Checkpoint::read(&path, 7).unwrap(), None);
        checkpoint().write(&path, 7).unwrap();
        assert_eq!(Checkpoint::read(&path, 7).unwrap(), Some(checkpoint()));
    }

    #[test]
    fn damaged_and_foreign_checkpoints_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        checkpoint().write(&path, 7).unwrap();
        assert!(matches!(Checkpoint::read(&path, 8), Err(CheckpointError::Other(_))));
        let bytes = std::fs::read(&path).unwrap();
        for length in [3, 20, 60, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(Checkpoint::read(&path, 7).is_err(), "{length}");
        }
    }
}
