//! From outputs in their hidden folder to outputs.
//!
//! A folder that holds nothing but what fimbria wrote is swapped as a whole for the new one, in one
//! step where the system knows one: whoever looks sees the earlier run or the new one. Where other
//! files are in it, or it cannot be moved (it is where the user stands, or where a disk begins),
//! and for single files, outputs are moved one by one, the record last; those that they replace
//! are kept until then, and come back where anything fails or, after a kill, when the next run
//! begins there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk;
use super::owned::{is_own, place_below};
use super::staging::{new, old};
use crate::OutputEntry;
use crate::checkpoint_file::is_checkpoint;
use crate::unfinished::PREFIX;

/// The file that lists what is being moved, while it is.
const MOVING: &str = "moving";

/// What is to become of the outputs in a place.
pub(super) struct Commit<'a> {
    /// The hidden folder.
    pub(super) place: &'a Path,
    /// Where outputs go.
    pub(super) root: &'a Path,
    /// Their names, the record last.
    pub(super) names: &'a [String],
    /// What an earlier run has written there, and this one does not keep.
    pub(super) earlier: &'a [OutputEntry],
    /// The folder in `root` where the work under way kept what it had come to.
    pub(super) kept: &'a str,
}

impl Commit<'_> {
    /// Swaps the whole folder, and says where the earlier one is now; `None` where that cannot be, and
    /// nothing was done.
    pub(super) fn swap(&self) -> io::Result<Option<PathBuf>> {
        let root = self.root.canonicalize()?;
        let stands_there = std::env::current_dir().is_ok_and(|here| here.starts_with(&root));
        let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else {
            return Ok(None);
        };
        if stands_there || !self.is_ours(&root)? || !disk::take_after(&new(self.place), &root)? {
            return Ok(None);
        }
        let hidden = |what: &str| {
            let (name, process) = (name.to_string_lossy(), std::process::id());
            parent.join(format!(".{name}{PREFIX}-{what}-{process}"))
        };
        let (next, last) = (hidden("new"), hidden("old"));
        if disk::rename(&new(self.place), &next).is_err() {
            return Ok(None); // the folder above is not ours to write in
        }
        let swapped = match disk::exchange(&next, &root) {
            Ok(()) => Ok(next.clone()),
            // In two steps: for a moment there is no folder of this name.
            Err(_) => match disk::rename(&root, &last) {
                Err(error) => Err(error),
                Ok(()) => match disk::rename(&next, &root) {
                    Ok(()) => Ok(last.clone()),
                    Err(error) => {
                        disk::rename(&last, &root)?;
                        Err(error)
                    }
                },
            },
        };
        match swapped {
            Ok(replaced) => {
                let _ = disk::sync(parent);
                Ok(Some(replaced))
            }
            Err(_) => {
                disk::rename(&next, &new(self.place))?;
                Ok(None)
            }
        }
    }

    /// True where everything in the folder is ours.
    fn is_ours(&self, root: &Path) -> io::Result<bool> {
        let mut files = Vec::new();
        list(root, "", &mut files)?;
        Ok(files.iter().all(|name| self.is_known(root, name)))
    }

    /// True for what this run has written anew, what an earlier one has written, and what work under way
    /// kept.
    fn is_known(&self, root: &Path, name: &str) -> bool {
        let is_entry = |output: &&OutputEntry| output.file == name;
        let first = name.split('/').next().unwrap_or(name);
        first == PREFIX
            || self.names.iter().any(|own| own == name)
            || Path::new(name).starts_with(self.kept) && is_checkpoint(&root.join(name))
            || self.earlier.iter().find(is_entry).is_some_and(|output| is_own(root, output))
    }

    /// Takes away the folder that was replaced. What somebody put into it at the last moment goes
    /// where its name now leads.
    pub(super) fn clear(&self, replaced: &Path) {
        let mut files = Vec::new();
        let _ = list(replaced, "", &mut files);
        for name in files.iter().filter(|name| !self.is_known(replaced, name)) {
            let to = self.root.join(name);
            if !to.exists() {
                let _ = to.parent().map(fs::create_dir_all);
                let _ = disk::rename(&replaced.join(name), &to);
            }
        }
        // What stays is hidden, and in nobody's way.
        let _ = disk::remove_all(replaced);
    }

    /// Moves outputs one by one.
    pub(super) fn in_place(&self) -> io::Result<()> {
        if let [record] = self.names {
            // Of stages that wrote by themselves.
            return disk::rename(&new(self.place).join(record), &self.root.join(record));
        }
        let moved = self.move_all();
        if moved.is_err() {
            undo(self.place, self.root)?;
        }
        moved
    }

    fn move_all(&self) -> io::Result<()> {
        let (new, old) = (new(self.place), old(self.place));
        disk::create_folder(&old)?;
        let list = self.place.join(MOVING);
        let text: String = self.names.iter().map(|name| format!("{name}\n")).collect();
        disk::write(&list, text.as_bytes())?;
        disk::sync(&list)?;
        // The record first: without it nothing here looks finished.
        for name in self.names.iter().rev() {
            let (from, to) = (self.root.join(name), old.join(name));
            if from.symlink_metadata().is_err() {
                continue;
            }
            make_folders(&old, name)?;
            let is_record = Some(name) == self.names.last();
            // A single file is replaced in one step. Of several, none is better than a mixture.
            let is_kept = self.names.len() == 2 && !is_record && disk::link(&from, &to).is_ok();
            if !is_kept {
                disk::rename(&from, &to)?;
            }
        }
        let (record, outputs) = self.names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        for name in outputs {
            make_folders(self.root, name)?;
            disk::rename(&new.join(name), &self.root.join(name))?;
        }
        disk::sync(self.root)?;
        disk::rename(&new.join(record), &self.root.join(record))?;
        // With its record it is done, whatever becomes of the list.
        let _ = disk::remove(&list);
        Ok(())
    }

    /// Removes what an earlier run has written and this one has not, and is as it was written, so that a
    /// folder never mixes two runs.
    pub(super) fn remove_left_over(&self, written: &[OutputEntry]) {
        let is_left = |entry: &&OutputEntry| written.iter().all(|output| output.file != entry.file);
        for entry in self.earlier.iter().filter(is_left) {
            if is_own(self.root, entry) {
                let _ = disk::remove(&self.root.join(&entry.file));
            }
        }
    }
}

