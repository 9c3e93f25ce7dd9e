//! What two sites compare: a hash of every file, and one of all.

use std::path::Path;

use fimbria_pipeline::{OutputFolder, RunRecord};
use xxhash_rust::xxh3::xxh3_128;

use crate::BidsError;
use crate::files::folders;

/// The folders below `out` that hold a finished session, with its record.
pub(crate) fn finished(out: &Path) -> Result<Vec<(String, RunRecord)>, BidsError> {
    let mut found = Vec::new();
    for subject in folders(out, "sub-")? {
        found.extend(finished_of(out, &subject)?);
    }
    Ok(found)
}

/// Those of a subject (`sub-01`).
pub(crate) fn finished_of(
    out: &Path,
    subject: &str,
) -> Result<Vec<(String, RunRecord)>, BidsError> {
    let sessions = folders(&out.join(subject), "ses-")?;
    let sessions = sessions.into_iter().map(|session| format!("{subject}/{session}"));
    let folders = std::iter::once(subject.to_owned()).chain(sessions);
    let read = |folder: String| {
        let record = RunRecord::read(&out.join(&folder).join(OutputFolder::RECORD));
        record.ok().map(|record| (folder, record))
    };
    Ok(folders.filter_map(read).collect())
}

/// A line for every file of every finished session, as `HASH  FILE`, and one for all of them. Pages
/// and records, which tell times and machines, are not among them.
///
/// # Errors
/// Where `out` cannot be listed.
pub fn digest(out: &Path) -> Result<String, BidsError> {
    let mut lines = Vec::new();
    for (folder, record) in finished(out)? {
        let files = record.outputs.iter().filter(|output| !output.file.ends_with(".html"));
        lines.extend(files.map(|file| format!("{}  {folder}/{}\n", file.xxh3_128, file.file)));
    }
    lines.sort_unstable_by(|a, b| {
        a.split_once("  ").map(|l| l.1).cmp(&b.split_once("  ").map(|l| l.1))
    });
    let text = lines.concat();
    Ok(format!("{text}{:032x}  all\n", xxh3_128(text.as_bytes())))
}
