//! Where sessions are worked on. A folder there is ours where we made it: a mark in it says for which
//! derivatives; only what runs left in it is taken away.

use std::fs;
use std::path::{Path, PathBuf};

use fimbria_pipeline::{OutputError, clear_run};

use crate::own::{OWN, own_folder};
use crate::{BidsError, DataSet};

/// The file that says for which derivatives a folder was made.
const MARK: &str = "fimbria-work";

/// The folder in which each session is worked on in a folder of its own.
pub(crate) struct Work<'a> {
    /// As it was asked for; `None` for a folder of the derivatives.
    asked: Option<&'a Path>,
    out: &'a Path,
}

impl<'a> Work<'a> {
    /// In the folder `asked`, or one that is hidden in the derivatives `out`.
    pub(crate) fn new(asked: Option<&'a Path>, out: &'a Path) -> Self {
        Self { asked, out }
    }

    /// Whether sessions may be worked on there.
    ///
    /// # Errors
    /// [`BidsError::WorkFolder`] where the folder that was asked for is, holds or lies in a data set.
    pub(crate) fn check(&self, data_set: &DataSet) -> Result<(), BidsError> {
        let Some(asked) = self.asked else { return Ok(()) };
        let (work, own) = (resolved(asked)?, resolved(&self.out.join(OWN).join("work"))?);
        let others = data_set.others.iter().map(|other| &*other.root);
        for set in [self.out, &data_set.root].into_iter().chain(others) {
            let folder = resolved(set)?;
            if work != own && (work.starts_with(&folder) || folder.starts_with(&work)) {
                let (work, set) = (asked.to_owned(), set.to_owned());
                return Err(BidsError::WorkFolder { work, set });
            }
        }
        Ok(())
    }

    fn root(&self) -> PathBuf {
        self.asked.map_or_else(|| self.out.join(OWN).join("work"), Path::to_owned)
    }

    /// The folder of a session (`sub-01_ses-2`), which may not be there.
    pub(crate) fn session_folder(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Makes the folder of a session, or takes it up where we made it.
    ///
    /// # Errors
    /// [`OutputError::NotOurs`] where somebody else made it, or it is a link.
    pub(crate) fn begin(&self, name: &str) -> Result<(), BidsError> {
        match self.asked {
            None => drop(own_folder(self.out, "work")?),
            Some(asked) => {
                fs::create_dir_all(asked).map_err(BidsError::io("make the folder", asked))?
            }
        }
        let folder = self.session_folder(name);
        if folder.symlink_metadata().is_ok() {
            if !folder.is_symlink() && self.is_ours(&folder) {
                return Ok(());
            }
            if folder.is_symlink() || !self.is_just_begun(&folder)? {
                return Err(OutputError::NotOurs(folder).into());
            }
        }
        fs::create_dir_all(&folder).map_err(BidsError::io("make the folder", &folder))?;
        let mark = folder.join(MARK);
        fs::write(&mark, self.whose()?).map_err(BidsError::io("write", mark))
    }

    /// Takes away what runs of a session left, and its folder where nothing else is in it.
    pub(crate) fn clear(&self, name: &str) {
        let folder = self.session_folder(name);
        let is_ours = !folder.is_symlink() && self.is_ours(&folder);
        if is_ours {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                clear_run(&entry.path());
            }
            let _ = fs::remove_file(folder.join(MARK));
        }
        // An empty one is ours, too, whose mark a kill took before it.
        if fs::remove_dir(&folder).is_err() && is_ours {
            let _ = self.whose().map(|whose| fs::write(folder.join(MARK), whose));
        }
    }

    /// Whether it was made for these derivatives.
    fn is_ours(&self, folder: &Path) -> bool {
        let text = fimbria_image::read_regular_text(folder.join(MARK));
        text.ok().zip(self.whose().ok()).is_some_and(|(text, whose)| text == whose)
    }

