//! Names of files in BIDS data sets: entities, suffix, extension.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// `sub-01_ses-2_space-ACPC_desc-preproc_dwi.nii.gz` in its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BidsName {
    /// Key and value of each entity, in the order of the name.
    pub entities: Vec<(String, String)>,
    /// What the file is ("dwi").
    pub suffix: String,
    /// All from the first dot on, with it (".nii.gz").
    pub extension: String,
}

impl BidsName {
    /// The parts of a file's name; `None` where it is none of BIDS: where it does not begin with a
    /// subject, has an entity twice, or a part of it is none.
    pub fn parse(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (stem, extension) = match name.find('.') {
            Some(dot) => name.split_at(dot),
            None => (name, ""),
        };
        let (entities, suffix) = stem.rsplit_once('_')?;
        let is_label = |text: &str| !text.is_empty() && text.chars().all(char::is_alphanumeric);
        let entity = |part: &str| {
            let (key, value) = part.split_once('-')?;
            // A value may have signs of its own ("+").
            (is_label(key) && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
        };
        let entities: Vec<_> = entities.split('_').map(entity).collect::<Option<_>>()?;
        let keys: BTreeSet<&String> = entities.iter().map(|(key, _)| key).collect();
        let is_name = keys.len() == entities.len()
            && is_label(suffix)
            && entities.first().is_some_and(|(key, _)| key == "sub");
        let (suffix, extension) = (suffix.to_owned(), extension.to_owned());
        is_name.then_some(Self { entities, suffix, extension })
    }

    /// The value of an entity.
    pub fn entity(&self, key: &str) -> Option<&str> {
        self.entities.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The same without this entity.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.entities.retain(|(known, _)| known != key);
        self
    }

    /// The same with those entities alone that another name has too.
    #[must_use]
    pub fn shared_with(mut self, other: &Self) -> Self {
        self.entities.retain(|(key, value)| other.entity(key) == Some(value));
        self
    }

    /// The entities as a name has them before its suffix, with the underscore after them.
    pub fn prefix(&self) -> String {
        self.entities.iter().map(|(key, value)| format!("{key}-{value}_")).collect()
    }

    /// Whether every entity of this name but those of `aside` is one of `of`, with the same value:
    /// what BIDS asks of a file that belongs to another one.
    pub fn belongs_to(&self, of: &Self, aside: &[&str]) -> bool {
        let mut asked = self.entities.iter().filter(|(key, _)| !aside.contains(&key.as_str()));
        asked.all(|(key, value)| of.entity(key) == Some(value))
    }
}

impl fmt::Display for BidsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.prefix(), self.suffix, self.extension)
    }
}

/// What names of maps of a series begin with, with a trailing underscore: its entities but `desc`,
/// which says how the series was made, not the map. Empty where the series has no name of BIDS.
pub fn bids_entities(dwi: &Path) -> String {
    match BidsName::parse(dwi) {
        Some(name) if name.suffix == "dwi" => name.without("desc").prefix(),
        _ => String::new(),
    }
}

/// The same of several series that are made one: entities on which they differ, such as `run` and `dir`, are left out.
pub fn shared_entities<'a>(mut series: impl Iterator<Item = &'a Path>) -> String {
    let Some(first) = series.next() else { return String::new() };
    let Some(mut name) = BidsName::parse(first) else { return String::new() };
    for other in series {
        let Some(other) = BidsName::parse(other) else { return String::new() };
        name = name.shared_with(&other);
    }
    if name.suffix == "dwi" { name.without("desc").prefix() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Option<BidsName> {
        BidsName::parse(Path::new(name))
    }

    #[test]
    fn series_that_are_made_one_share_what_they_do_not_differ_in() {
        let names = ["sub-1_ses-2_dir-AP_run-1_dwi.nii", "sub-1_ses-2_dir-PA_run-1_dwi.nii.gz"];
        let shared = |names: &[&str]| shared_entities(names.iter().map(Path::new));
        assert_eq!(shared(&names), "sub-1_ses-2_run-1_");
        assert_eq!(shared(&names[..1]), bids_entities(Path::new(names[0])));
        assert_eq!(shared(&[names[0], "dwi.nii"]), "");
    }

    #[test]
    fn a_name_is_its_parts() {
        let name = "sub-01_ses-2_space-ACPC_desc-preproc_dwi.nii.gz";
        let parts = parsed(name).unwrap();
        assert_eq!(parts.to_string(), name);
        assert_eq!((parts.entity("ses"), parts.entity("run")), (Some("2"), None));
        assert_eq!((&*parts.suffix, &*parts.extension), ("dwi", ".nii.gz"));
        assert_eq!(parsed("/d/sub-1_dwi").unwrap().extension, "");
    }

    #[test]
    fn what_is_no_name_of_bids_is_none() {
        for name in [
            "dwi.nii.gz",
            "sub-01.html",
            "ses-1_dwi.nii",
            "sub-01_x_dwi.nii",
            "sub-_dwi.nii",
            "sub-1_sub-2_dwi.nii",
        ] {
            assert_eq!(parsed(name), None, "{name}");
        }
    }

    #[test]
    fn maps_of_a_preprocessed_series_are_not_called_preprocessed() {
        let entities = |name: &str| bids_entities(Path::new(name));
        assert_eq!(
            entities("/d/sub-01_ses-2_space-ACPC_desc-preproc_dwi.nii.gz"),
            "sub-01_ses-2_space-ACPC_"
        );
        assert_eq!(entities("dwi.nii.gz"), "");
    }

    #[test]
    fn a_file_of_fewer_entities_belongs_to_one_of_more() {
        let series = parsed("sub-01_ses-2_run-1_space-ACPC_desc-preproc_dwi.nii.gz").unwrap();
        let belongs = |name: &str| parsed(name).unwrap().belongs_to(&series, &["desc"]);
        assert!(belongs("sub-01_ses-2_run-1_space-ACPC_desc-brain_mask.nii.gz"));
        assert!(belongs("sub-01_ses-2_desc-confounds_timeseries.tsv"));
        assert!(!belongs("sub-01_ses-2_run-2_space-ACPC_desc-brain_mask.nii.gz"));
        assert!(!belongs("sub-01_ses-2_run-1_space-T1w_desc-brain_mask.nii.gz"));
    }
}
