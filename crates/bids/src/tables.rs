//! Tables that say what labels are called: `dseg.tsv`, beside an image or for all subjects.

use std::path::{Path, PathBuf};

use fimbria_pipeline::BidsName;
use fimbria_streamlines::connectome::{NamesError, RegionNames};

use crate::BidsError;
use crate::files::{Named, folders, list};

const SUFFIX: &str = "_dseg.tsv";

/// The tables that a data set has for all its subjects: at its root, and in `atlases/`.
pub(crate) struct LabelTables(Vec<PathBuf>);

impl LabelTables {
    /// Those of the data set below `root`.
    pub(crate) fn read(root: &Path) -> Result<Self, BidsError> {
        let atlases = root.join("atlases");
        let below = folders(&atlases, "")?.into_iter().map(|name| atlases.join(name));
        let mut tables = Vec::new();
        for folder in std::iter::once(root.to_owned()).chain(below) {
            let names = list(&folder)?.into_iter().filter(|name| name.ends_with(SUFFIX));
            tables.extend(names.map(|name| folder.join(name)));
        }
        Ok(Self(tables))
    }

    /// The table of an image of labels: that of its own name, or one for all subjects.
    pub(crate) fn table_for(&self, image: &Named) -> Option<PathBuf> {
        let name = BidsName { extension: ".tsv".to_owned(), ..image.name.clone() };
        let own = image.path.with_file_name(name.to_string());
        if own.exists() {
            return Some(own);
        }
        let called = called_of(&image.name)?;
        self.0.iter().find(|table| is_of(table, called)).cloned()
    }
}

/// Whether a table is that of labels of this name: QSIRecon calls `atlas` in the name of a table what is
/// `seg` in that of an image.
fn is_of(table: &Path, called: &str) -> bool {
    let name = table.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let entities = name.trim_end_matches(SUFFIX).split('_');
    let mut tells = entities.filter_map(|entity| entity.split_once('-'));
    tells.any(|(key, value)| ["atlas", "seg", "desc"].contains(&key) && value == called)
}

/// Why a table does not say what labels are called, where it is no such table.
pub(crate) fn doubt_of(table: &Path) -> Option<NamesError> {
    RegionNames::read(table).err().filter(|error| !matches!(error, NamesError::Empty(_)))
}

/// What a segmentation is called.
pub(crate) fn called_of(name: &BidsName) -> Option<&str> {
    ["atlas", "seg", "desc"].iter().find_map(|key| name.entity(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_names_no_labels_is_doubted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dseg.tsv");
        for (table, is_doubted) in [("a\tb\n1\tx\n", true), ("name\tindex\n", false)] {
            std::fs::write(&path, table).unwrap();
            let doubt = doubt_of(&path).map(|error| error.to_string());
            assert_eq!(doubt.is_some_and(|doubt| doubt.contains("dseg.tsv")), is_doubted);
        }
    }

    #[test]
    fn a_table_is_that_of_the_labels_it_is_named_by() {
        let is_of = |table: &str| is_of(Path::new(table), "4S156Parcels");
        assert!(is_of("/d/atlases/a/atlas-4S156Parcels_dseg.tsv"));
        assert!(is_of("/d/atlases/a/atlas-4S156Parcels_space-MNI_res-01_dseg.tsv"));
        assert!(is_of("seg-4S156Parcels_dseg.tsv"));
        assert!(!is_of("atlas-4S256Parcels_dseg.tsv"));
    }
}
