//! Streamlines of a file or of a caller, and the way through all of them.

use std::path::Path;
use std::sync::Arc;

use fimbria_compute::Progress as _;
use fimbria_streamlines::{CHUNK_POINTS, ReadStreamlines, Streamlines, TractogramError, open};

use crate::{Logbook, Page, StageError};

/// Streamlines in memory, which stages read in place of their file: each call begins anew.
pub struct GivenLines(pub Arc<dyn Fn() -> Box<dyn ReadStreamlines> + Send + Sync>);

/// Opens those in memory, or the file.
pub(crate) fn open_lines(
    given: Option<&GivenLines>,
    path: &Path,
) -> Result<Box<dyn ReadStreamlines>, TractogramError> {
    match given {
        Some(GivenLines(open)) => Ok(open()),
        None => open(path),
    }
}

/// Hands all streamlines to `each`, chunk by chunk with the number of the first, and says how many there were.
/// `doing` is what the bar says.
///
/// # Errors
/// Where they cannot be read, the caller asks to stop, or `each` fails.
pub(crate) fn pass(
    reader: &mut dyn ReadStreamlines,
    doing: &str,
    log: &Logbook<'_>,
    mut each: impl FnMut(usize, &Streamlines) -> Result<(), StageError>,
) -> Result<usize, StageError> {
    log.start(doing, reader.header().n_streamlines.unwrap_or(0));
    let (mut chunk, mut first) = (Streamlines::default(), 0);
    while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
        log.check()?;
        each(first, &chunk)?;
        first += chunk.len();
        log.advance(chunk.len() as u64);
    }
    Ok(first)
}

/// The same, and warns of what the reader doubts.
///
/// # Errors
/// As [`pass`].
pub(crate) fn for_each_chunk(
    reader: &mut dyn ReadStreamlines,
    doing: &str,
    log: &Logbook<'_>,
    each: impl FnMut(usize, &Streamlines) -> Result<(), StageError>,
) -> Result<usize, StageError> {
    let read = pass(reader, doing, log, each)?;
    for doubt in reader.doubts() {
        log.warn(Page::Connectomes, &doubt);
    }
    Ok(read)
}
