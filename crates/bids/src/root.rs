//! What belongs to the derivatives as a whole.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::data_set::INPUT;
use crate::data_set::description_of;
use crate::files::make_folder;
use crate::own::put;
use crate::work::Work;
use crate::{BidsError, DataSet, OtherSet};

/// The root of derivatives of a data set.
pub(crate) struct Root<'a> {
    pub(crate) data_set: &'a DataSet,
    pub(crate) out: &'a Path,
}

/// Names that are text, as URIs and tables are.
fn check_text(path: &Path) -> Result<(), BidsError> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(()),
        _ => Err(BidsError::NotText(path.to_owned())),
    }
}

/// What the BIDS standard has no rule for yet: maps, streamlines and matrices are in proposals to it.
const IGNORED: &str = "\
*_dwimap.*
*_desc-fixed_dwi.*
*_desc-droppedslices_dwi.*
*_desc-confounds_timeseries.*
*_xfm.*
*_space-dwi_T1w.*
*.eddy/
*_tractogram.*
*_relmat.*
*_scalarstats.*
*_streamlineweights.*
*_dwiref.*
*_fieldmap.*
*_field.*
*_qsm.*
*.bedpostX/
*.html
run.json
group_dwi.tsv
group_dwi.json
group_response*.txt
logs/
";

const README: &str = "\
Derivatives of diffusion MRI, written by fimbria.

sub-*/[ses-*/]dwi     maps, fibre orientation densities, peaks, streamlines, matrices
sub-*/[ses-*/]anat    susceptibility, of a gradient-echo scan
sub-*/[ses-*/]run.json  inputs with their hashes, parameters, machine, times, warnings, files written
sub-*.html            a page of each session, and of a subject with several one that leads to them
group_dwi.*           a row, and a point in each plot, of each session (fimbria bids ... group)
group_response*.txt   mean responses of all sessions, for densities that compare
logs/CITATION.*       what was done, in words for a paper
logs/failed/*         why a session failed, until it is made

Directions, tensors and spherical harmonics are in scanner RAS axes, tensors in the order
xx xy xz yy yz zz, harmonics in MRtrix3's basis; each image has a sidecar that says so.
";

impl Root<'_> {
    /// Whether derivatives may be written there, and sessions worked on where it was asked for.
    ///
    /// # Errors
    /// Where the folder is the input, or holds somebody else's data set, or cannot be made; where that to work
    /// in may be none, or a name is no text.
    pub(crate) fn check(&self, work: &Work<'_>) -> Result<(), BidsError> {
        let Self { data_set, out } = self;
        let sets = data_set.others.iter().map(|other| &other.root).chain([&data_set.root]);
        for set in sets {
            check_text(&absolute(set)?)?;
        }
        check_text(&std::path::absolute(out).map_err(BidsError::io("find", *out))?)?;
        work.check(data_set)?;
        let there = description_of(out);
        let by = &there["GeneratedBy"][0]["Name"];
        if !there.is_null() && by != "fimbria" {
            let by = by.as_str().or(there["Name"].as_str()).unwrap_or("another program").to_owned();
            return Err(BidsError::OfOthers { folder: out.to_path_buf(), by });
        }
        make_folder(out)?;
        let others = data_set.others.iter().map(|other| &other.root);
        for root in std::iter::once(&data_set.root).chain(others) {
            if absolute(root)? == absolute(out)? {
                return Err(BidsError::SameFolder(out.to_path_buf()));
            }
        }
        Ok(())
    }

    /// Writes what is not there as it should be; hands back the names of files that are somebody else's.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn write(&self) -> Result<Vec<&'static str>, BidsError> {
        let Self { data_set, out } = self;
        let (input, output) = (absolute(&data_set.root)?, absolute(out)?);
        let mut sets = vec![(INPUT, relative(&output, &input), data_set.description())];
        for OtherSet { name, root } in &data_set.others {
            let way = relative(&output, &absolute(root)?);
            sets.push((name, way, description_of(root)));
        }
        let description = description(&sets);
        let description = format!("{description:#}\n");
        let mut theirs = Vec::new();
        for (name, text) in [
            ("dataset_description.json", &*description),
            (".bidsignore", IGNORED),
            ("README", README),
        ] {
            if !put(out, name, text.as_bytes(), false)? {
                theirs.push(name);
            }
        }
        Ok(theirs)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, BidsError> {
    path.canonicalize().map_err(BidsError::io("find", path))
}

/// Of the data sets that are read, the input first: what each is called, the way to it, and what it says of
/// itself.
fn description(sets: &[(&str, PathBuf, Value)]) -> Value {
    let sources: Vec<Value> = sets
        .iter()
        .map(|(_, way, said)| match &said["DatasetDOI"] {
            Value::String(doi) => json!({ "DOI": doi }),
            _ => json!({ "URL": way }),
        })
        .collect();
    let links: Map<String, Value> =
        sets.iter().map(|(name, way, _)| ((*name).to_owned(), json!(way))).collect();
    let input = sets.first().map_or(&Value::Null, |(_, _, said)| said);
    let name = input["Name"].as_str().map_or(String::new(), |name| format!(" of {name}"));
    json!({
        "Name": format!("fimbria: derivatives of diffusion MRI{name}"),
        "BIDSVersion": "1.10.0",
        "DatasetType": "derivative",
        "License": input.get("License").cloned().unwrap_or(json!("n/a")),
        "GeneratedBy": [{
            "Name": "fimbria",
            "Version": env!("CARGO_PKG_VERSION"),
            "CodeURL": env!("CARGO_PKG_REPOSITORY"),
        }],
        "SourceDatasets": sources,
        "DatasetLinks": links,
    })
}

/// The way from one folder to another, both absolute.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let both = from.components().zip(to.components());
    let common = both.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_one_folder_to_the_other() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/out", "/a/in"), PathBuf::from("../in"));
        assert_eq!(way("/in/derivatives/fimbria", "/in"), PathBuf::from("../.."));
    }

    #[test]
    fn the_data_set_of_others_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (input, out) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::create_dir_all(&input).unwrap();
        let data_set = DataSet { root: input.clone(), others: Vec::new(), sessions: Vec::new() };
        let check = |out: &Path| Root { data_set: &data_set, out }.check(&Work::new(None, out));
        check(&out).unwrap();
        assert!(Root { data_set: &data_set, out: &out }.write().unwrap().is_empty());
        check(&out).unwrap();
        assert!(matches!(check(&input), Err(BidsError::SameFolder(_))));
        std::fs::write(out.join("README"), "mine").unwrap();
        assert_eq!(Root { data_set: &data_set, out: &out }.write().unwrap(), ["README"]);
        assert_eq!(std::fs::read(out.join("README")).unwrap(), b"mine");
        let others = r#"{"Name": "x", "GeneratedBy": [{"Name": "QSIPrep"}]}"#;
        std::fs::write(out.join("dataset_description.json"), others).unwrap();
        assert!(matches!(check(&out), Err(BidsError::OfOthers { by, .. }) if by == "QSIPrep"));
    }
}
