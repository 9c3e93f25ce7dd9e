//! A file under a name: `NAME=FILE`.

use std::path::PathBuf;
use std::str::FromStr;

use serde::Serialize;

/// The value of an option that takes files under names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct NamedFile {
    /// Letters, digits, _ and -.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

impl FromStr for NamedFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, file) = text.split_once('=').ok_or("expected NAME=FILE")?;
        let name = name.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err("a name is of letters, digits, _ and -");
        }
        if file.is_empty() {
            return Err("expected NAME=FILE");
        }
        Ok(Self { name: name.to_owned(), file: file.into() })
    }
}

impl From<NamedFile> for String {
    fn from(NamedFile { name, file }: NamedFile) -> Self {
        format!("{name}={}", file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_before_its_file() {
        let named: NamedFile = "FA=maps/a=b.nii".parse().unwrap();
        assert_eq!((named.name.as_str(), named.file.as_path()), ("FA", "maps/a=b.nii".as_ref()));
        assert_eq!(String::from(named), "FA=maps/a=b.nii");
        for wrong in ["FA", "=a.nii", "FA=", "../x=a.nii"] {
            assert!(wrong.parse::<NamedFile>().is_err(), "{wrong}");
        }
    }
}
