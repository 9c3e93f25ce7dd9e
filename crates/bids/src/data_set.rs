//! What is in a data set: subjects and sessions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

use crate::BidsError;
use crate::Series;
use crate::files::folders;
use crate::json::read_json;
use crate::series::{SessionFolders, other_descs_of, series_of};
use crate::tables::LabelTables;

/// The name of the input in `DatasetLinks`, and in the URIs of its files.
pub(crate) const INPUT: &str = "input";

/// A data set, raw or of derivatives.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Its folder.
    pub root: PathBuf,
    /// Others of the same subjects, which have labels and tissues too.
    pub others: Vec<OtherSet>,
    /// Every session with a series, by subject and session.
    pub sessions: Vec<Session>,
}

/// Another data set of the same subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSet {
    /// What URIs call it.
    pub name: String,
    /// Its folder.
    pub root: PathBuf,
}

impl FromStr for OtherSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
            !name.is_empty() && name.chars().all(is_sign)
        };
        match text.split_once('=') {
            Some((INPUT, _)) => Err(format!("{INPUT} is the name of the data set itself")),
            Some((name, root)) if is_name(name) && !root.is_empty() => {
                Ok(Self { name: name.to_owned(), root: root.into() })
            }
            _ => Err("give a name of letters and digits, and a folder: qsirecon=FOLDER".to_owned()),
        }
    }
}

/// A session of a subject, or a subject without sessions.
#[derive(Clone, Debug)]
pub struct Session {
    /// The label of the subject, without `sub-`.
    pub subject: String,
    /// That of the session, without `ses-`.
    pub session: Option<String>,
    /// Its series, one for each run, acquisition and so on.
    pub series: Vec<Series>,
    /// Whether the subject has series outside its sessions, too.
    pub is_beside_others: bool,
    /// Why series of one measurement are not corrected together, a sentence each.
    pub apart: Vec<String>,
}

impl DataSet {
    /// Looks for all series below `root`; of a series in several spaces that of ACPC is taken, then
    /// T1w, and where there are preprocessed ones no others. Labels and tissues are looked for in the
    /// others too, after their own.
    ///
    /// # Errors
    /// [`BidsError::NoSeries`], [`BidsError::Twice`], or where a folder cannot be listed.
    pub fn open(root: &Path, others: Vec<OtherSet>) -> Result<Self, BidsError> {
        let mut sets = Vec::new();
        for folder in std::iter::once(root).chain(others.iter().map(|other| &*other.root)) {
            fs::read_dir(folder).map_err(BidsError::io("open the data set", folder))?;
            sets.push((folder, LabelTables::read(folder)?));
        }
        for (i, OtherSet { name, .. }) in others.iter().enumerate() {
            if others[..i].iter().any(|other| other.name == *name) {
                return Err(BidsError::Twice(name.clone()));
            }
        }
        let mut sessions = Vec::new();
        let mut other_descs = BTreeSet::new();
        for subject in folders(root, "sub-")? {
            let folder = root.join(&subject);
            let first = sessions.len();
            let mut below = vec![None];
            below.extend(folders(&folder, "ses-")?.into_iter().map(Some));
            for session in below {
                let places = sets.iter().map(|(root, tables)| SessionFolders {
                    root,
                    subject: root.join(&subject),
                    at: session.iter().fold(root.join(&subject), |at, session| at.join(session)),
                    tables,
                });
                let places: Vec<_> = places.collect();
                let series = series_of(&places)?;
                if series.is_empty() {
                    other_descs.extend(other_descs_of(&places)?);
                } else {
                    let label = |name: &str| name.split_once('-').map_or("", |l| l.1).to_owned();
                    let session = session.as_deref().map(label);
                    let subject = label(&subject);
                    let (is_beside_others, apart) = (false, Vec::new());
                    sessions.push(Session { subject, session, series, is_beside_others, apart });
                }
            }
            let of_subject: &mut [Session] = &mut sessions[first..];
            let is_beside_others = of_subject.iter().any(|one| one.session.is_none());
            of_subject.iter_mut().for_each(|one| one.is_beside_others = is_beside_others);
        }
        if sessions.is_empty() {
            let other_descs = other_descs.into_iter().collect();
            return Err(BidsError::NoSeries { folder: root.to_owned(), other_descs });
        }
        Ok(Self { root: root.to_owned(), others, sessions })
    }

