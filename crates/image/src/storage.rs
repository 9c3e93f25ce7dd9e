//! The bytes of a file: mapped, inflated, or spilled to scratch.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use fimbria_memory::try_zeros;
use memmap2::Mmap;

use crate::error::ImageError;
use crate::gzip::{InflateError, Members, inflate_exact, is_gzip, is_plausible, why};
use crate::regular::open_regular;

/// What may be held while an image is open.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Bytes that inflated samples may take in memory; what is larger goes to a scratch file.
    /// `None`: no limit. Mapped files take none.
    pub memory_limit: Option<u64>,
    /// Folder for the scratch file, which has no name there and vanishes with the image. `None`:
    /// the system's folder for temporary files.
    pub scratch_dir: Option<PathBuf>,
}

/// Bytes that are there as a slice, whatever keeps them.
pub(crate) enum Bytes {
    /// A file on disk.
    Mapped(Mmap),
    /// Memory of our own.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A file as it lies on disk, compressed or not.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Bytes,
}

impl Source {
    /// Maps a file.
    pub(crate) fn open(path: &Path) -> Result<Self, ImageError> {
        let failed =
            |action| move |source| ImageError::Io { action, path: path.to_owned(), source };
        let file = open_regular(path).map_err(failed("open"))?;
        let length = file.metadata().map_err(failed("open"))?.len();
        let bytes = if length == 0 {
            Bytes::Owned(Vec::new()) // nothing to map
        } else {
            Bytes::Mapped(map(&file).map_err(failed("map"))?)
        };
        Ok(Self { path: path.to_owned(), bytes })
    }

    pub(crate) fn is_gzip(&self) -> bool {
        is_gzip(&self.bytes)
    }

    /// The first bytes after decompression: `limit` of them, or all where there are fewer.
    pub(crate) fn prefix(&self, limit: usize) -> Result<Vec<u8>, ImageError> {
        if !self.is_gzip() {
            return Ok(self.bytes[..self.bytes.len().min(limit)].to_vec());
        }
        let mut prefix = Vec::new();
        match Members::new(&self.bytes).take(limit as u64).read_to_end(&mut prefix) {
            // What ends early may still hold a header, which then says how much is missing.
            Err(e) if prefix.is_empty() || e.kind() != io::ErrorKind::UnexpectedEof => {
                Err(self.inflate_error(why(&e, prefix.len() as u64), limit as u64))
            }
            _ => Ok(prefix),
        }
    }

    /// The bytes after decompression, up to `needed` of them, ready to be sliced.
    pub(crate) fn load(self, needed: u64, options: &OpenOptions) -> Result<Bytes, ImageError> {
        self.check_plausible(needed)?;
        if !self.is_gzip() {
            return Ok(self.bytes);
        }
        if options.memory_limit.is_some_and(|limit| needed > limit) {
            return self.spill(needed, options);
        }
        let mut bytes = usize::try_from(needed)
            .ok()
            .and_then(|n| try_zeros(n).ok())
            .ok_or_else(|| ImageError::Memory { path: self.path.clone(), bytes: needed })?;
        self.inflate_into(&mut bytes)?;
        Ok(Bytes::Owned(bytes))
    }

    /// Checks, before anything is allocated, that the file may hold `needed` bytes at all.
    pub(crate) fn check_plausible(&self, needed: u64) -> Result<(), ImageError> {
        let (path, found) = (self.path.clone(), self.bytes.len() as u64);
        if !self.is_gzip() && found < needed {
            Err(ImageError::Truncated { path, needed, found })
        } else if !is_plausible(self.bytes.len(), needed) {
            Err(ImageError::Implausible { path, needed, found })
        } else {
            Ok(())
        }
    }

    /// Inflates the first `out.len()` bytes.
    pub(crate) fn inflate_into(&self, out: &mut [u8]) -> Result<(), ImageError> {
        let needed = out.len() as u64;
        inflate_exact(&self.bytes, out).map_err(|e| self.inflate_error(e, needed))
    }

    fn inflate_error(&self, error: InflateError, needed: u64) -> ImageError {
        let path = self.path.clone();
        match error {
            InflateError::Truncated { found } => ImageError::Truncated { path, needed, found },
            InflateError::Corrupt { reason } => ImageError::Gzip { path, reason },
        }
    }

    /// Inflates once, through a small buffer, into a scratch file, and maps that.
    fn spill(&self, needed: u64, options: &OpenOptions) -> Result<Bytes, ImageError> {
        let folder = options.scratch_dir.clone().unwrap_or_else(std::env::temp_dir);
        let failed = |action| {
            let path = folder.clone();
            move |source| ImageError::Io { action, path, source }
        };
        let mut file = tempfile::tempfile_in(&folder).map_err(failed("make a scratch file in"))?;
        let mut members = Members::new(&self.bytes);
        let mut buffer = vec![0; 1 << 20];
        let mut found = 0;
        while found < needed {
            let want = buffer.len().min((needed - found) as usize);
            let n = match members.read(&mut buffer[..want]) {
                Ok(0) => Err(InflateError::Truncated { found }),
                Ok(n) => Ok(n),
                Err(e) => Err(why(&e, found)),
            };
            let n = n.map_err(|e| self.inflate_error(e, needed))?;
            file.write_all(&buffer[..n]).map_err(failed("write to a scratch file in"))?;
            found += n as u64;
        }
        members.check_rest(found).map_err(|e| self.inflate_error(e, needed))?;
        Ok(Bytes::Mapped(map(&file).map_err(failed("map a scratch file in"))?))
    }
}

fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read. That nobody else shortens or rewrites the file meanwhile
    // cannot be enforced; it is the condition under which every mapped format is used.
    unsafe { Mmap::map(file) }
}
