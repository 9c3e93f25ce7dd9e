//! Which formats of images there are, how names ask for them and contents tell them: a line each in
//! [`FORMATS`] and [`READERS`], all else in the format's own module.

use std::path::{Path, PathBuf};

use crate::error::{HeaderError, UnwritableError};
use crate::header::{Header, Shape};
use crate::{Datatype, Grid, Scaling, WriteOptions, mif, nifti};

/// What names ask for. Where an image is named without its extension, the first that is there is
/// taken.
static FORMATS: [&Format; 4] = [&nifti::SINGLE, &nifti::PAIR, &mif::SINGLE, &mif::WITH_DATA];

/// Who reads files; the last takes what nobody else knows, and says what is wrong with it.
static READERS: [&Reader; 2] = [&mif::READER, &nifti::READER];

/// One or two files with an image in them.
pub(crate) struct Format {
    /// Extensions of the file with the header, likeliest first.
    pub(crate) extensions: &'static [&'static str],
    /// Extensions of a file with samples alone, which may be named in the header's place.
    pub(crate) of_samples: &'static [&'static str],
    /// How it is written; `None` for what is only read.
    pub(crate) writer: Option<&'static Writer>,
}

type Parse = fn(start: &[u8], is_all: bool) -> Option<Result<Header, HeaderError>>;

/// How the headers of a kind of file are read.
pub(crate) struct Reader {
    /// True of the first bytes of such a file.
    pub(crate) recognises: fn(&[u8]) -> bool,
    /// The header from the first bytes of a file, or from all of them; `None` where it goes on beyond
    /// these.
    pub(crate) parse: Parse,
}

/// How a kind of file is written, and what it cannot hold.
pub(crate) struct Writer {
    /// The bytes before the samples.
    pub(crate) header: fn(&Shape, &WriteOptions) -> Result<Vec<u8>, UnwritableError>,
    /// The dimensions of so many volumes on a grid.
    pub(crate) dims: fn(&Grid, usize, &WriteOptions) -> Vec<usize>,
    /// True where samples may lie in any order of axes; else x is fastest, volumes last.
    pub(crate) any_layout: bool,
    /// The type that samples of a type are kept in.
    pub(crate) kept: fn(Datatype) -> Datatype,
    /// True where samples of a type can keep the factors that turn them into values, with all digits.
    pub(crate) holds_scaling: fn(Datatype, Scaling) -> bool,
}

/// Who reads a file that starts so.
pub(crate) fn reader(start: &[u8]) -> &'static Reader {
    let knows = |reader: &&&Reader| (reader.recognises)(start);
    READERS.iter().find(knows).unwrap_or(&READERS[READERS.len() - 1])
}

/// The format that a name asks for, its stem and its extension.
pub(crate) fn format_of(name: &str) -> Option<(&'static Format, &str, &'static str)> {
    FORMATS.iter().find_map(|format| {
        let extensions = format.extensions.iter().chain(format.of_samples);
        let mut named = extensions.filter_map(|extension| {
            let stem = name.strip_suffix(extension)?.strip_suffix('.')?;
            let is_name = !stem.is_empty() && !stem.ends_with('/');
            is_name.then_some((*format, stem, *extension))
        });
        named.next()
    })
}

/// Every extension of an image file, without its first dot: `nii.gz`, `nii`, ...
pub fn image_extensions() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.extensions.iter().chain(format.of_samples)).copied()
}

/// The name of an image without its extension, and that; `None` of other names.
pub fn split_image_name(name: &str) -> Option<(&str, &'static str)> {
    format_of(name).map(|(_, stem, extension)| (stem, extension))
}

/// The files that an image written to this path consists of, that of the header first: two of a pair,
/// whichever is named, else the one.
pub fn files_of_image(path: &Path) -> Vec<PathBuf> {
    let name = path.to_string_lossy();
    let pair = format_of(&name).filter(|(format, ..)| format.is_pair());
    let Some((format, _, extension)) = pair else { return vec![path.to_owned()] };
    let gzip = extension.ends_with(".gz");
    let stem = if gzip { path.with_extension("") } else { path.to_owned() };
    let alike =
        |all: &'static [&'static str]| all.iter().find(|other| other.ends_with(".gz") == gzip);
    let both = [alike(format.extensions), alike(format.of_samples)];
    both.into_iter().flatten().map(|extension| stem.with_extension(extension)).collect()
}

