//! The series of a session, and what belongs to each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fimbria_pipeline::BidsName;
use fimbria_pipeline::stages::load::{JoinedSeries, SubjectFiles};

use crate::BidsError;
use crate::files::{Named, list, named};
use crate::tables::{LabelTables, called_of};

/// A series, and the files that belong to it.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of its file.
    pub name: BidsName,
    /// What its results are called by: its own name, or what it shares with those that are joined to it.
    pub called: BidsName,
    /// Its file.
    pub dwi: PathBuf,
    /// Others of its session that are corrected together with it.
    pub joined: Vec<JoinedSeries>,
    /// FSL's tables where they stand above it, for several series; `None` where they stand beside it.
    pub tables: Option<[PathBuf; 2]>,
    /// The voxels of the brain.
    pub mask: Option<PathBuf>,
    /// FSL's image of gradient non-linearity.
    pub grad_dev: Option<PathBuf>,
    /// Labels of regions, by the name that tells them apart.
    pub labels: BTreeMap<String, Labels>,
    /// Tissues that say where streamlines may end: the five of MRtrix3's 5TT, or FreeSurfer's labels.
    pub tissues: Option<PathBuf>,
    /// The T1-weighted image in whose space labels and tissues of `anat` lie, where the series has one of its own.
    pub t1w: Option<PathBuf>,
    /// A gradient-echo scan of the same space: phase of each echo, and magnitude.
    pub echoes: Option<[Vec<PathBuf>; 2]>,
    /// The motion of every volume.
    pub confounds: Option<PathBuf>,
    /// What QSIPrep measured of the series.
    pub image_qc: Option<PathBuf>,
}

/// Labels of regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Their image.
    pub image: PathBuf,
    /// The table that says what they are called.
    pub table: Option<PathBuf>,
}

/// Where a data set has what belongs to a session.
pub(crate) struct SessionFolders<'p> {
    /// The data set.
    pub(crate) root: &'p Path,
    /// The subject.
    pub(crate) subject: PathBuf,
    /// The session, or the subject where it has none.
    pub(crate) at: PathBuf,
    /// What the data set calls labels.
    pub(crate) tables: &'p LabelTables,
}

impl SessionFolders<'_> {
    /// The files of these folders of the session, and of the subject.
    fn files(&self, kinds: &[&str]) -> Result<Vec<Named>, BidsError> {
        let mut files = Vec::new();
        for folder in [&self.at, &self.subject] {
            for kind in kinds {
                files.extend(named(&folder.join(kind))?);
            }
            if self.at == self.subject {
                break;
            }
        }
        Ok(files)
    }
}

impl Series {
    /// The T1-weighted image that has to be laid on the series for this one of its space to lie there too.
    pub(crate) fn moves_with(&self, image: &Path) -> Option<&Path> {
        let is_anatomical = image.parent().is_some_and(|folder| folder.ends_with("anat"));
        self.t1w.as_deref().filter(|_| is_anatomical)
    }

    /// FSL's tables of the series, above it or beside it.
    fn bval_and_bvec(&self) -> [PathBuf; 2] {
        let beside = |extension: &str| {
            let name = BidsName { extension: extension.to_owned(), ..self.name.clone() };
            self.dwi.with_file_name(name.to_string())
        };
        self.tables.clone().unwrap_or_else(|| [".bval", ".bvec"].map(beside))
    }

    /// What of it a run reads, in the way of `input`.
    pub(crate) fn files(&self, input: &SubjectFiles) -> SubjectFiles {
        let mut files = SubjectFiles {
            dwi: self.dwi.clone(),
            mask: self.mask.clone(),
            grad_dev: self.grad_dev.clone(),
            joined: self.joined.clone(),
            ..input.clone()
        };
        if let Some([bval, bvec]) = self.tables.clone() {
            (files.bval, files.bvec) = (Some(bval), Some(bvec));
        }
        files
    }

