//! Where the reference data are.
#![allow(clippy::print_stdout)] // says when it skips

use std::path::PathBuf;

/// The folder of FSL's reference data, or `None` with a message where there is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let root = match std::env::var_os("FIMBRIA_REFDATA") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/refdata"),
    };
    let folder = root.join("fsl");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: reference data not found");
    None
}
