//! Names of labels.

use std::path::{Path, PathBuf};

use fimbria_streamlines::connectome::{self, RegionNames};

/// A name of a label that is none.
#[derive(Debug, thiserror::Error)]
pub enum NamesError {
    /// The table cannot be used.
    #[error(transparent)]
    Table(#[from] connectome::NamesError),
    /// A name that is not there.
    #[error("{} has no label named `{name}`", path.display())]
    Unknown {
        /// The table.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A name without a table.
    #[error("`{0}` is no number of a label: --lut gives the table with names")]
    NoTable(String),
}

/// The names of a table.
#[derive(Clone, Debug)]
pub(in crate::stages) struct LabelNames {
    path: PathBuf,
    names: RegionNames,
}

impl LabelNames {
    pub(in crate::stages) fn read(path: &Path) -> Result<Self, NamesError> {
        Ok(Self { path: path.to_owned(), names: RegionNames::read(path)? })
    }

    /// The labels that a word means: a number, or all with this name.
    pub(in crate::stages) fn labels(
        table: Option<&Self>,
        word: &str,
    ) -> Result<Vec<u32>, NamesError> {
        if let Ok(label) = word.parse() {
            return Ok(vec![label]);
        }
        let table = table.ok_or_else(|| NamesError::NoTable(word.to_owned()))?;
        let labels = table.names.labels_of(word);
        match labels.is_empty() {
            true => Err(NamesError::Unknown { path: table.path.clone(), name: word.to_owned() }),
            false => Ok(labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_freesurfer_mrtrix_and_bids_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lut.txt");
        for (text, name, label) in [
            (
                "#No. Label Name: R G B A\n\n0 Unknown 0 0 0 0\n17  Left-Hippocampus 220 216 20 0\n",
                "Left-Hippocampus",
                17,
            ),
            ("# comment\n 1 L.BSTS ctx-lh-bankssts 25 100 40 255\n", "ctx-lh-bankssts", 1),
            ("index\tname\tcolor\n5\t\"VPL\"\t#ff0000\n", "VPL", 5),
            ("3,Fornix\n", "Fornix", 3),
        ] {
            std::fs::write(&path, text).unwrap();
            let table = LabelNames::read(&path).unwrap();
            assert_eq!(LabelNames::labels(Some(&table), name).unwrap(), [label], "{text}");
            assert!(LabelNames::labels(Some(&table), "Nowhere").is_err());
        }
        assert_eq!(LabelNames::labels(None, "12").unwrap(), [12]);
        let said = LabelNames::labels(None, "Fornix").unwrap_err().to_string();
        assert!(said.contains("--lut"), "{said}");
        std::fs::write(&path, "none\n").unwrap();
        assert!(LabelNames::read(&path).is_err());
    }
}
