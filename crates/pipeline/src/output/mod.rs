//! Outputs appear all at once or not at all.

mod commit;
mod disk;
mod name;
mod staging;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use fimbria_compute::Interrupted;

use self::commit::{Commit, left_beside, make_folders};
use self::name::NAME_RULE;
pub use self::name::{final_names, refuse_name_of_file};
use self::staging::StagingFolder;
pub use self::staging::is_same;
use crate::hashing::hash_file;
use crate::unfinished::PREFIX;
use crate::{OutputEntry, RunRecord, Unfinished};

/// Why outputs could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Files that would be written exist, and overwriting was not asked for.
    #[error("{} already holds {}", folder.display(), some_of(names))]
    Exists {
        /// The folder.
        folder: PathBuf,
        /// Names of the files in the way.
        names: Vec<String>,
    },
    /// A folder is to be made where a file is.
    #[error("{} is a file, and a folder is to be written there", .0.display())]
    NotAFolder(PathBuf),
    /// The folder to be made has the name of a file.
    #[error(
        "{} is the name of a .{extension} file, and a folder is to be made: leave the extension \
         away", path.display()
    )]
    NameOfFile {
        /// The name.
        path: PathBuf,
        /// The name that a folder may have.
        stem: String,
        /// What is too much of it.
        extension: String,
    },
    /// A name that the record beside the file cannot quote, or that leaves it no room.
    #[error("{} cannot be written: {NAME_RULE}", .0.display())]
    Name(PathBuf),
    /// A file is to be written where a folder is.
    #[error("{} is a folder, and a file is to be written there", .0.display())]
    NotAFile(PathBuf),
    /// What is to be replaced is a device, a pipe or a socket.
    #[error("{} is no regular file: only files and folders are replaced", .0.display())]
    NotRegular(PathBuf),
    /// Another process is at work there.
    #[error("another run is writing to {}: wait for it, or write elsewhere with -o", .0.display())]
    Busy(PathBuf),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The system refused.
    #[error("could not {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl OutputError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// At most six names, then a count.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

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

    /// Folder in the folder where interrupted work is kept, for `--resume` to go on from: gone when
    /// the work is finished.
    pub const KEPT: &str = ".resume";

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
            disk::rename(earlier, root).map_err(OutputError::io("bring back", root))?;
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
        is_replaceable(path)?;
        let name = name::of_file(path)?;
        let root = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
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
            is_replaceable(&root.join(name))?;
        }
        let mut folder = Self {
            root: root.to_owned(),
            record_name,
            overwrite,
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
        let names: Vec<_> = planned.filter(|name| self.root.join(name).exists()).cloned().collect();
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
        if !self.overwrite && path.exists() {
            let (folder, names) = (self.root.clone(), vec![name.to_owned()]);
            return Err(OutputError::Exists { folder, names });
        }
        is_replaceable(&path)?;
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
    /// Files that the record of an earlier run in this folder lists and that were not written
    /// again are removed, so that a folder never mixes two runs; what others put there stays.
    ///
    /// # Errors
    /// [`OutputError::Interrupted`], or where a file cannot be flushed or moved; nothing new is
    /// left then, and nothing earlier is gone.
    pub fn commit(mut self, mut record: RunRecord) -> Result<RunRecord, OutputError> {
        for name in &self.staged {
            is_replaceable(&self.root.join(name))?;
        }
        record.outputs.extend(self.entries()?);
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

        let earlier = RunRecord::read(&root.join(&record_name)).map(|record| record.outputs);
        let earlier = earlier.unwrap_or_default();
        let names = &self.staged;
        let commit = Commit { place: &hidden, root: &root, names, earlier: &earlier };
        // From here on a second Ctrl-C takes nothing away.
        self.unfinished.forget(&hidden);
        self.made.iter().for_each(|folder| self.unfinished.forget(folder));
        let is_folder = record_name == Self::RECORD && names.len() > 1;
        if is_folder && commit.swap().map_err(failed(&root))? {
            // What has its name now may be of somebody else, who began there since.
            self.place = None;
        } else {
            commit.in_place().map_err(failed(&root))?;
            commit.remove_left_over(&record.outputs);
            if is_folder && root.join(Self::KEPT).is_dir() {
                let _ = disk::remove_all(&root.join(Self::KEPT));
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

/// Refuses to put a file where something else than a file is.
fn is_replaceable(path: &Path) -> Result<(), OutputError> {
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(OutputError::NotAFile(path.to_owned())),
        Ok(there) if !there.is_file() => Err(OutputError::NotRegular(path.to_owned())),
        _ => Ok(()),
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            // What is to come back does so before its place goes.
            if commit::undo(&place.path, &self.root).is_ok() {
                let _ = disk::remove_all(&place.path);
            }
            self.unfinished.forget(&place.path);
        }
        for folder in self.made.iter().rev() {
            // One that somebody else has put something into stays.
            let _ = disk::remove(folder);
            self.unfinished.forget(folder);
        }
    }
}