    /// Every file of which it is made, its own first.
    pub(crate) fn series(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&*self.dwi).chain(self.joined.iter().map(|joined| &*joined.dwi))
    }

    /// Whether its b-values say that no volume is weighted, as of a scan that is acquired beside a series
    /// to measure its distortion. What cannot be read says so when the series is.
    pub(crate) fn is_unweighted(&self, b0_threshold: f64) -> bool {
        let [bval, _] = self.bval_and_bvec();
        let Ok(text) = fimbria_image::read_regular_text(bval) else { return false };
        let mut b = text.split_whitespace().map(str::parse::<f64>).peekable();
        b.peek().is_some() && b.all(|b| b.is_ok_and(|b| b <= b0_threshold))
    }
}

/// A segmentation, and what its data set calls labels.
type Segmentation<'f> = (&'f Named, &'f LabelTables);

/// Entities in which what belongs to a series may differ from it.
const OF_COMPANIONS: [&str; 6] = ["desc", "seg", "atlas", "label", "echo", "part"];

fn is_image(name: &BidsName) -> bool {
    matches!(name.extension.as_str(), ".nii.gz" | ".nii")
}

/// Whether a file is a series: of a complex one its magnitude is, not its phase, real or imaginary part.
fn is_series(name: &BidsName) -> bool {
    name.suffix == "dwi" && is_image(name) && matches!(name.entity("part"), None | Some("mag"))
}

