//! The field map that a data set of BIDS has for a series.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::BidsName;
use crate::stages::sidecar::said_of;

/// What a map may be, the best first; with them their second phase and their magnitudes.
const KINDS: [(&str, Option<&str>, [&str; 2]); 3] = [
    ("fieldmap", None, ["magnitude", "magnitude"]),
    ("phasediff", None, ["magnitude1", "magnitude2"]),
    ("phase1", Some("phase2"), ["magnitude1", "magnitude2"]),
];

/// Files of `fmap/` beside the folder of a series whose sidecar names it (`IntendedFor`), or what it is corrected by
/// (`B0FieldIdentifier`): the map or its phases, and their magnitudes. `None` where there are none, or the series has no
/// name of BIDS.
pub(super) fn field_map(dwi: &Path) -> Option<[Vec<PathBuf>; 2]> {
    BidsName::parse(dwi)?;
    let dwi = dwi.canonicalize().ok()?;
    let folder = dwi.parent()?.parent()?.join("fmap");
    let listed = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let mut files: Vec<(BidsName, PathBuf)> = listed
        .filter_map(|path| Some((BidsName::parse(&path)?, path)))
        .filter(|(name, _)| matches!(name.extension.as_str(), ".nii.gz" | ".nii"))
        .collect();
    files.sort();
    // Of several the last, which is mostly the one that was repeated.
    KINDS.iter().find_map(|(suffix, second, magnitudes)| {
        let is_map =
            |(name, path): &&(BidsName, PathBuf)| name.suffix == *suffix && is_for(path, &dwi);
        let (name, path) = files.iter().rfind(is_map)?;
        let of = |suffix: &str| {
            let same = |(other, _): &&(BidsName, PathBuf)| {
                other.suffix == suffix && other.entities == name.entities
            };
            files.iter().find(same).map(|(_, path)| path.clone())
        };
        let mut maps = vec![path.clone()];
        if let Some(second) = second {
            maps.push(of(second)?);
        }
        let mut shown: Vec<PathBuf> = magnitudes.iter().filter_map(|suffix| of(suffix)).collect();
        shown.dedup();
        Some([maps, shown])
    })
}

/// Whether the sidecar of a map says that it is for a series.
fn is_for(map: &Path, dwi: &Path) -> bool {
    // What cannot be read says so where it is needed.
    let said = |path: &Path| said_of(path).ok().flatten().unwrap_or_default();
    let (of_map, of_series) = (said(map), said(dwi));
    let sources = words(&of_series["B0FieldSource"]);
    if !sources.is_empty() {
        return words(&of_map["B0FieldIdentifier"]).iter().any(|id| sources.contains(id));
    }
    // From the folder of the subject on, or with `bids::` from the top of the data set.
    let names_it = |word: &&str| {
        let place = word.rsplit_once("::").map_or(*word, |(_, place)| place);
        dwi.ends_with(place.trim_start_matches('/'))
    };
    words(&of_map["IntendedFor"]).iter().any(names_it)
}

/// One word or several.
fn words(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session with these files in its folders, each with its sidecar; the series is the first run.
    fn names_of(files: &[(&str, &str)], series: &str) -> Option<[Vec<String>; 2]> {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let dwi = "sub-1/ses-2/dwi/sub-1_ses-2_run-1_dwi";
        put(&format!("{dwi}.nii.gz"), "");
        put(&format!("{dwi}.json"), series);
        for (name, text) in files {
            put(&format!("sub-1/ses-2/fmap/sub-1_ses-2_{name}.nii.gz"), "");
            put(&format!("sub-1/ses-2/fmap/sub-1_ses-2_{name}.json"), text);
        }
        let own = field_map(&folder.path().join(format!("{dwi}.nii.gz")))?;
        Some(own.map(|paths| {
            let name = |path: PathBuf| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                name.replace("sub-1_ses-2_", "").replace(".nii.gz", "")
            };
            paths.into_iter().map(name).collect()
        }))
    }

    fn map_and_magnitudes(maps: &[&str], magnitudes: &[&str]) -> Option<[Vec<String>; 2]> {
        Some([maps, magnitudes].map(|names| names.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn a_map_is_for_the_series_that_its_sidecar_names() {
        for place in [
            "ses-2/dwi/sub-1_ses-2_run-1_dwi.nii.gz",
            "bids::sub-1/ses-2/dwi/sub-1_ses-2_run-1_dwi.nii.gz",
        ] {
            let said = format!(r#"{{"IntendedFor": ["other.nii.gz", "{place}"]}}"#);
            let files = [("phasediff", &*said), ("magnitude1", "{}"), ("magnitude2", "{}")];
            let known = map_and_magnitudes(&["phasediff"], &["magnitude1", "magnitude2"]);
            assert_eq!(names_of(&files, "{}"), known);
        }
        let other = r#"{"IntendedFor": "ses-2/dwi/sub-1_ses-2_run-2_dwi.nii.gz"}"#;
        assert_eq!(names_of(&[("phasediff", other)], "{}"), None);
        assert_eq!(names_of(&[("phasediff", "{}")], "{}"), None);
    }

    #[test]
    fn identifiers_come_before_names_and_maps_before_phases() {
        let series = r#"{"B0FieldSource": "b"}"#;
        let [a, b] = [r#"{"B0FieldIdentifier": "a"}"#, r#"{"B0FieldIdentifier": ["c", "b"]}"#];
        let magnitudes = [("run-2_magnitude1", "{}"), ("run-2_magnitude", "{}")];
        let phases = [("run-1_phasediff", a), ("run-2_phase1", b), ("run-2_phase2", b)];
        let all = [&phases[..], &magnitudes].concat();
        let known = map_and_magnitudes(&["run-2_phase1", "run-2_phase2"], &["run-2_magnitude1"]);
        assert_eq!(names_of(&all, series), known);
        let all = [&all[..], &[("run-2_fieldmap", b)]].concat();
        let known = map_and_magnitudes(&["run-2_fieldmap"], &["run-2_magnitude"]);
        assert_eq!(names_of(&all, series), known);
    }
}
