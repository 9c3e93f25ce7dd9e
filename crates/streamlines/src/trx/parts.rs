//! The files of a TRX, wherever they are: each a stream of bytes of known length.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use fimbria_image::open_regular;
use zip::{CompressionMethod, ZipArchive};

use crate::TractogramError;

/// deflate never makes data smaller than by this factor.
const MOST_COMPRESSION: u64 = 1032;
/// No TRX has more files; an archive that does is refused.
const MOST_PARTS: usize = 100_000;

/// One file of a TRX, read from its start.
pub(super) struct Part {
    pub(super) bytes: BufReader<io::Take<File>>,
    pub(super) length: u64,
}

impl Part {
    fn new(file: File, length: u64) -> Self {
        Self { bytes: BufReader::with_capacity(1 << 16, file.take(length)), length }
    }

    /// A part without bytes.
    pub(super) fn empty() -> io::Result<Self> {
        Ok(Self::new(tempfile::tempfile()?, 0))
    }

    /// All of it, for small ones.
    pub(super) fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        crate::scratch::read_onto(&mut self.bytes, self.length, &mut all)?;
        Ok(all)
    }
}

/// Every part by its path inside the TRX, with `/` between components.
pub(super) type Parts = BTreeMap<String, Part>;

pub(super) fn read_folder(root: &Path) -> Result<Parts, TractogramError> {
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
) -> Result<(), TractogramError> {
    let error = TractogramError::io("list", folder);
    for entry in fs::read_dir(folder).map_err(&error)? {
        let entry = entry.map_err(&error)?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            if depth > 1 {
                collect(&path, &format!("{name}/"), depth - 1, parts)?;
            }
        } else {
            let file = open_regular(&path).map_err(TractogramError::io("open", &path))?;
            let length = file.metadata().map_err(TractogramError::io("open", &path))?.len();
            parts.insert(name, Part::new(file, length));
        }
    }
    Ok(())
}

pub(super) fn read_zip(path: &Path) -> Result<Parts, TractogramError> {
    let open = || open_regular(path).map_err(TractogramError::io("open", path));
    let file = open()?;
    let file_length = file.metadata().map_err(TractogramError::io("open", path))?.len();
    let wrong = |why: zip::result::ZipError| TractogramError::header(path, why.to_string());
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(wrong)?;
    if archive.len() > MOST_PARTS {
        let why = format!("an archive of {} files is no tractogram", archive.len());
        return Err(TractogramError::header(path, why));
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
            TractogramError::header(path, why)
        };
        let part = if entry.compression() == CompressionMethod::Stored {
            let start = entry.data_start().ok_or_else(implausible)?;
            let end = start.checked_add(length).filter(|end| *end <= file_length);
            if end.is_none() || packed != length {
                return Err(implausible());
            }
            let mut file = open()?;
            file.seek(SeekFrom::Start(start)).map_err(TractogramError::io("read", path))?;
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
fn inflated(entry: &mut impl Read, length: u64, path: &Path) -> Result<File, TractogramError> {
    let error = TractogramError::io("inflate", path);
    let mut file = tempfile::tempfile().map_err(&error)?;
    let copied = io::copy(&mut entry.take(length), &mut file).map_err(&error)?;
    if copied < length {
        return Err(error(io::ErrorKind::UnexpectedEof.into()));
    }
    file.seek(SeekFrom::Start(0)).map_err(&error)?;
    Ok(file)
}
