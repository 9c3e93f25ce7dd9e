//! What an earlier run has left in a folder: added to, or cleared away.

use std::path::Path;

use super::staging::StagingFolder;
use super::{OutputError, OutputFolder, disk, is_own, place_below};
use crate::checkpoint_file::remove_checkpoints;
use crate::unfinished::PREFIX;
use crate::{OutputEntry, RunRecord, Unfinished};

impl OutputFolder {
    /// A folder of an earlier run in which some outputs are made anew and others are added. Without `overwrite`
    /// only those are replaced that are as the earlier run has written them.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn update(
        root: &Path,
        overwrite: bool,
        unfinished: &Unfinished,
    ) -> Result<Self, OutputError> {
        let mut folder = Self::create(root, &[], true, unfinished)?;
        folder.overwrite = overwrite;
        folder.own = folder.earlier();
        if folder.own.is_none() {
            folder.refuse_existing(&[])?;
        }
        Ok(folder)
    }

    /// Lets these outputs of the earlier run stay, listed with those that are written.
    pub fn keep(&mut self, outputs: impl IntoIterator<Item = OutputEntry>) {
        self.staying.extend(outputs);
    }

    /// Names of the files begun so far.
    pub fn staged(&self) -> &[String] {
        &self.staged
    }

    /// True where the earlier run wrote the file, and it is as it was written.
    pub fn is_own(&self, name: &str) -> bool {
        let Some(own) = &self.own else { return false };
        let listed = own.iter().find(|entry| entry.file == name);
        name == self.record_name || listed.is_some_and(|entry| is_own(&self.root, entry))
    }

    /// What the record of an earlier run lists, if there is one.
    pub(super) fn earlier(&self) -> Option<Vec<OutputEntry>> {
        let record = RunRecord::read(&self.root.join(&self.record_name));
        record.ok().map(|record| record.outputs)
    }

    /// Removes what a run has left in the folder `root`: its outputs, as far as they are as its record says,
    /// the record, and what interrupted work kept; the folder too, where it is empty then.
    pub(crate) fn clear(root: &Path) {
        Self::clear_beside(root);
        if let Ok(place) = StagingFolder::take(root.join(PREFIX), root) {
            place.remove();
        }
        let record = root.join(Self::RECORD);
        if let Ok(RunRecord { outputs, .. }) = RunRecord::read(&record) {
            for output in outputs.iter().filter(|output| is_own(root, output)) {
                let _ = disk::remove(&root.join(&output.file));
            }
            let mut folders: Vec<_> =
                outputs.iter().filter_map(|output| Path::new(&output.file).parent()).collect();
            folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
            for folder in folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
                let _ = place_below(root, &folder.to_string_lossy()).map(std::fs::remove_dir);
            }
            let _ = disk::remove(&record);
        }
        let kept = root.join(Self::KEPT);
        for entry in std::fs::read_dir(&kept).into_iter().flatten().flatten() {
            remove_checkpoints(&entry.path());
        }
        let _ = std::fs::remove_dir(kept);
        let _ = std::fs::remove_dir(root);
    }
}
