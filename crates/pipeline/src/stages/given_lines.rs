//! Streamlines that a caller has in memory.

use std::path::Path;
use std::sync::Arc;

use fimbria_streamlines::{ReadStreamlines, TractogramError, open};

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
