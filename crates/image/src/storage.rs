//! The bytes of a file: mapped, inflated, or spilled to scratch.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fimbria_memory::try_zeros;
use memmap2::Mmap;
use rayon::prelude::*;

use crate::error::ImageError;
use crate::gzip::{InflateError, Members, inflate_exact, is_gzip, is_plausible, why};
use crate::regular::open_regular;

/// Bytes of a file that are copied into memory of our own, where nobody else can rewrite or cut
/// them. What is larger is mapped: fresh memory costs more than all else of reading it.
const LARGEST_COPY: u64 = 256 << 20;

/// Bytes read of a mapped file after which its pages are given back. The system may take them at any
/// time, but counts them as ours, and schedulers of clusters end who has too many.
const MOST_RESIDENT: u64 = 512 << 20;

/// Bytes that one task reads.
const READ_AT_ONCE: usize = 4 << 20;

/// What may be held while an image is open.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Bytes that samples may take in memory; what is larger goes to a scratch file where it is
    /// compressed, and is mapped where it is not. `None`: no limit.
    pub memory_limit: Option<u64>,
    /// Folder for the scratch file, which has no name there and vanishes with the image. `None`:
    /// the system's folder for temporary files.
    pub scratch_dir: Option<PathBuf>,
}

/// Bytes that are there as a slice, whatever keeps them.
pub(crate) enum Bytes {
    /// A file on disk.
    Mapped(Mapped),
    /// Memory of our own.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => &mapped.map,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Bytes {
    /// So many bytes more have been read.
    pub(crate) fn note_read(&self, bytes: u64) {
        if let Self::Mapped(mapped) = self {
            mapped.note_read(bytes);
        }
    }

    /// Nothing more is read for a while.
    pub(crate) fn give_back(&self) {
        if let Self::Mapped(mapped) = self {
            mapped.give_back();
        }
    }
}

/// A mapped file of which few pages are resident.
pub(crate) struct Mapped {
    map: Mmap,
    /// Bytes read so far.
    read: AtomicU64,
}

impl Mapped {
    fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the map is only read. That nobody else shortens or rewrites the file meanwhile
        // cannot be enforced: only what is too large to copy is mapped, who hashes inputs notices
        // that they changed, and the program ends with a message where one is cut off.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self { map, read: AtomicU64::new(0) })
    }

    fn note_read(&self, bytes: u64) {
        let before = self.read.fetch_add(bytes, Relaxed);
        if before / MOST_RESIDENT < (before + bytes) / MOST_RESIDENT {
            self.give_back();
        }
    }

    /// Gives the pages back; who reads on has them again from the file.
    #[cfg(unix)]
    fn give_back(&self) {
        // SAFETY: pages of a map that is only read have nothing that the file has not. Where the
        // system refuses, they stay.
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }

    /// Only Unix can be asked to.
    #[cfg(not(unix))]
    fn give_back(&self) {}
}

/// A file as it lies on disk, compressed or not.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// Where the bytes of a source are.
pub(crate) enum Content {
    /// In a file of this length, of which nothing is read before it is asked for.
    File(File, u64),
    /// With us.
    Given(Vec<u8>),
}

impl Source {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Self, ImageError> {
        let failed =
            |action| move |source| ImageError::Io { action, path: path.to_owned(), source };
        let file = open_regular(path).map_err(failed("open"))?;
        let bytes = file.metadata().map_err(failed("open"))?.len();
        Ok(Self { path: path.to_owned(), content: Content::File(file, bytes) })
    }

    /// Bytes as they lie there, compressed or not.
    pub(crate) fn len(&self) -> u64 {
        match &self.content {
            Content::File(_, bytes) => *bytes,
            Content::Given(bytes) => bytes.len() as u64,
        }
    }

    /// The first `n` bytes as they lie there, or all where there are fewer.
    fn start(&self, n: u64) -> Result<Vec<u8>, ImageError> {
        let n = n.min(self.len()) as usize;
        match &self.content {
            Content::Given(bytes) => Ok(bytes[..n].to_vec()),
            Content::File(file, _) => {
                let mut start = vec![0; n];
                read_at(file, 0, &mut start).map_err(|e| self.read_error(e, n as u64))?;
                Ok(start)
            }
        }
    }

    pub(crate) fn is_gzip(&self) -> Result<bool, ImageError> {
        Ok(is_gzip(&self.start(3)?))
    }

    /// The first bytes after decompression: `limit` of them, or all where there are fewer.
    pub(crate) fn prefix(&self, limit: usize) -> Result<Vec<u8>, ImageError> {
        if !self.is_gzip()? {
            return self.start(limit as u64);
        }
        // Data that hardly shrink, and a member's own header of ordinary length.
        let mut compressed = limit as u64 + (64 << 10);
        loop {
            let mut prefix = Vec::new();
            let start = self.start(compressed)?;
            match Members::new(&start).take(limit as u64).read_to_end(&mut prefix) {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && compressed < self.len() => {
                    compressed *= 8;
                }
                Ok(_) if prefix.len() < limit && compressed < self.len() => compressed *= 8,
                // What ends early may still hold a header, which then says how much is missing.
                Err(e) if prefix.is_empty() || e.kind() != io::ErrorKind::UnexpectedEof => {
                    let error = why(&e, prefix.len() as u64);
                    return Err(self.inflate_error(error, limit as u64));
                }
                _ => return Ok(prefix),
            }
        }
    }

