//! What earlier runs of stages have left in a folder.

use std::fs::DirEntry;
use std::path::Path;

use crate::{OutputFolder, RunRecord, Stage};

/// The record of a complete run with this fingerprint in `folder`, if there is one.
pub(crate) fn earlier_run(folder: &Path, fingerprint: &str) -> Option<RunRecord> {
    let record = RunRecord::read(&folder.join(OutputFolder::RECORD)).ok()?;
    let same = record.fingerprint.as_deref() == Some(fingerprint);
    (same && record.is_complete_in(folder)).then_some(record)
}

/// Stages that earlier runs have left whole in `root` and that this one does not make, by their own records:
/// they stay, and stay listed.
pub(crate) fn untouched(stages: &[Box<dyn Stage>], root: &Path) -> Vec<(String, RunRecord)> {
    let of_entry = |entry: DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_made = stages.iter().any(|stage| stage.name() == name);
        let record = RunRecord::read(&entry.path().join(OutputFolder::RECORD)).ok()?;
        let is_whole = !is_made && record.task == name && record.is_complete_in(&entry.path());
        is_whole.then_some((name, record))
    };
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut untouched: Vec<_> = entries.filter_map(of_entry).collect();
    untouched.sort_by(|(a, _), (b, _)| a.cmp(b));
    untouched
}

/// Removes what [`run_stages`](crate::run_stages) has left in `root`: the outputs that records there list, as far as they are what
/// was written, the records, what interrupted work kept, and the folders that are empty then.
pub fn clear_run(root: &Path) {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        OutputFolder::clear(&entry.path());
    }
    OutputFolder::clear(root);
}
