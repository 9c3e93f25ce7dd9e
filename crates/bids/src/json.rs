//! JSON of files.

use std::path::Path;

use fimbria_pipeline::OutputFolder;
use serde_json::Value;

use crate::BidsError;

/// The JSON of a file; null where there is none.
pub(crate) fn read_json(path: &Path) -> Value {
    let text = fimbria_image::read_regular_text(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes a value into an output folder.
pub(crate) fn write_json(
    out: &mut OutputFolder,
    name: &str,
    value: &Value,
) -> Result<(), BidsError> {
    Ok(out.write(name, format!("{value:#}\n").as_bytes())?)
}
