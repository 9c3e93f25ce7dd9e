//! Files and folders, listed and written.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_pipeline::{BidsName, rename};

use crate::BidsError;

/// The names in a folder, sorted; none where there is no folder.
pub(crate) fn list(folder: &Path) -> Result<Vec<String>, BidsError> {
    let failed = || BidsError::io("list", folder);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed())?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // What is not UTF-8 is no name of BIDS.
        names.extend(entry.map_err(failed())?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

/// The folders of a folder whose names begin with `prefix`: labels, which stand in tables.
pub(crate) fn folders(folder: &Path, prefix: &str) -> Result<Vec<String>, BidsError> {
    let mut names = list(folder)?;
    names.retain(|name| name.starts_with(prefix) && folder.join(name).is_dir());
    match names.iter().find(|name| name.contains(char::is_control)) {
        Some(name) => Err(BidsError::NotText(folder.join(name))),
        None => Ok(names),
    }
}

/// A file with a name of BIDS.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: BidsName,
    pub(crate) path: PathBuf,
}

/// The files of a folder that have names of BIDS.
pub(crate) fn named(folder: &Path) -> Result<Vec<Named>, BidsError> {
    let is_text = |name: &String| !name.contains(char::is_control);
    let parse = |name: String| {
        let path = folder.join(name);
        Some(Named { name: BidsName::parse(&path)?, path })
    };
    Ok(list(folder)?.into_iter().filter(is_text).filter_map(parse).collect())
}

/// Puts `text` in the place of what `path`, a file in a folder of our own, holds, in one step, for whoever has
/// claimed it: what a killed process left of the step is written over.
pub(crate) fn replace(path: &Path, text: &[u8]) -> Result<(), BidsError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.new"));
    if fs::read(path).is_ok_and(|there| there == text) {
        let _ = fs::remove_file(&new);
        return Ok(());
    }
    fs::write(&new, text).and_then(|()| rename(&new, path)).map_err(|error| {
        let _ = fs::remove_file(&new);
        BidsError::io("write", path)(error)
    })
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), BidsError> {
    fs::create_dir_all(folder).map_err(BidsError::io("make the folder", folder))
}

/// Moves a file, to another file system too.
pub(crate) fn move_file(from: &Path, to: &Path) -> Result<(), BidsError> {
    if rename(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to).map(drop).map_err(BidsError::io("copy", from))?;
    fs::remove_file(from).map_err(BidsError::io("remove", from))
}
