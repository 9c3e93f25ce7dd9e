//! What BIDS sidecars say of a phase, or of a field that was made of one.

use std::io;
use std::path::{Path, PathBuf};

use fimbria_image::sidecar_of;
use serde_json::{Map, Value};

/// A sidecar that is there but says nothing.
#[derive(Debug, thiserror::Error)]
#[error("could not read the sidecar {}", path.display())]
pub struct SidecarError {
    /// The sidecar.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Folders above an image that are looked into for the top of its data set.
const LEVELS: usize = 6;

/// What the sidecars of an image say together, the nearest first asked; `None` where there is none.
///
/// # Errors
/// Where one cannot be read.
pub(super) fn said_of(image: &Path) -> Result<Option<Value>, SidecarError> {
    let mut all = Map::new();
    let paths = sidecars_of(image);
    for path in &paths {
        let read = fimbria_image::read_regular_text(path);
        let said = read.and_then(|text| Ok(serde_json::from_str::<Map<String, Value>>(&text)?));
        let said = said.map_err(|source| SidecarError { path: path.clone(), source })?;
        for (key, value) in said {
            all.entry(key).or_insert(value);
        }
    }
    Ok((!paths.is_empty()).then_some(Value::Object(all)))
}

/// The sidecars of an image, the nearest first: the one of its name; and where that is a name of BIDS,
/// those it inherits from, in its folder and above up to the top of the data set: of the same suffix,
/// with no entity that the image does not have.
pub(super) fn sidecars_of(image: &Path) -> Vec<PathBuf> {
    let Some(own) = sidecar_of(image) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        own.symlink_metadata().is_ok().then(|| own.clone()).into_iter().collect();
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
    let Some(name) = stem(&own).filter(|name| name.starts_with("sub-")) else { return found };
    let (suffix, entities) = parts(&name);
    let is_above = |path: &PathBuf| {
        let has_it = |name: &str| {
            let (other, theirs) = parts(name);
            other == suffix && theirs.iter().all(|entity| entities.contains(entity))
        };
        path.extension().is_some_and(|extension| extension == "json")
            && *path != own
            && stem(path).is_some_and(|name| has_it(&name))
    };
    let folder = own.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Above the folder of the image only where the data set is known to go on.
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_top = |folder: &Path| folder.join("dataset_description.json").is_file();
    let top = absolute.ancestors().take(LEVELS).position(is_top).unwrap_or(0);
    for (level, at) in absolute.ancestors().take(top + 1).enumerate() {
        // The folder of the image as it was named, for messages.
        let at = if level == 0 { folder } else { at };
        let listed = at.read_dir().into_iter().flatten().flatten();
        let mut here: Vec<PathBuf> = listed.map(|entry| entry.path()).filter(is_above).collect();
        here.sort_by_key(|path| {
            let entities = stem(path).map_or(0, |name| parts(&name).1.len());
            (std::cmp::Reverse(entities), path.clone())
        });
        found.extend(here);
    }
    found
}

/// The suffix and the entities of a name of BIDS.
fn parts(stem: &str) -> (&str, Vec<&str>) {
    let mut parts: Vec<&str> = stem.split('_').collect();
    (parts.pop().unwrap_or_default(), parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearer_is_believed_and_what_is_of_others_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("dataset_description.json", "{}");
        put("MEGRE.json", r#"{"MagneticFieldStrength": 3, "EchoTime": 9}"#);
        put("sub-1/anat/sub-1_MEGRE.json", r#"{"EchoTime": 8, "Manufacturer": "GE"}"#);
        put("sub-1/anat/sub-1_echo-2_MEGRE.json", r#"{"EchoTime": 7}"#);
        put("sub-1/anat/sub-1_echo-1_T2starw.json", r#"{"EchoTime": 6}"#);
        put("sub-1/anat/sub-1_echo-1_part-phase_MEGRE.json", r#"{"Units": "rad"}"#);
        let said = |echo: u8| {
            let name = format!("sub-1/anat/sub-1_echo-{echo}_part-phase_MEGRE.nii.gz");
            said_of(&folder.path().join(name)).unwrap().unwrap()
        };
        let first = said(1);
        assert!(first["EchoTime"] == 8 && first["Units"] == "rad", "{first}");
        assert!(first["MagneticFieldStrength"] == 3 && first["Manufacturer"] == "GE", "{first}");
        assert_eq!(said(2)["EchoTime"], 7);
        let plain = folder.path().join("sub-1/anat/phase.nii");
        assert_eq!(said_of(&plain).unwrap(), None);
    }
}