/// Brings back what a commit in `place` was replacing when it ended; nothing where there was none,
/// or it had done all.
pub(super) fn undo(place: &Path, root: &Path) -> io::Result<()> {
    let list = place.join(MOVING);
    let Ok(text) = fs::read_to_string(&list) else { return Ok(()) };
    let (new, old) = (new(place), old(place));
    let names: Vec<_> = text.lines().filter(|name| place_below(root, name).is_some()).collect();
    if names.last().is_some_and(|record| new.join(record).symlink_metadata().is_err()) {
        return disk::remove(&list); // the record is moved last
    }
    for name in names.iter().rev() {
        let (made, kept, at) = (new.join(name), old.join(name), root.join(name));
        if kept.symlink_metadata().is_ok() {
            disk::rename(&kept, &at)?;
        } else if made.symlink_metadata().is_err() && at.symlink_metadata().is_ok() {
            disk::remove(&at)?;
        }
    }
    disk::remove(&list)
}

/// Every file below a folder, by its name from there, `/` between parts; of folders where outputs are made
/// only their names.
fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.peekable();
    if entries.peek().is_none() && !prefix.is_empty() {
        files.push(prefix.to_owned()); // a folder without files is somebody's, too
    }
    for entry in entries {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() && !name.starts_with(PREFIX) {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}

/// Makes the folders that the file `name` in `root` lies in.
pub(super) fn make_folders(root: &Path, name: &str) -> io::Result<()> {
    let mut folder = root.to_owned();
    let parts: Vec<_> = Path::new(name).parent().map_or(Vec::new(), |p| p.components().collect());
    for part in parts {
        folder.push(part);
        if !folder.is_dir() {
            disk::create_folder(&folder)?;
        }
    }
    Ok(())
}

/// The hidden folders that swaps of killed processes may have left beside `root`. The first list
/// holds what is to be removed, the other what is to take the place of `root` where it is missing.
pub(super) fn left_beside(root: &Path) -> [Vec<PathBuf>; 2] {
    let mut left = [Vec::new(), Vec::new()];
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let root = &*real;
    let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else { return left };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let name = format!(".{}{PREFIX}-", name.to_string_lossy());
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        if let Some(what) = file.strip_prefix(&name) {
            left[usize::from(what.starts_with("old-"))].push(entry.path());
        }
    }
    left
}
