//! A number of each volume, such as an echo time, from a table, a sidecar or a list.

use std::path::{Path, PathBuf};

use fimbria_image::read_regular_text;
use serde_json::Value;

/// Why a file has no such numbers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PerVolumeError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It has none of this name.
    #[error("{}: no {keys}, with a number for each volume or one for all", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        keys: String,
    },
    /// Something that is no number.
    #[error("{}: '{word}' is no number", path.display())]
    NoNumber {
        /// The file.
        path: PathBuf,
        /// As it stands there.
        word: String,
    },
}

/// What sidecars call the usual names.
const KEYS: &[(&str, &str)] = &[
    ("TE", "EchoTime"),
    ("TI", "InversionTime"),
    ("TR", "RepetitionTime"),
    ("delta", "SmallDelta"),
    ("Delta", "LargeDelta"),
];

/// The numbers called `name` in a file, of `volumes` volumes: the column of that name in a .tsv, the key of that
/// name or the sidecar's own in a .json (one number counts for all volumes), all numbers of another file.
///
/// # Errors
/// [`PerVolumeError`]. How many there are is for the caller to check.
pub(crate) fn read(name: &str, path: &Path, volumes: usize) -> Result<Vec<f64>, PerVolumeError> {
    let text = read_regular_text(path)
        .map_err(|source| PerVolumeError::Unreadable { path: path.to_owned(), source })?;
    let number = |word: &str| {
        let parsed = word.parse().ok().filter(|value: &f64| value.is_finite());
        parsed.ok_or_else(|| PerVolumeError::NoNumber {
            path: path.to_owned(),
            word: word.to_owned(),
        })
    };
    let missing = |keys: String| PerVolumeError::Missing { path: path.to_owned(), keys };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => {
            let usual = KEYS.iter().find(|(usual, _)| *usual == name).map(|(_, key)| *key);
            let said: Value = serde_json::from_str(&text).unwrap_or_default();
            let value = usual.into_iter().chain([name]).find_map(|key| said.get(key));
            let keys =
                || [Some(name), usual].into_iter().flatten().collect::<Vec<_>>().join(" or ");
            match value {
                Some(Value::Number(value)) => Ok(vec![number(&value.to_string())?; volumes]),
                Some(Value::Array(values)) => {
                    values.iter().map(|value| number(&value.to_string())).collect()
                }
                _ => Err(missing(keys())),
            }
        }
        Some("tsv") => {
            let mut lines = text.lines();
            let mut names = lines.next().unwrap_or_default().split('\t');
            let column = names.position(|column| column.trim() == name);
            let column = column.ok_or_else(|| missing(format!("column {name}")))?;
            let rows = lines.filter(|line| !line.trim().is_empty());
            rows.map(|row| number(row.split('\t').nth(column).unwrap_or_default().trim())).collect()
        }
        _ => text.split_whitespace().map(number).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_from_lists_tables_and_sidecars() {
        let folder = tempfile::tempdir().unwrap();
        let of = |file: &str, text: &str| {
            let path = folder.path().join(file);
            std::fs::write(&path, text).unwrap();
            read("TE", &path, 3).map_err(|error| error.to_string())
        };
        assert_eq!(of("te.txt", "80 90\n100\n").unwrap(), [80.0, 90.0, 100.0]);
        assert_eq!(of("a.tsv", "b\tTE\n0\t80\n1\t90\n").unwrap(), [80.0, 90.0]);
        assert_eq!(of("a.json", r#"{"EchoTime": 0.08}"#).unwrap(), [0.08; 3]);
        assert_eq!(of("a.json", r#"{"TE": [1, 2, 3]}"#).unwrap(), [1.0, 2.0, 3.0]);
        for (file, text, said) in [
            ("te.txt", "80 x", "'x' is no number"),
            ("te.txt", "nan", "'nan' is no number"),
            ("a.tsv", "b\n0\n", "no column TE"),
            ("a.tsv", "b\tTE\n0\n", "'' is no number"),
            ("a.json", "{}", "no TE or EchoTime"),
            ("a.json", r#"{"TE": ["1"]}"#, "is no number"),
        ] {
            let error = of(file, text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