    /// Those of these subjects and sessions, written with or without `sub-` and `ses-`; an empty list
    /// stands for all.
    ///
    /// # Errors
    /// [`BidsError::NotThere`] with those that are not.
    pub fn select(mut self, subjects: &[String], sessions: &[String]) -> Result<Self, BidsError> {
        let plain = |labels: &[String], prefix: &str| -> Vec<String> {
            let plain = |label: &String| label.strip_prefix(prefix).unwrap_or(label).to_owned();
            labels.iter().map(plain).collect()
        };
        let (subjects, sessions) = (plain(subjects, "sub-"), plain(sessions, "ses-"));
        let all = &self.sessions;
        let absent = |asked: &[String], is_there: &dyn Fn(&str) -> bool| -> Vec<String> {
            asked.iter().filter(|label| !is_there(label)).cloned().collect()
        };
        let no_subject = absent(&subjects, &|label| all.iter().any(|s| s.subject == label));
        let is_session = |label: &str| all.iter().any(|s| s.session.as_deref() == Some(label));
        let no_session = absent(&sessions, &is_session);
        for (what, names) in [("subject", no_subject), ("session", no_session)] {
            if !names.is_empty() {
                return Err(BidsError::NotThere { folder: self.root, what, names });
            }
        }
        self.sessions.retain(|s| {
            let named = s.session.as_ref().is_some_and(|label| sessions.contains(label));
            (subjects.is_empty() || subjects.contains(&s.subject)) && (sessions.is_empty() || named)
        });
        if self.sessions.is_empty() {
            let names = sessions;
            return Err(BidsError::NotThere { folder: self.root, what: "session", names });
        }
        Ok(self)
    }

    /// What the data set says of itself; null where it says nothing.
    pub fn description(&self) -> Value {
        description_of(&self.root)
    }
}

/// `dataset_description.json` of a folder; null where there is none.
pub(crate) fn description_of(root: &Path) -> Value {
    read_json(&root.join("dataset_description.json"))
}

impl Session {
    /// `sub-01` or `sub-01_ses-2`.
    pub fn name(&self) -> String {
        self.named('_')
    }

    /// `sub-01` or `sub-01/ses-2`: its folder below a data set.
    pub fn folder(&self) -> String {
        self.named('/')
    }

