//! What is in a data set: subjects, sessions, series, and what belongs to a series.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fimbria_pipeline::BidsName;
use serde_json::Value;

use crate::BidsError;
use crate::files::{Named, folders, list, named};
use crate::sidecar::fs_json;

/// A data set, raw or of derivatives.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Its folder.
    pub root: PathBuf,
    /// Every session with a series, by subject and session.
    pub sessions: Vec<Session>,
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
}

/// A series, and the files that belong to it.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of its file.
    pub name: BidsName,
    /// Its file.
    pub dwi: PathBuf,
    /// FSL's tables where they stand above it, for several series; `None` where they stand beside it.
    pub tables: Option<[PathBuf; 2]>,
    /// The voxels of the brain.
    pub mask: Option<PathBuf>,
    /// FSL's image of gradient non-linearity.
    pub grad_dev: Option<PathBuf>,
    /// Labels of regions, by the name that tells them apart.
    pub labels: BTreeMap<String, PathBuf>,
    /// A gradient-echo scan of the same space: phase of each echo, and magnitude.
    pub echoes: Option<[Vec<PathBuf>; 2]>,
    /// The motion of every volume.
    pub confounds: Option<PathBuf>,
    /// What QSIPrep measured of the series.
    pub image_qc: Option<PathBuf>,
}

/// Entities in which what belongs to a series may differ from it.
const OF_COMPANIONS: [&str; 6] = ["desc", "seg", "atlas", "label", "echo", "part"];

impl DataSet {
    /// Looks for all series below `root`; of a series in several spaces that of ACPC is taken, then
    /// T1w, and where there are preprocessed ones no others.
    ///
    /// # Errors
    /// [`BidsError::NoSeries`], or where a folder cannot be listed.
    pub fn open(root: &Path) -> Result<Self, BidsError> {
        fs::read_dir(root).map_err(BidsError::io("open the data set", root))?;
        let mut sessions = Vec::new();
        for subject in folders(root, "sub-")? {
            let folder = root.join(&subject);
            let mut below = vec![None];
            below.extend(folders(&folder, "ses-")?.into_iter().map(Some));
            for session in below {
                let at = session.as_ref().map_or_else(|| folder.clone(), |s| folder.join(s));
                let series = series_of(root, &folder, &at)?;
                if !series.is_empty() {
                    let label = |name: &str| name.split_once('-').map_or("", |l| l.1).to_owned();
                    let session = session.as_deref().map(label);
                    sessions.push(Session { subject: label(&subject), session, series });
                }
            }
        }
        if sessions.is_empty() {
            return Err(BidsError::NoSeries(root.to_owned()));
        }
        Ok(Self { root: root.to_owned(), sessions })
    }

