//! What two sites compare: a hash of every file, and one of all.

use std::path::Path;

use fimbria_pipeline::{OutputFolder, RunRecord, hash_file};
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

/// What two sites compare.
#[derive(Clone, Debug)]
pub struct Digest {
    /// A line for every file of every finished session, as `HASH  FILE`, and one for all of them.
    pub text: String,
    /// The files that are not as they were written.
    pub changed: Vec<String>,
}

/// Hashes every file of every finished session, as it is there now. Pages and records, which tell times and
/// machines, are not among them. In place of the hash of a file that is gone stands `gone`.
///
/// # Errors
/// Where `out` cannot be listed.
pub fn digest(out: &Path) -> Result<Digest, BidsError> {
    let (mut lines, mut changed) = (Vec::new(), Vec::new());
    for (folder, record) in finished(out)? {
        for output in record.outputs.iter().filter(|output| !output.file.ends_with(".html")) {
            let file = format!("{folder}/{}", output.file);
            let hash = hash_file(&out.join(&file)).map_or("gone".to_owned(), |(_, hash)| hash);
            lines.push((file.clone(), hash.clone()));
            changed.extend((hash != output.xxh3_128).then_some(file));
        }
    }
    lines.sort_unstable();
    let text: String = lines.iter().map(|(file, hash)| format!("{hash}  {file}\n")).collect();
    let all = xxh3_128(text.as_bytes());
    Ok(Digest { text: format!("{text}{all:032x}  all\n"), changed })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_digest_is_of_the_files_and_not_of_what_records_say() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        let map = out.join("sub-01/dwi/map.nii");
        fs::create_dir_all(map.parent().unwrap()).unwrap();
        fs::write(&map, "whole").unwrap();
        let (bytes, hash) = hash_file(&map).unwrap();
        let record = json!({
            "program": "fimbria", "version": "0", "command_line": [], "task": "bids", "inputs": [],
            "parameters": {}, "stages": [], "warnings": [],
            "outputs": [{ "file": "dwi/map.nii", "bytes": bytes, "xxh3_128": hash }],
            "machine": { "system": "", "threads": 1, "simd": "", "devices": [] },
            "started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:00:00Z",
        });
        fs::write(out.join("sub-01/run.json"), record.to_string()).unwrap();
        let whole = digest(out).unwrap();
        assert!(whole.changed.is_empty() && whole.text.contains(&hash));
        fs::write(&map, "harmed").unwrap();
        let harmed = digest(out).unwrap();
        fs::remove_file(&map).unwrap();
        let gone = digest(out).unwrap();
        for digest in [&harmed, &gone] {
            assert_eq!(digest.changed, ["sub-01/dwi/map.nii"]);
            assert_ne!(digest.text, whole.text);
        }
        assert_ne!(harmed.text, gone.text);
    }
}
