//! Files that a finished folder was made of.

use std::path::PathBuf;

use crate::RunRecord;
use crate::hashing::hash_file;

/// The file that was read as `role`, where it is still there and the same.
pub fn unchanged(record: &RunRecord, role: &str) -> Option<PathBuf> {
    all_unchanged(record, role).into_iter().next()
}

/// All of that role.
pub fn all_unchanged(record: &RunRecord, role: &str) -> Vec<PathBuf> {
    let of_role = record.inputs.iter().filter(|input| input.role == role);
    let is_same = |path: &PathBuf, hash: &str| {
        path.is_file() && hash_file(path).is_ok_and(|(_, found)| found == hash)
    };
    of_role
        .filter(|input| is_same(&input.path, &input.xxh3_128))
        .map(|input| input.path.clone())
        .collect()
}
