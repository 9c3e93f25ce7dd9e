//! What a finished session and its inputs looked like: a task of many need not read terabytes again to
//! learn that all is done.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use fimbria_pipeline::{OutputFolder, RunRecord, Stage};
use xxhash_rust::xxh3::xxh3_128;

use crate::BidsError;
use crate::files::replace;
use crate::made::pages_of;
use crate::own::{OWN, own_folder};

/// What is known of a session without reading its files: sizes and times of all of them, and of the
/// folders of its inputs, which change where a file is added; and every parameter.
pub(crate) struct Seen {
    out: PathBuf,
    name: String,
    looks: String,
}

impl Seen {
    /// Of the session `name` in `folder`, made in this shape by `stages` as this record says, and of what
    /// no stage reads (`own`).
    pub(crate) fn now<'s>(
        out: &Path,
        name: &str,
        folder: &Path,
        shape: &str,
        stages: impl Iterator<Item = &'s dyn Stage>,
        own: impl Iterator<Item = &'s Path>,
        record: &RunRecord,
    ) -> Self {
        let mut all = format!("{} {shape}", env!("CARGO_PKG_VERSION"));
        let mut files = BTreeSet::new();
        for stage in stages {
            let _ = write!(all, "\n{} {}", stage.name(), stage.parameters());
            files.extend(stage.inputs().into_iter().map(|(_, path)| path));
        }
        files.extend(own.map(Path::to_owned));
        files.extend(record.inputs.iter().map(|input| input.path.clone()));
        let folders: Vec<_> = files.iter().filter_map(|f| Some(f.parent()?.to_owned())).collect();
        files.extend(folders);
        files.extend(record.outputs.iter().map(|output| folder.join(&output.file)));
        files.extend(pages_of(record).map(|page| folder.join(page)));
        files.insert(folder.join(OutputFolder::RECORD));
        for file in files {
            let look = fs::metadata(&file).ok().map(|found| {
                let time = found.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
                let size = if found.is_dir() { 0 } else { found.len() };
                format!("{size} {}", time.map_or(0, |time| time.as_nanos()))
            });
            let _ = write!(all, "\n{} {}", file.display(), look.unwrap_or_default());
        }
        let looks = format!("{:032x}", xxh3_128(all.as_bytes()));
        Self { out: out.to_owned(), name: name.to_owned(), looks }
    }

    /// Whether it looked the same when it was last known to be finished.
    pub(crate) fn is_same(&self) -> bool {
        let before = fs::read(self.out.join(OWN).join("seen").join(&self.name));
        before.is_ok_and(|before| before == self.looks.as_bytes())
    }

    /// Notes that it is finished.
    pub(crate) fn note(&self) -> Result<(), BidsError> {
        replace(&own_folder(&self.out, "seen")?.join(&self.name), self.looks.as_bytes())
    }
}
