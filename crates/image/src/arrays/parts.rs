//! The files of an archive or a folder: each a stream of bytes of known length.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::ArraysError;
use crate::open_regular;

/// deflate never makes data smaller than by this factor.
const MOST_COMPRESSION: u64 = 1032;
/// An archive of more files is refused.
const MOST_PARTS: usize = 100_000;

/// One file, read from its start.
pub struct Part {
    /// What is left of it.
    pub bytes: BufReader<io::Take<File>>,
    /// All its bytes.
    pub length: u64,
}

impl Part {
    fn new(file: File, length: u64) -> Self {
        Self { bytes: BufReader::with_capacity(1 << 16, file.take(length)), length }
    }

    /// A part without bytes.
    ///
    /// # Errors
    /// Where no temporary file can be had.
    pub fn empty() -> io::Result<Self> {
        Ok(Self::new(tempfile::tempfile()?, 0))
    }

    /// All that is left of it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        read_onto(&mut self.bytes, self.length, &mut all)?;
        Ok(all)
    }
}

/// Every part by its path inside, with `/` between components.
pub type Parts = BTreeMap<String, Part>;

/// The paths of all parts, of which nothing is read.
///
/// # Errors
/// [`ArraysError`].
pub fn part_names(path: &Path) -> Result<Vec<String>, ArraysError> {
    if path.is_dir() {
        return Ok(read_folder(path)?.into_keys().collect());
    }
    let file = open_regular(path).map_err(ArraysError::io("open", path))?;
    let wrong = |why: ZipError| ArraysError::wrong(path, why.to_string());
    let archive = ZipArchive::new(BufReader::new(file)).map_err(wrong)?;
    let names = archive.file_names().map(|name| Ok(name.map_err(wrong)?.replace('\\', "/")));
    names.collect()
}

/// The parts of a folder or an archive.
///
/// # Errors
/// [`ArraysError`].
pub fn read_parts(path: &Path) -> Result<Parts, ArraysError> {
    if path.is_dir() { read_folder(path) } else { read_zip(path) }
}

fn read_folder(root: &Path) -> Result<Parts, ArraysError> {
    let mut parts = Parts::new();
    // `dpg/GROUP/NAME` is the deepest; one more shows what does not belong there.
    collect(root, "", 4, &mut parts)?;
    Ok(parts)
}

fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    parts: &mut Parts,
) -> Result<(), ArraysError> {
    let error = ArraysError::io("list", folder);
    for entry in fs::read_dir(folder).map_err(&error)? {
        let entry = entry.map_err(&error)?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            if depth > 1 {
                collect(&path, &format!("{name}/"), depth - 1, parts)?;
            }
        } else {
            let file = open_regular(&path).map_err(ArraysError::io("open", &path))?;
            let length = file.metadata().map_err(ArraysError::io("open", &path))?.len();
            parts.insert(name, Part::new(file, length));
        }
    }
    Ok(())
}

fn read_zip(path: &Path) -> Result<Parts, ArraysError> {
    let open = || open_regular(path).map_err(ArraysError::io("open", path));
    let file = open()?;
    let file_length = file.metadata().map_err(ArraysError::io("open", path))?.len();
    let wrong = |why: ZipError| ArraysError::wrong(path, why.to_string());
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(wrong)?;
    if archive.len() > MOST_PARTS {
        let why = format!("an archive of {} files is none of arrays", archive.len());
        return Err(ArraysError::wrong(path, why));
    }
    let mut parts = Parts::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(wrong)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().map_err(wrong)?.replace('\\', "/");
        let (length, packed) = (entry.size(), entry.compressed_size());
        let implausible = || {
            let why = format!("{name} cannot hold {length} bytes in {packed}");
            ArraysError::wrong(path, why)
        };
        let part = if entry.compression() == CompressionMethod::Stored {
            let start = entry.data_start().ok_or_else(implausible)?;
            let end = start.checked_add(length).filter(|end| *end <= file_length);
            if end.is_none() || packed != length {
                return Err(implausible());
            }
            let mut file = open()?;
            file.seek(SeekFrom::Start(start)).map_err(ArraysError::io("read", path))?;
            Part::new(file, length)
        } else {
            if packed > file_length || length > packed.saturating_mul(MOST_COMPRESSION) {
                return Err(implausible());
            }
            let file = inflated(&mut entry, length, path)?;
            Part::new(file, length)
        };
        parts.insert(name, part);
    }
    Ok(parts)
}

/// A compressed part in a nameless file, so that all parts can be read side by side.
fn inflated(entry: &mut impl Read, length: u64, path: &Path) -> Result<File, ArraysError> {
    let error = ArraysError::io("inflate", path);
    let mut file = tempfile::tempfile().map_err(&error)?;
    let copied = io::copy(&mut entry.take(length), &mut file).map_err(&error)?;
    if copied < length {
        return Err(error(io::ErrorKind::UnexpectedEof.into()));
    }
    file.seek(SeekFrom::Start(0)).map_err(&error)?;
    Ok(file)
}

/// Reads exactly `bytes` more bytes onto the end of `out`, which grows only as they come: a lying
/// count costs no more memory than the file has bytes.
///
/// # Errors
/// Where there are fewer, or they cannot be read.
pub fn read_onto(input: &mut impl Read, bytes: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let before = out.len();
    input.take(bytes).read_to_end(out)?;
    if (out.len() - before) as u64 == bytes {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