    /// Whether nothing is in it but, at most, a mark that a kill cut short.
    fn is_just_begun(&self, folder: &Path) -> Result<bool, BidsError> {
        let whose = self.whose()?;
        let is_cut = |entry: fs::DirEntry| {
            let text = fimbria_image::read_regular_text(entry.path());
            entry.file_name() == MARK && text.is_ok_and(|text| whose.starts_with(&text))
        };
        let entries = fs::read_dir(folder).map_err(BidsError::io("read", folder))?;
        Ok(entries.into_iter().all(|entry| entry.is_ok_and(is_cut)))
    }

    fn whose(&self) -> Result<String, BidsError> {
        Ok(format!("{}\n", resolved(self.out)?.display()))
    }
}

/// The path without links, of what may not be there yet.
fn resolved(path: &Path) -> Result<PathBuf, BidsError> {
    let path = std::path::absolute(path).map_err(BidsError::io("find", path))?;
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(&path);
    let real = there.canonicalize().map_err(BidsError::io("find", there))?;
    let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
    Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OtherSet;

    #[test]
    fn a_work_folder_is_no_data_set_and_neither_holds_one_nor_lies_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["in/sub-01", "in/derivatives/out", "other", "scratch"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let others = vec![OtherSet { name: "other".to_owned(), root: at("other") }];
        let data_set = DataSet { root: at("in"), others, sessions: Vec::new() };
        let out = at("in/derivatives/out");
        let check = |work: &Path| Work::new(Some(work), &out).check(&data_set);
        for work in [
            "in",
            "in/sub-01",
            "in/work",
            "in/derivatives/out",
            "in/derivatives/out/w",
            "",
            "other",
        ] {
            let refused = check(&at(work));
            assert!(matches!(refused, Err(BidsError::WorkFolder { .. })), "{work}");
        }
        for work in ["scratch", "scratch/new", "in/derivatives/out/.fimbria/work"] {
            check(&at(work)).unwrap();
        }
        Work::new(None, &out).check(&data_set).unwrap();
    }

    #[test]
    fn a_folder_whose_mark_a_kill_cut_short_is_taken_up() {
        let folder = tempfile::tempdir().unwrap();
        let [out, scratch] = ["out", "scratch"].map(|name| folder.path().join(name));
        let work = Work::new(Some(&scratch), &out);
        for cut in ["", "/"] {
            fs::create_dir_all(scratch.join("sub-01")).unwrap();
            fs::write(scratch.join("sub-01").join(MARK), cut).unwrap();
            work.begin("sub-01").unwrap();
            assert!(work.is_ours(&scratch.join("sub-01")), "{cut:?}");
        }
        fs::write(scratch.join("sub-01").join(MARK), "/").unwrap();
        fs::write(scratch.join("sub-01/notes"), "mine").unwrap();
        assert!(work.begin("sub-01").is_err());
    }

    #[test]
    fn only_what_was_made_there_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let [out, scratch] = ["out", "scratch"].map(|name| folder.path().join(name));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(scratch.join("sub-01")).unwrap();
        fs::write(scratch.join("sub-01/notes"), "mine").unwrap();
        let work = Work::new(Some(&scratch), &out);
        let refused = work.begin("sub-01").unwrap_err().to_string();
        assert!(refused.contains("sub-01 was not made by fimbria"), "{refused}");
        work.clear("sub-01");
        assert!(scratch.join("sub-01/notes").exists());
        work.begin("sub-02").unwrap();
        work.begin("sub-02").unwrap();
        // Of other derivatives.
        let elsewhere = folder.path().join("elsewhere");
        assert!(Work::new(Some(&scratch), &elsewhere).begin("sub-02").is_err());
        fs::write(scratch.join("sub-02/notes"), "mine").unwrap();
        work.clear("sub-02");
        assert!(scratch.join("sub-02/notes").exists());
        fs::remove_file(scratch.join("sub-02/notes")).unwrap();
        work.clear("sub-02");
        assert!(!scratch.join("sub-02").exists());
    }
}