    fn named(&self, between: char) -> String {
        let session = self.session.as_ref().map(|session| format!("{between}ses-{session}"));
        format!("sub-{}{}", self.subject, session.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data set of empty files.
    fn made(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn file_name(path: Option<&PathBuf>) -> Option<String> {
        Some(path?.file_name()?.to_str()?.to_owned())
    }

    #[test]
    fn what_qsiprep_writes_is_found_with_what_belongs_to_it() {
        let at = "sub-01/ses-1/dwi/sub-01_ses-1";
        let files = [
            "space-ACPC_desc-preproc_dwi.nii.gz",
            "space-ACPC_desc-preproc_dwi.bval",
            "space-ACPC_desc-preproc_dwi.bvec",
            "space-ACPC_desc-brain_mask.nii.gz",
            "space-ACPC_graddev.nii.gz",
            "space-ACPC_dwiref.nii.gz",
            "desc-confounds_timeseries.tsv",
            "space-ACPC_desc-image_qc.tsv",
        ];
        let files: Vec<String> = files.iter().map(|file| format!("{at}_{file}")).collect();
        let mut files: Vec<&str> = files.iter().map(String::as_str).collect();
        files.push("sub-01/anat/sub-01_space-ACPC_seg-4S156_dseg.nii.gz");
        files.push("sub-01/anat/sub-01_space-MNI_seg-4S156_dseg.nii.gz");
        let folder = made(&files);
        let data_set = DataSet::open(folder.path(), Vec::new()).unwrap();
        assert_eq!(data_set.sessions.len(), 1);
        let session = &data_set.sessions[0];
        assert_eq!(
            (session.name(), session.folder()),
            ("sub-01_ses-1".into(), "sub-01/ses-1".into())
        );
        let series = &session.series[0];
        let mask = file_name(series.mask.as_ref()).unwrap();
        assert_eq!(mask, "sub-01_ses-1_space-ACPC_desc-brain_mask.nii.gz");
        assert!(
            series.grad_dev.is_some() && series.confounds.is_some() && series.image_qc.is_some()
        );
        assert_eq!(series.labels.keys().collect::<Vec<_>>(), ["4S156"]);
        assert_eq!(series.tables, None);
    }

    #[test]
    fn runs_have_masks_of_their_own_and_spaces_are_not_mixed() {
        let folder = made(&[
            "sub-1/dwi/sub-1_run-1_space-T1w_desc-preproc_dwi.nii.gz",
            "sub-1/dwi/sub-1_run-1_space-ACPC_desc-preproc_dwi.nii.gz",
            "sub-1/dwi/sub-1_run-2_space-ACPC_desc-preproc_dwi.nii.gz",
            "sub-1/dwi/sub-1_run-1_dwi.nii.gz",
            "sub-1/dwi/sub-1_run-1_space-T1w_desc-brain_mask.nii.gz",
            "sub-1/dwi/sub-1_run-2_space-ACPC_desc-brain_mask.nii.gz",
        ]);
        let data_set = DataSet::open(folder.path(), Vec::new()).unwrap();
        let series = &data_set.sessions[0].series;
        let names: Vec<_> = series.iter().map(|s| s.name.prefix()).collect();
        assert_eq!(
            names,
            ["sub-1_run-1_space-ACPC_desc-preproc_", "sub-1_run-2_space-ACPC_desc-preproc_"]
        );
        assert_eq!(series[0].mask, None, "a mask of another space");
        assert!(series[1].mask.is_some());
    }

    #[test]
    fn tables_above_a_raw_series_stand_for_it() {
        let folder = made(&[
            "dwi.bval",
            "dwi.bvec",
            "acq-b_dwi.bval",
            "sub-1/dwi/sub-1_acq-a_dwi.nii.gz",
            "sub-1/dwi/sub-1_acq-a_sbref.nii.gz",
            "sub-2/dwi/sub-2_dwi.nii",
            "sub-2/dwi/sub-2_dwi.bval",
            "sub-2/dwi/sub-2_dwi.bvec",
        ]);
        let data_set = DataSet::open(folder.path(), Vec::new()).unwrap();
        assert_eq!(data_set.sessions.len(), 2);
        let [bval, bvec] = data_set.sessions[0].series[0].tables.clone().unwrap();
        assert_eq!(bval, folder.path().join("dwi.bval"));
        assert_eq!(bvec, folder.path().join("dwi.bvec"));
        assert_eq!(data_set.sessions[1].series[0].tables, None);
    }

    #[test]
    fn echoes_are_in_order_and_in_the_space_of_the_series() {
        let mut files = vec!["sub-1/dwi/sub-1_dwi.nii.gz".to_owned()];
        for echo in [10, 9, 1] {
            for part in ["phase", "mag"] {
                files.push(format!("sub-1/anat/sub-1_echo-{echo}_part-{part}_MEGRE.nii.gz"));
                files
                    .push(format!("sub-1/anat/sub-1_echo-{echo}_part-{part}_space-X_MEGRE.nii.gz"));
            }
        }
        let folder = made(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let data_set = DataSet::open(folder.path(), Vec::new()).unwrap();
        let [phase, magnitude] = data_set.sessions[0].series[0].echoes.clone().unwrap();
        let names: Vec<_> = phase.iter().map(|p| file_name(Some(p)).unwrap()).collect();
        let expected = ["1", "9", "10"].map(|e| format!("sub-1_echo-{e}_part-phase_MEGRE.nii.gz"));
        assert_eq!(names, expected);
        assert_eq!(magnitude.len(), 3);
    }

    #[test]
    fn labels_are_taken_with_and_without_their_prefix_and_missed_by_name() {
        let folder = made(&[
            "sub-01/dwi/sub-01_dwi.nii.gz",
            "sub-02/ses-a/dwi/sub-02_ses-a_dwi.nii.gz",
            "sub-02/ses-b/dwi/sub-02_ses-b_dwi.nii.gz",
        ]);
        let all = DataSet::open(folder.path(), Vec::new()).unwrap();
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let names = |subjects: &[&str], sessions: &[&str]| -> Vec<String> {
            let chosen = all.clone().select(&words(subjects), &words(sessions)).unwrap();
            chosen.sessions.iter().map(Session::name).collect()
        };
        assert_eq!(names(&[], &[]).len(), 3);
        assert_eq!(names(&["sub-01"], &[]), ["sub-01"]);
        assert_eq!(names(&["02"], &["ses-b"]), ["sub-02_ses-b"]);
        let missed = all.clone().select(&words(&["01", "sub-9"]), &[]).unwrap_err().to_string();
        assert!(missed.ends_with("no subject 9"), "{missed}");
        assert!(all.select(&words(&["01"]), &words(&["a"])).is_err());
    }

    #[test]
    fn a_folder_without_series_is_said_to_be() {
        let folder = made(&["sub-01/anat/sub-01_T1w.nii.gz"]);
        assert!(matches!(
            DataSet::open(folder.path(), Vec::new()),
            Err(BidsError::NoSeries { .. })
        ));
        let none = DataSet::open(&folder.path().join("none"), Vec::new());
        assert!(matches!(none, Err(BidsError::Io { .. })));
    }
}
