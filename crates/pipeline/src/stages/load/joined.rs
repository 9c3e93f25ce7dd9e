//! A further series of a subject, which a correction joins to the first.

use std::fmt;
use std::path::PathBuf;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A further series of the same head and its gradient table: in a file of a run its path alone, or a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JoinedSeries {
    /// The series.
    pub dwi: PathBuf,
    /// FSL's b-values; without any table the one in its header or beside it.
    pub bval: Option<PathBuf>,
    /// FSL's directions.
    pub bvec: Option<PathBuf>,
    /// An MRtrix3 gradient table.
    pub grad: Option<PathBuf>,
    /// A table of b-matrices.
    pub bmatrix: Option<PathBuf>,
}

impl From<PathBuf> for JoinedSeries {
    fn from(dwi: PathBuf) -> Self {
        Self { dwi, ..Self::default() }
    }
}

impl JoinedSeries {
    /// Every path of it.
    pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let Self { dwi, bval, bvec, grad, bmatrix } = self;
        std::iter::once(dwi).chain([bval, bvec, grad, bmatrix].into_iter().flatten())
    }
}

/// The same with all its keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    dwi: PathBuf,
    bval: Option<PathBuf>,
    bvec: Option<PathBuf>,
    grad: Option<PathBuf>,
    bmatrix: Option<PathBuf>,
}

struct PathOrTable;

impl<'de> Visitor<'de> for PathOrTable {
    type Value = JoinedSeries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path of a series, or a table with its dwi and its gradient table")
    }

    fn visit_str<E>(self, path: &str) -> Result<JoinedSeries, E> {
        Ok(PathBuf::from(path).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JoinedSeries, A::Error> {
        let Whole { dwi, bval, bvec, grad, bmatrix } =
            Whole::deserialize(MapAccessDeserializer::new(map))?;
        Ok(JoinedSeries { dwi, bval, bvec, grad, bmatrix })
    }
}

impl<'de> Deserialize<'de> for JoinedSeries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PathOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SubjectFiles;

    #[test]
    fn a_further_series_is_a_path_or_has_its_table() {
        let text = "dwi = \"a.nii\"\n\
                    joined = [\"b.nii\", { dwi = \"c.nii\", bval = \"c.txt\", bvec = \"d.txt\" }]\n";
        let files: SubjectFiles = toml::from_str(text).unwrap();
        let paths: Vec<_> =
            files.clone().paths_mut().map(|path| path.display().to_string()).collect();
        assert_eq!(paths, ["a.nii", "b.nii", "c.nii", "c.txt", "d.txt"]);
        let again = toml::to_string(&files).unwrap();
        assert_eq!(toml::from_str::<SubjectFiles>(&again).unwrap(), files);
        for (wrong, word) in [
            ("{ bval = \"x\" }", "dwi"),
            ("{ dwi = \"x\", bvals = \"y\" }", "bvals"),
            ("3", "the path"),
        ] {
            let error = toml::from_str::<SubjectFiles>(&format!("joined = [{wrong}]")).unwrap_err();
            assert!(error.to_string().contains(word), "{wrong}: {error}");
        }
    }
}
