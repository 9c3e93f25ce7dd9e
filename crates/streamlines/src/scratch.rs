//! Files read block by block and files written beside each other.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Reads exactly `bytes` more bytes onto the end of `out`, which grows only as they come: a lying
/// count costs no more memory than the file has bytes.
pub(crate) fn read_onto(input: &mut impl Read, bytes: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let before = out.len();
    input.take(bytes).read_to_end(out)?;
    if (out.len() - before) as u64 == bytes {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Room for what is written later, in a nameless file in the folder of `path`.
pub(crate) struct Spill(BufWriter<File>);

impl Spill {
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Ok(Self(BufWriter::new(tempfile::tempfile_in(folder)?)))
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Everything written, from the start.
    pub(crate) fn into_reader(self) -> io::Result<File> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}
