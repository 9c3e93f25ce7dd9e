//! Outputs appear all at once or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::unfinished::remove;
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
    /// A file is to be written where a folder is.
    #[error("{} is a folder, and a file is to be written there", .0.display())]
    NotAFile(PathBuf),
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
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
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
/// Every file is written under a temporary name in its own folder ([`stage`](Self::stage)) and
/// all are renamed by [`commit`](Self::commit), the run record last: a folder without `run.json`
/// is unfinished. Dropped before that, whatever was made here is taken away again, folders
/// included.
#[derive(Debug)]
pub struct OutputFolder {
    root: PathBuf,
    record_name: String,
    overwrite: bool,
    staged: Vec<Staged>,
    /// Folders that did not exist before, outermost first.
    made: Vec<PathBuf>,
    unfinished: Unfinished,
}

#[derive(Debug)]
struct Staged {
    name: String,
    temporary: PathBuf,
}

impl OutputFolder {
    /// Name of the run record in a folder.
    pub const RECORD: &str = "run.json";

    /// A folder that will hold the files `planned`, made with its parents where it is missing.
    ///
    /// # Errors
    /// [`OutputError::Exists`] where one of them or a run record exists and `overwrite` is false;
    /// otherwise where the folder cannot be made.
    pub fn create(
        root: &Path,
        planned: &[String],
        overwrite: bool,
        unfinished: &Unfinished,
    ) -> Result<Self, OutputError> {
        if root.exists() && !root.is_dir() {
            return Err(OutputError::NotAFolder(root.to_owned()));
        }
        Self::open(root, Self::RECORD.to_owned(), planned, overwrite, unfinished)
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
        if path.is_dir() {
            return Err(OutputError::NotAFile(path.to_owned()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let root = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Self::open(root, format!("{name}.{}", Self::RECORD), planned, overwrite, unfinished)
    }

    fn open(
        root: &Path,
        record_name: String,
        planned: &[String],
        overwrite: bool,
        unfinished: &Unfinished,
    ) -> Result<Self, OutputError> {
        if !overwrite {
            let planned = planned.iter().chain([&record_name]);
            let names: Vec<_> = planned.filter(|name| root.join(name).exists()).cloned().collect();
            if !names.is_empty() {
                return Err(OutputError::Exists { folder: root.to_owned(), names });
            }
        }
        let mut folder = Self {
            root: root.to_owned(),
            record_name,
            overwrite,
            staged: Vec::new(),
            made: Vec::new(),
            unfinished: unfinished.clone(),
        };
        folder.make_folder(root)?;
        Ok(folder)
    }

    /// Makes a folder and its parents where they are missing.
    fn make_folder(&mut self, folder: &Path) -> Result<(), OutputError> {
        let missing = folder.ancestors().take_while(|f| !f.as_os_str().is_empty());
        let mut missing: Vec<_> = missing.take_while(|f| !f.exists()).map(Path::to_owned).collect();
        missing.reverse();
        for folder in missing {
            self.unfinished.add(&folder);
            fs::create_dir(&folder).map_err(OutputError::io("make the folder", &folder))?;
            self.made.push(folder);
        }
        Ok(())
    }

    /// Where the files will be.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The temporary path to write the file `name` to, in the folder where it will be (`name` may
    /// be that of a file in a subfolder, `truth/FA.nii`). It ends in the file's name, so that a
    /// writer that looks at the extension sees the right one.
    ///
    /// # Errors
    /// [`OutputError::Exists`] as for [`create`](Self::create), for a file that was not planned;
    /// where a subfolder cannot be made.
    pub fn stage(&mut self, name: &str) -> Result<PathBuf, OutputError> {
        let path = self.root.join(name);
        if !self.overwrite && path.exists() {
            let (folder, names) = (self.root.clone(), vec![name.to_owned()]);
            return Err(OutputError::Exists { folder, names });
        }
        if let Some(folder) = path.parent() {
            self.make_folder(folder)?;
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".unfinished-{}-{file}", std::process::id()));
        self.unfinished.add(&temporary);
        self.staged.push(Staged { name: name.to_owned(), temporary: temporary.clone() });
        Ok(temporary)
    }

    /// Stages the file `name` and writes `bytes` to it.
    ///
    /// # Errors
    /// As [`stage`](Self::stage), or where it cannot be written.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let path = self.stage(name)?;
        fs::write(&path, bytes).map_err(OutputError::io("write", &path))
    }

    /// Gives every staged file its name, the run record last, and returns the record as written:
    /// with the outputs listed and the time of finishing.
    ///
    /// Files that the record of an earlier run in this folder lists and that were not written
    /// again are removed, so that a folder never mixes two runs.
    ///
    /// # Errors
    /// Where a file cannot be flushed or renamed; nothing new is left then.
    pub fn commit(mut self, mut record: RunRecord) -> Result<RunRecord, OutputError> {
        record.outputs.extend(self.entries()?);
        record.finished = jiff::Timestamp::now();

        let (record_name, text) = (self.record_name.clone(), record.to_json());
        let record_path = self.root.join(&record_name);
        let earlier = RunRecord::read(&record_path).ok();
        self.write(&record_name, text.as_bytes())?;
        if record_path.exists() {
            fs::remove_file(&record_path).map_err(OutputError::io("replace", &record_path))?;
        }
        for staged in &mut self.staged {
            let path = self.root.join(&staged.name);
            fs::rename(&staged.temporary, &path)
                .map_err(OutputError::io("rename an output to", &path))?;
            self.unfinished.forget(&staged.temporary);
            self.unfinished.add(&path);
            staged.temporary = path;
        }
        if let Some(earlier) = earlier {
            self.remove_left_over(&earlier.outputs, &record.outputs);
        }
        self.forget_all();
        Ok(record)
    }

    /// Lists the staged files with their sizes, once the disk holds them: some file systems
    /// (NFS, quotas) report a full disk only now.
    fn entries(&self) -> Result<Vec<OutputEntry>, OutputError> {
        let entry = |staged: &Staged| {
            let sized = File::open(&staged.temporary).and_then(|file| {
                file.sync_all()?;
                Ok(file.metadata()?.len())
            });
            let bytes = sized.map_err(OutputError::io("write", &staged.temporary))?;
            Ok(OutputEntry { file: staged.name.clone(), bytes })
        };
        self.staged.iter().map(entry).collect()
    }

    fn remove_left_over(&self, earlier: &[OutputEntry], written: &[OutputEntry]) {
        for OutputEntry { file, .. } in earlier {
            let written = written.iter().any(|output| output.file == *file);
            let mut parts = Path::new(file).components();
            let stays_inside = parts.all(|part| matches!(part, Component::Normal(_)));
            let path = self.root.join(file);
            if !written && stays_inside && path.is_file() {
                remove(&path);
            }
        }
    }

    /// From here on nothing is taken away again.
    fn forget_all(&mut self) {
        for staged in self.staged.drain(..) {
            self.unfinished.forget(&staged.temporary);
        }
        for folder in self.made.drain(..) {
            self.unfinished.forget(&folder);
        }
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        let files = self.staged.iter().map(|staged| &staged.temporary);
        for path in files.chain(self.made.iter().rev()) {
            remove(path);
            self.unfinished.forget(path);
        }
    }
}
