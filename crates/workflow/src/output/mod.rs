//! Outputs appear all at once or not at all.

mod commit;
mod disk;
mod earlier;
mod error;
mod name;
mod owned;
mod staging;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use self::commit::{Commit, left_beside, make_folders};
pub use self::disk::rename;
pub use self::error::OutputError;
pub use self::name::{final_names, refuse_name_of_file};
use self::owned::link_on_the_way;
pub use self::owned::{is_own, place_below};
use self::staging::StagingFolder;
pub use self::staging::is_same;
use crate::checkpoint_file::remove_checkpoints;
use crate::hashing::hash_file;
use crate::unfinished::PREFIX;
use crate::{OutputEntry, RunRecord, Unfinished};

/// A folder being filled, or the place of one file being written.
///
/// Every file is written in a hidden folder ([`stage`](Self::stage)), which one process at a time
/// has to itself, and [`commit`](Self::commit) moves all to their places, the run record last: a
/// folder without `run.json` is unfinished. What an earlier run has left there stays whole until
/// then. Dropped before that, whatever was made here is taken away again, folders included.
#[derive(Debug)]
pub struct OutputFolder {
    root: PathBuf,
    record_name: String,
    overwrite: bool,
    /// Outputs of an earlier run that stay, and are listed with those of this one.
    staying: Vec<OutputEntry>,
    /// Outputs of an earlier run that may be replaced without `overwrite`, since they are ours.
    own: Option<Vec<OutputEntry>>,
    /// Names of the files in the hidden folder, in the order they were begun.
    staged: Vec<String>,
    /// Folders that did not exist before, outermost first.
    made: Vec<PathBuf>,
    place: Option<StagingFolder>,
    unfinished: Unfinished,
}

impl OutputFolder {
    /// Name of the run record in a folder.
    pub const RECORD: &str = "run.json";

    /// Folder in the folder where interrupted work is kept, of each command or stage in a folder of its name,
    /// for `--resume` to go on from: gone when the work is finished.
    const KEPT: &str = ".resume";

    /// Where `task` keeps what it has come to, for `--resume` to go on from.
    pub fn kept(root: &Path, task: &str) -> PathBuf {
        root.join(Self::KEPT).join(task)
    }

    /// A folder that will hold the files `planned`, made with its parents where it is missing.
    ///
    /// # Errors
    /// [`OutputError::Exists`] where one of them or a run record exists and `overwrite` is false;
    /// [`OutputError::Busy`]; otherwise where the folder cannot be made.
    pub fn create(
        root: &Path,
        planned: &[String],
        overwrite: bool,
        unfinished: &Unfinished,
    ) -> Result<Self, OutputError> {
        if root.exists() && !root.is_dir() {
            return Err(OutputError::NotAFolder(root.to_owned()));
        }
        let [_, replaced] = left_beside(root);
        if let Some(earlier) = replaced.first().filter(|_| !root.exists()) {
            // A process was killed between taking this away and putting its own there.
            rename(earlier, root).map_err(OutputError::io("bring back", root))?;
        }
        let hidden = root.join(PREFIX);
        let folder =
            Self::open(root, hidden, Self::RECORD.to_owned(), planned, overwrite, unfinished)?;
        Self::clear_beside(root);
        Ok(folder)
    }

    /// Takes away what a killed process may have left beside the finished folder `root`, for whoever
    /// has the folder above to itself.
    pub fn clear_beside(root: &Path) {
        for left in left_beside(root).into_iter().flatten() {
            let _ = disk::remove_all(&left);
        }
    }