    /// Those of these subjects and sessions, written with or without `sub-` and `ses-`; an empty list
    /// stands for all.
    ///
    /// # Errors
    /// [`BidsError::NotThere`] with those that are not.
    pub fn of_labels(
        mut self,
        subjects: &[String],
        sessions: &[String],
    ) -> Result<Self, BidsError> {
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
    fs_json(&root.join("dataset_description.json"))
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

fn is_image(name: &BidsName) -> bool {
    matches!(name.extension.as_str(), ".nii.gz" | ".nii")
}

/// The series of a session in the folder `at`, of the subject in `subject`.
fn series_of(root: &Path, subject: &Path, at: &Path) -> Result<Vec<Series>, BidsError> {
    let in_dwi = named(&at.join("dwi"))?;
    let all = in_dwi.iter().filter(|f| f.name.suffix == "dwi" && is_image(&f.name));
    let (preprocessed, raw): (Vec<_>, Vec<_>) = all
        .filter(|f| matches!(f.name.entity("desc"), None | Some("preproc")))
        .partition(|f| f.name.entity("desc").is_some());
    let found = if preprocessed.is_empty() { raw } else { preprocessed };
    // Of one series in several spaces the best.
    let rank = |name: &BidsName| match name.entity("space") {
        Some("ACPC") => 0,
        Some("T1w") => 1,
        None => 2,
        Some(_) => 3,
    };
    let mut best: BTreeMap<String, &Named> = BTreeMap::new();
    for file in found {
        let key = file.name.clone().without("space").prefix();
        let chosen = best.entry(key).or_insert(file);
        if rank(&file.name) < rank(&chosen.name) {
            *chosen = file;
        }
    }
    if best.is_empty() {
        return Ok(Vec::new());
    }
    let mut anatomy = Vec::new();
    for folder in [at, subject] {
        for kind in ["anat", "swi"] {
            anatomy.extend(named(&folder.join(kind))?);
        }
        if at == subject {
            break;
        }
    }
    best.into_values().map(|f| series(root, subject, at, f, &in_dwi, &anatomy)).collect()
}

fn series(
    root: &Path,
    subject: &Path,
    at: &Path,
    file: &Named,
    in_dwi: &[Named],
    anatomy: &[Named],
) -> Result<Series, BidsError> {
    let name = &file.name;
    let same_space = |other: &BidsName| other.entity("space") == name.entity("space");
    // Of those that belong to the series, that which says most of it.
    let companion = |desc: Option<&str>, suffix: &str, is_one: &dyn Fn(&BidsName) -> bool| {
        let fits = |other: &&Named| {
            let other = &other.name;
            other.suffix == suffix
                && (desc.is_none() || other.entity("desc") == desc)
                && other.belongs_to(name, &["desc"])
                && is_one(other)
        };
        let of_series = in_dwi.iter().filter(fits).max_by_key(|other| other.name.entities.len());
        of_series.map(|other| other.path.clone())
    };
    let image = |other: &BidsName| is_image(other) && same_space(other);
    let table = |other: &BidsName| other.extension == ".tsv";
    Ok(Series {
        name: name.clone(),
        dwi: file.path.clone(),
        tables: tables_above(root, subject, at, file)?,
        mask: companion(Some("brain"), "mask", &image),
        grad_dev: companion(None, "graddev", &image),
        labels: labels(name, in_dwi.iter().chain(anatomy)),
        echoes: echoes(name, anatomy),
        confounds: companion(Some("confounds"), "timeseries", &table),
        // QSIPrep calls it `desc-image_qc`, which is an entity and a suffix.
        image_qc: companion(Some("image"), "qc", &table),
    })
}

/// bval and bvec of a series that has none beside it, in the folders above: BIDS lets a table stand
/// for all series below it.
fn tables_above(
    root: &Path,
    subject: &Path,
    at: &Path,
    file: &Named,
) -> Result<Option<[PathBuf; 2]>, BidsError> {
    let beside = |extension: &str| {
        let name = BidsName { extension: extension.to_owned(), ..file.name.clone() };
        file.path.with_file_name(name.to_string()).exists()
    };
    if beside(".bval") && beside(".bvec") {
        return Ok(None);
    }
    let mut found = [None, None];
    let dwi = at.join("dwi");
    for folder in [&*dwi, at, subject, root] {
        for name in list(folder)? {
            let kind = [".bval", ".bvec"].iter().position(|e| name.ends_with(e));
            let Some(kind) = kind else { continue };
            let stem = name.trim_end_matches([".bval", ".bvec"][kind]);
            // Above the subject a name begins with no subject.
            let parsed = BidsName::parse(Path::new(&name));
            let fits = match parsed {
                Some(other) => other.suffix == "dwi" && other.belongs_to(&file.name, &[]),
                None => stem == "dwi" || stem.ends_with("_dwi") && is_inherited(stem, &file.name),
            };
            if fits {
                found[kind].get_or_insert_with(|| folder.join(&name));
            }
        }
    }
    let [bval, bvec] = found;
    Ok(bval.zip(bvec).map(|(bval, bvec)| [bval, bvec]))
}

/// Whether the entities of a name without subject are those of the series.
fn is_inherited(stem: &str, series: &BidsName) -> bool {
    let entities = stem.split('_').filter(|part| *part != "dwi");
    let mut entities = entities.map(|part| part.split_once('-'));
    entities.all(|part| part.is_some_and(|(key, value)| series.entity(key) == Some(value)))
}

/// Labels in the space of a series, by the entity that tells them apart; masks of tissues are none.
fn labels<'f>(
    series: &BidsName,
    files: impl Iterator<Item = &'f Named>,
) -> BTreeMap<String, PathBuf> {
    let fits = |file: &&Named| {
        let name = &file.name;
        name.suffix == "dseg"
            && is_image(name)
            && name.entity("space") == series.entity("space")
            && name.belongs_to(series, &OF_COMPANIONS)
    };
    let called = |file: &Named| {
        let told = ["atlas", "seg", "desc"].iter().find_map(|key| file.name.entity(key));
        told.map(|name| (name.to_owned(), file.path.clone()))
    };
    files.filter(fits).filter_map(called).collect()
}

/// Phase and magnitude of the echoes of a scan that lies in the space of a series.
fn echoes(series: &BidsName, anatomy: &[Named]) -> Option<[Vec<PathBuf>; 2]> {
    /// What differs from session to session only.
    const OF_SUBJECT: [&str; 3] = ["sub", "ses", "space"];
    let fits = |file: &&Named| {
        let name = &file.name;
        let of_subject = OF_SUBJECT.iter().all(|key| match name.entity(key) {
            // A scan of the subject without session is that of each.
            None => *key == "ses" || series.entity(key).is_none(),
            value => value == series.entity(key),
        });
        is_image(name) && of_subject
    };
    let part = |file: &Named| file.name.entity("part").unwrap_or("mag").to_owned();
    let scan = |file: &Named| {
        let name = file.name.clone().without("echo").without("part");
        (name.prefix(), name.suffix)
    };
    let number =
        |file: &&Named| file.name.entity("echo").and_then(|e| e.parse().ok()).unwrap_or(0_u32);
    let first = anatomy.iter().filter(fits).find(|file| part(file) == "phase")?;
    let of_part = |wanted: &str| -> Vec<PathBuf> {
        let mut files: Vec<&Named> = anatomy
            .iter()
            .filter(fits)
            .filter(|file| scan(file) == scan(first) && part(file) == wanted)
            .collect();
        files.sort_by_key(number);
        files.into_iter().map(|file| file.path.clone()).collect()
    };
    Some([of_part("phase"), of_part("mag")])
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
        let data_set = DataSet::open(folder.path()).unwrap();
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
        let data_set = DataSet::open(folder.path()).unwrap();
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
        let data_set = DataSet::open(folder.path()).unwrap();
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
        let data_set = DataSet::open(folder.path()).unwrap();
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
        let all = DataSet::open(folder.path()).unwrap();
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let names = |subjects: &[&str], sessions: &[&str]| -> Vec<String> {
            let chosen = all.clone().of_labels(&words(subjects), &words(sessions)).unwrap();
            chosen.sessions.iter().map(Session::name).collect()
        };
        assert_eq!(names(&[], &[]).len(), 3);
        assert_eq!(names(&["sub-01"], &[]), ["sub-01"]);
        assert_eq!(names(&["02"], &["ses-b"]), ["sub-02_ses-b"]);
        let missed = all.clone().of_labels(&words(&["01", "sub-9"]), &[]).unwrap_err().to_string();
        assert!(missed.ends_with("no subject 9"), "{missed}");
        assert!(all.of_labels(&words(&["01"]), &words(&["a"])).is_err());
    }

    #[test]
    fn a_folder_without_series_is_said_to_be() {
        let folder = made(&["sub-01/anat/sub-01_T1w.nii.gz"]);
        assert!(matches!(DataSet::open(folder.path()), Err(BidsError::NoSeries(_))));
        let none = DataSet::open(&folder.path().join("none"));
        assert!(matches!(none, Err(BidsError::Io { .. })));
    }
}