/// True where a path ends as an image does.
pub fn is_image_name(path: &Path) -> bool {
    split_image_name(&path.to_string_lossy()).is_some()
}

/// True where a path ends as an image does that is one file, header and samples together.
pub fn is_single_file_name(path: &Path) -> bool {
    let name = path.to_string_lossy();
    format_of(&name).is_some_and(|(format, ..)| format.writer.is_some() && !format.is_pair())
}

/// `NAME.EXTENSION` of `NAME.nii.gz`; `None` for a name without an extension.
pub fn beside_image(image: &Path, extension: &str) -> Option<PathBuf> {
    let name = image.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let (stem, _) = name.rsplit_once('.')?;
    Some(image.with_file_name(format!("{stem}.{extension}")))
}

/// The sidecar of BIDS: `NAME.json` of `NAME.nii.gz`.
pub fn sidecar_of(image: &Path) -> Option<PathBuf> {
    beside_image(image, "json")
}

/// The image of this path without its extension, whatever that is; `None` where there is none.
pub fn image_called(stem: &Path) -> Option<PathBuf> {
    let stem = stem.as_os_str();
    let with = |extension: &&str| {
        let mut path = stem.to_owned();
        path.push(".");
        path.push(extension);
        PathBuf::from(path)
    };
    FORMATS.iter().flat_map(|format| format.extensions).map(with).find(|path| path.exists())
}

impl Format {
    /// True of a header and samples in two files.
    pub(crate) fn is_pair(&self) -> bool {
        !self.of_samples.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecar_stands_beside_its_image() {
        let sidecar = |name: &str| sidecar_of(Path::new(name));
        assert_eq!(sidecar("a/fod.nii.gz"), Some("a/fod.json".into()));
        assert_eq!(sidecar("fod.mif"), Some("fod.json".into()));
        assert_eq!(sidecar("fod"), None);
    }

    #[test]
    fn a_name_is_split_before_its_whole_extension() {
        for (name, stem, extension) in [
            ("dwi.nii.gz", "dwi", "nii.gz"),
            ("a/dwi.v2.nii", "a/dwi.v2", "nii"),
            ("dwi.img.gz", "dwi", "img.gz"),
            ("dwi.hdr", "dwi", "hdr"),
            ("dwi.mif.gz", "dwi", "mif.gz"),
            ("dwi.mih", "dwi", "mih"),
        ] {
            assert_eq!(split_image_name(name), Some((stem, extension)));
            assert!(is_image_name(Path::new(name)));
        }
        for other in
            ["dwi", "merged_", "nii", ".nii", "a/.mif.gz", "dwi.gz", "dwi.tck", "dwi.nii.bak"]
        {
            assert_eq!(split_image_name(other), None, "{other}");
        }
    }

    #[test]
    fn a_pair_has_two_files_of_one_kind() {
        let files = |name: &str| files_of_image(Path::new(name));
        assert_eq!(files("a/b.img.gz"), [Path::new("a/b.hdr.gz"), Path::new("a/b.img.gz")]);
        assert_eq!(files("b.hdr"), [Path::new("b.hdr"), Path::new("b.img")]);
        assert_eq!(files("a/b.nii.gz"), [Path::new("a/b.nii.gz")]);
    }

    #[test]
    fn no_extension_belongs_to_two_formats() {
        let all: Vec<_> = image_extensions().collect();
        let one_by_one: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(all.len(), one_by_one.len(), "{all:?}");
    }

    #[test]
    fn halves_of_pairs_are_no_images_of_one_file() {
        for (name, single) in
            [("a.nii", true), ("a.mif.gz", true), ("a.hdr", false), ("a.img.gz", false)]
        {
            assert_eq!(is_single_file_name(Path::new(name)), single, "{name}");
        }
    }

    #[test]
    fn an_image_is_found_by_its_stem_likeliest_first() {
        let folder = tempfile::tempdir().unwrap();
        let stem = folder.path().join("sub-01.run-2");
        assert_eq!(image_called(&stem), None);
        for extension in ["mif.gz", "hdr.gz", "nii", "nii.gz"] {
            let path = folder.path().join(format!("sub-01.run-2.{extension}"));
            std::fs::write(&path, "").unwrap();
            assert_eq!(image_called(&stem), Some(path));
        }
    }
}