    /// The place of the single file `path`, whose run record is written beside it as
    /// `NAME.run.json`. An image pair plans both its files.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn for_file(
        path: &Path,
        planned: &[String],
        overwrite: bool,
        unfinished: &Unfinished,
    ) -> Result<Self, OutputError> {
        let name = name::of_file(path)?;
        let root = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        is_replaceable(root, name)?;
        let hidden = root.join(format!("{PREFIX}-{name}"));
        let record = format!("{name}.{}", Self::RECORD);
        Self::open(root, hidden, record, planned, overwrite, unfinished)
    }

    fn open(
        root: &Path,
        hidden: PathBuf,
        record_name: String,
        planned: &[String],
        overwrite: bool,
        unfinished: &Unfinished,
    ) -> Result<Self, OutputError> {
        for name in planned.iter().chain([&record_name]) {
            is_replaceable(root, name)?;
        }
        let mut folder = Self {
            root: root.to_owned(),
            record_name,
            overwrite,
            staying: Vec::new(),
            own: None,
            staged: Vec::new(),
            made: Vec::new(),
            place: None,
            unfinished: unfinished.clone(),
        };
        if !hidden.exists() {
            folder.refuse_existing(planned)?;
        }
        folder.make_folder(root)?;
        unfinished.add(&hidden);
        folder.place = Some(StagingFolder::take(hidden.clone(), root).inspect_err(|error| {
            // What another process has there stays.
            if matches!(error, OutputError::Busy(_)) {
                unfinished.forget(&hidden);
            }
        })?);
        // Once more: a killed process may have left some, which are gone now, or come back.
        folder.refuse_existing(planned)?;
        Ok(folder)
    }

    fn refuse_existing(&self, planned: &[String]) -> Result<(), OutputError> {
        if self.overwrite {
            return Ok(());
        }
        let planned = planned.iter().chain([&self.record_name]);
        let names: Vec<_> = planned
            .filter(|name| self.root.join(name).symlink_metadata().is_ok())
            .cloned()
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(OutputError::Exists { folder: self.root.clone(), names })
    }

    /// Makes a folder and its parents where they are missing.
    fn make_folder(&mut self, folder: &Path) -> Result<(), OutputError> {
        let missing = folder.ancestors().take_while(|f| !f.as_os_str().is_empty());
        let mut missing: Vec<_> = missing.take_while(|f| !f.exists()).map(Path::to_owned).collect();
        missing.reverse();
        for folder in missing {
            self.unfinished.add(&folder);
            self.made.push(folder.clone());
            match disk::create_folder(&folder) {
                // Another process was faster; where it is at work is seen below.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(OutputError::io("make the folder", &folder))?,
            }
        }
        Ok(())
    }

    /// Where the files will be.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path in the hidden folder for what is not an output, and goes away with it.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.hidden().join(name)
    }

    fn hidden(&self) -> &Path {
        self.place.as_ref().map_or(&self.root, |place| &place.path)
    }

    /// The path to write the file `name` to until it is committed (`name` may be that of a file in
    /// a subfolder, `truth/FA.nii`). It ends in the file's name, so that a writer that looks at the
    /// extension sees the right one.
    ///
    /// # Errors
    /// [`OutputError::Exists`] as for [`create`](Self::create), for a file that was not planned;
    /// [`OutputError::Interrupted`]; where a subfolder cannot be made.
    pub fn stage(&mut self, name: &str) -> Result<PathBuf, OutputError> {
        self.unfinished.check()?;
        let path = self.root.join(name);
        if !self.overwrite && path.symlink_metadata().is_ok() && !self.is_own(name) {
            let (folder, names) = (self.root.clone(), vec![name.to_owned()]);
            return Err(OutputError::Exists { folder, names });
        }
        is_replaceable(&self.root, name)?;
        let new = staging::new(self.hidden());
        make_folders(&new, name).map_err(OutputError::io("make a folder for", &path))?;
        self.staged.push(name.to_owned());
        Ok(new.join(name))
    }

    /// Stages the file `name` and writes `bytes` to it.
    ///
    /// # Errors
    /// As [`stage`](Self::stage), or where it cannot be written.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let path = self.stage(name)?;
        disk::write(&path, bytes).map_err(OutputError::io("write", &self.root.join(name)))
    }

    /// Stages the file `name`, which `parts` writes: of a long text not all is held.
    ///
    /// # Errors
    /// As [`stage`](Self::stage), or where it cannot be written.
    pub fn write_in_parts(
        &mut self,
        name: &str,
        parts: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let path = self.stage(name)?;
        let written = disk::write_in_parts(&path, parts);
        written.map_err(OutputError::io("write", &self.root.join(name)))
    }

    /// Moves every staged file to its place, the run record last, and returns the record as written:
    /// with the outputs listed with their hashes, and the time of finishing.
    ///
    /// Files that the record of an earlier run in this folder lists, that are as it wrote them, and that
    /// neither were written again nor [stay](Self::keep), are removed, so that a folder never mixes two
    /// runs; what others put there or changed stays.
    ///
    /// # Errors
    /// [`OutputError::Interrupted`], or where a file cannot be flushed or moved; nothing new is
    /// left then, and nothing earlier is gone.
    pub fn commit(mut self, mut record: RunRecord) -> Result<RunRecord, OutputError> {
        for name in &self.staged {
            is_replaceable(&self.root, name)?;
        }
        record.outputs.extend(self.entries()?);
        record.outputs.append(&mut self.staying.clone());
        record.finished = jiff::Timestamp::now();
        let (record_name, text) = (self.record_name.clone(), record.to_json());
        self.write(&record_name, text.as_bytes())?;
        let (hidden, root) = (self.hidden().to_owned(), self.root.clone());
        let new = staging::new(&hidden);
        let failed = |root: &Path| OutputError::io("move outputs into", root);
        disk::sync(&new.join(&record_name)).map_err(failed(&root))?;
        disk::sync(&new).map_err(failed(&root))?;
        let _held = self.unfinished.hold();
        self.unfinished.check()?;

        let mut earlier = self.earlier().unwrap_or_default();
        earlier.retain(|entry| self.staying.iter().all(|staying| staying.file != entry.file));
        let is_folder = record_name == Self::RECORD && self.staged.len() > 1;
        let kept = Self::kept(Path::new(""), &record.task).display().to_string();
        let names = &self.staged;
        let commit = Commit { place: &hidden, root: &root, names, earlier: &earlier, kept: &kept };
        // From here on a second Ctrl-C takes nothing away.
        self.unfinished.forget(&hidden);
        self.made.iter().for_each(|folder| self.unfinished.forget(folder));
        let swapped = if is_folder { commit.swap().map_err(failed(&root))? } else { None };
        if let Some(replaced) = swapped {
            // What has its name now may be of somebody else, who began there since. An open lock would
            // keep the folder alive on NFS.
            self.place = None;
            commit.clear(&replaced);
        } else {
            commit.in_place().map_err(failed(&root))?;
            commit.remove_left_over(&record.outputs);
            if is_folder {
                remove_checkpoints(&root.join(&kept));
                let _ = disk::remove(&root.join(Self::KEPT));
            }
        }
        self.made.clear();
        Ok(record)
    }

    /// Removes the record of an earlier run, whose outputs are about to be replaced one after the
    /// other.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub(crate) fn remove_record(&self) -> Result<(), OutputError> {
        let path = self.root.join(&self.record_name);
        match disk::remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(OutputError::io("replace", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Lists the staged files with sizes and hashes, once the disk holds them.
    fn entries(&self) -> Result<Vec<OutputEntry>, OutputError> {
        let new = staging::new(self.hidden());
        let entry = |name: &String| {
            let path = new.join(name);
            let hashed = disk::sync(&path).and_then(|()| hash_file(&path));
            let failed = OutputError::io("write", &self.root.join(name));
            let (bytes, xxh3_128) = hashed.map_err(failed)?;
            Ok(OutputEntry { file: name.clone(), bytes, xxh3_128 })
        };
        self.staged.iter().map(entry).collect()
    }
}

/// Refuses to put a file where something else than a file is, or through a link.
fn is_replaceable(root: &Path, name: &str) -> Result<(), OutputError> {
    if let Some(link) = link_on_the_way(root, name) {
        return Err(OutputError::Link(link));
    }
    let path = root.join(name);
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(OutputError::NotAFile(path)),
        Ok(there) if !there.is_file() => Err(OutputError::NotRegular(path)),
        _ => Ok(()),
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            // What is to come back does so before its place goes.
            let path = place.path.clone();
            if commit::undo(&path, &self.root).is_ok() {
                place.remove();
            }
            self.unfinished.forget(&path);
        }
        for folder in self.made.iter().rev() {
            // One that somebody else has put something into stays.
            let _ = disk::remove(folder);
            self.unfinished.forget(folder);
        }
    }
}