    /// All bytes as they lie there: copied where they are no more than `limit`, else mapped.
    fn bytes(&self, limit: u64) -> Result<Bytes, ImageError> {
        let (file, bytes) = match &self.content {
            Content::Given(bytes) => return Ok(Bytes::Owned(bytes.clone())),
            Content::File(_, 0) => return Ok(Bytes::Owned(Vec::new())),
            Content::File(file, bytes) => (file, *bytes),
        };
        let path = || self.path.clone();
        if bytes > limit {
            let failed = |source| ImageError::Io { action: "map", path: path(), source };
            return Ok(Bytes::Mapped(Mapped::new(file).map_err(failed)?));
        }
        let mut copy: Vec<u8> =
            try_zeros(bytes as usize).map_err(|_| ImageError::Memory { path: path(), bytes })?;
        let read = copy.par_chunks_mut(READ_AT_ONCE).enumerate();
        let read = read.map(|(k, part)| read_at(file, (k * READ_AT_ONCE) as u64, part));
        read.collect::<io::Result<()>>().map_err(|e| self.read_error(e, bytes))?;
        Ok(Bytes::Owned(copy))
    }

    /// The error of reading: a file that has become shorter is one that was cut off.
    fn read_error(&self, source: io::Error, needed: u64) -> ImageError {
        let path = self.path.clone();
        if source.kind() == io::ErrorKind::UnexpectedEof {
            let found = path.metadata().map_or(0, |metadata| metadata.len());
            return ImageError::Truncated { path, needed, found };
        }
        ImageError::Io { action: "read", path, source }
    }

    /// The bytes after decompression, up to `needed` of them, ready to be sliced.
    pub(crate) fn load(self, needed: u64, options: &OpenOptions) -> Result<Bytes, ImageError> {
        self.check_plausible(needed)?;
        let largest = options.memory_limit.map_or(LARGEST_COPY, |limit| limit.min(LARGEST_COPY));
        if !self.is_gzip()? {
            return match self.content {
                Content::Given(bytes) => Ok(Bytes::Owned(bytes)),
                Content::File(..) => self.bytes(largest),
            };
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
        let (path, found) = (self.path.clone(), self.len());
        if !self.is_gzip()? && found < needed {
            Err(ImageError::Truncated { path, needed, found })
        } else if !is_plausible(found, needed) {
            Err(ImageError::Implausible { path, needed, found })
        } else {
            Ok(())
        }
    }

    /// Inflates the first `out.len()` bytes.
    pub(crate) fn inflate_into(&self, out: &mut [u8]) -> Result<(), ImageError> {
        let needed = out.len() as u64;
        inflate_exact(&self.bytes(LARGEST_COPY)?, out).map_err(|e| self.inflate_error(e, needed))
    }

    fn inflate_error(&self, error: InflateError, needed: u64) -> ImageError {
        let path = self.path.clone();
        match error {
            InflateError::Truncated { found } if found < needed => {
                ImageError::Truncated { path, needed, found }
            }
            InflateError::Truncated { .. } => ImageError::Gzip {
                path,
                reason: "the file is cut off: the checksum at its end is missing".to_owned(),
            },
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
        let compressed = self.bytes(options.memory_limit.unwrap_or(LARGEST_COPY))?;
        let mut members = Members::new(&compressed);
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
        Ok(Bytes::Mapped(Mapped::new(&file).map_err(failed("map a scratch file in"))?))
    }
}

/// Fills `out` with what the file holds from `offset` on.
#[cfg(unix)]
fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

/// Fills `out` with what the file holds from `offset` on.
#[cfg(windows)]
fn read_at(file: &File, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (offset, out) = (offset + n as u64, &mut out[n..]),
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Resident bytes of the map that begins at an address.
    fn resident(start: usize) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|l| !l.starts_with(&format!("{start:x}-")));
        let line = lines.find(|line| line.starts_with("Rss:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    #[test]
    fn pages_of_a_mapped_file_are_given_back_and_read_again() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..8_u32 << 20).map(|i| (i >> 12) as u8 | 1).collect();
        file.write_all(&bytes).unwrap();
        let mapped = Bytes::Mapped(Mapped::new(&file).unwrap());
        let start = mapped.as_ptr() as usize;
        assert!(*mapped == *bytes);
        assert_eq!(resident(start), 8 << 20);
        mapped.note_read(MOST_RESIDENT - 1);
        assert_eq!(resident(start), 8 << 20);
        mapped.note_read(1);
        assert_eq!(resident(start), 0);
        assert!(*mapped == *bytes);
        assert_eq!(resident(start), 8 << 20);
        mapped.give_back();
        assert_eq!(resident(start), 0);
    }
}