/// The series of a session, which the first of these places has; the others have labels and tissues.
pub(crate) fn series_of(places: &[SessionFolders<'_>]) -> Result<Vec<Series>, BidsError> {
    let Some((own, others)) = places.split_first() else { return Ok(Vec::new()) };
    let in_dwi = named(&own.at.join("dwi"))?;
    let all = in_dwi.iter().filter(|f| is_series(&f.name));
    let (preprocessed, raw): (Vec<_>, Vec<_>) = all
        .filter(|f| matches!(f.name.entity("desc"), None | Some("preproc")))
        .partition(|f| f.name.entity("desc").is_some());
    let chosen = if preprocessed.is_empty() { raw } else { preprocessed };
    // Of one series in several spaces the best.
    let rank = |name: &BidsName| match name.entity("space") {
        Some("ACPC") => 0,
        Some("T1w") => 1,
        None => 2,
        Some(_) => 3,
    };
    let mut best: BTreeMap<String, &Named> = BTreeMap::new();
    for file in chosen {
        let key = file.name.clone().without("space").prefix();
        let chosen = best.entry(key).or_insert(file);
        if rank(&file.name) < rank(&chosen.name) {
            *chosen = file;
        }
    }
    if best.is_empty() {
        return Ok(Vec::new());
    }
    let anatomy = own.files(&["anat", "swi"])?;
    let mut segmentations: Vec<Segmentation<'_>> =
        in_dwi.iter().chain(&anatomy).map(|file| (file, own.tables)).collect();
    let of_others = others.iter().map(|place| Ok((place.files(&["dwi", "anat"])?, place.tables)));
    let of_others: Vec<_> = of_others.collect::<Result<_, BidsError>>()?;
    for (files, tables) in &of_others {
        segmentations.extend(files.iter().map(|file| (file, *tables)));
    }
    best.into_values().map(|file| series(own, file, &in_dwi, &anatomy, &segmentations)).collect()
}

/// By what `desc` series are told that are neither raw nor preprocessed as QSIPrep says.
pub(crate) fn other_descs_of(places: &[SessionFolders<'_>]) -> Result<Vec<String>, BidsError> {
    let Some(own) = places.first() else { return Ok(Vec::new()) };
    let series = named(&own.at.join("dwi"))?.into_iter();
    let series = series.filter(|file| file.name.suffix == "dwi" && is_image(&file.name));
    Ok(series.filter_map(|file| file.name.entity("desc").map(str::to_owned)).collect())
}

fn series(
    own: &SessionFolders<'_>,
    file: &Named,
    in_dwi: &[Named],
    anatomy: &[Named],
    segmentations: &[Segmentation<'_>],
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
    let old_table = |other: &BidsName| other.extension == ".csv";
    Ok(Series {
        name: name.clone(),
        called: name.clone(),
        dwi: file.path.clone(),
        joined: Vec::new(),
        tables: tables_above(own, file)?,
        mask: companion(Some("brain"), "mask", &image),
        grad_dev: companion(None, "graddev", &image),
        labels: labels(name, segmentations),
        tissues: tissues(name, segmentations.iter().map(|(file, _)| *file)),
        t1w: t1w(name, segmentations.iter().map(|(file, _)| *file)),
        echoes: echoes(name, anatomy),
        // Before 1.0 QSIPrep had other names for the two.
        confounds: companion(Some("confounds"), "timeseries", &table)
            .or_else(|| companion(None, "confounds", &table)),
        // QSIPrep calls it `desc-image_qc`, which is an entity and a suffix.
        image_qc: companion(Some("image"), "qc", &table)
            .or_else(|| companion(Some("ImageQC"), "dwi", &old_table)),
    })
}

/// bval and bvec of a series that has none beside it, in the folders above: BIDS lets a table stand
/// for all series below it.
fn tables_above(own: &SessionFolders<'_>, file: &Named) -> Result<Option<[PathBuf; 2]>, BidsError> {
    let beside = |extension: &str| {
        let name = BidsName { extension: extension.to_owned(), ..file.name.clone() };
        file.path.with_file_name(name.to_string()).exists()
    };
    if beside(".bval") && beside(".bvec") {
        return Ok(None);
    }
    let mut found = [None, None];
    let dwi = own.at.join("dwi");
    for folder in [&*dwi, &*own.at, &*own.subject, own.root] {
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

/// Labels in the space of a series, by the entity that tells them apart, of one name the first; masks of
/// tissues are none.
fn labels(series: &BidsName, segmentations: &[Segmentation<'_>]) -> BTreeMap<String, Labels> {
    let fits = |name: &BidsName| {
        name.suffix == "dseg"
            && is_image(name)
            && name.entity("space") == series.entity("space")
            && name.belongs_to(series, &OF_COMPANIONS)
    };
    let mut labels = BTreeMap::new();
    for (file, tables) in segmentations.iter().filter(|(file, _)| fits(&file.name)) {
        if let Some(name) = called_of(&file.name).filter(|name| !is_five(name)) {
            labels.entry(name.to_owned()).or_insert_with(|| Labels {
                image: file.path.clone(),
                table: tables.table_for(file),
            });
        }
    }
    labels
}

/// Whether a segmentation is called as those of five volumes are: by QSIRecon hsvs, with dseg as suffix.
fn is_five(name: &str) -> bool {
    ["5tt", "hsvs"].contains(&name.to_ascii_lowercase().as_str())
}

/// Tissues in the space of a series: five of them, or FreeSurfer's labels. Only where a name says which it
/// is: the numbers of a plain `dseg` are 1 to 3 by an order that differs from program to program.
fn tissues<'f>(series: &BidsName, files: impl Iterator<Item = &'f Named>) -> Option<PathBuf> {
    /// Those with the parcels of the cortex first, which tell no other tissues.
    const FREE_SURFER: [&str; 3] = ["aparcaseg", "aseg", "synthseg"];
    let rank = |file: &Named| {
        let called = called_of(&file.name)?.to_ascii_lowercase();
        match file.name.suffix.as_str() {
            "probseg" | "dseg" if is_five(&called) => Some(0),
            "dseg" => Some(1 + FREE_SURFER.iter().position(|known| *known == called)?),
            _ => None,
        }
    };
    let fits = |file: &&Named| {
        let name = &file.name;
        is_image(name)
            && name.entity("space") == series.entity("space")
            && name.belongs_to(series, &OF_COMPANIONS)
    };
    let ranked = files.filter(fits).filter_map(|file| Some((rank(file)?, file)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, file)| file.path.clone())
}

/// The T1-weighted image of a session, the preprocessed one before others; `None` of a series that lies in its space.
fn t1w<'f>(series: &BidsName, files: impl Iterator<Item = &'f Named>) -> Option<PathBuf> {
    let fits = |file: &&Named| {
        let name = &file.name;
        let is_own = |key: &str| name.entity(key).is_none_or(|own| series.entity(key) == Some(own));
        name.suffix == "T1w"
            && is_image(name)
            && name.entity("space").is_none()
            && matches!(name.entity("desc"), None | Some("preproc"))
            && ["sub", "ses"].into_iter().all(is_own)
    };
    let all = files.filter(|_| series.entity("space").is_none()).filter(fits);
    all.max_by_key(|file| file.name.entity("desc").is_some()).map(|file| file.path.clone())
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
