//! Names that outputs may have, and how messages call what has not got its own yet.

use std::path::Path;

use fimbria_image::image_extensions;
use fimbria_streamlines::Format;

use super::OutputError;
use crate::unfinished::PREFIX;

/// Extensions of files that commands write beside images and tractograms.
const OF_FILES: &[&str] =
    &["gii", "json", "npy", "csv", "tsv", "txt", "html", "toml", "bval", "bvec"];

/// Longest name of a single file, bytes: the name of its record, and of the hidden folder that it is
/// made in, are longer, and 255 bytes at most.
const LONGEST: usize = 240;

pub(super) const NAME_RULE: &str = "a name is UTF-8 and has 240 bytes at most";

/// Refuses to make a folder that looks like a file; one that is there already is a folder.
///
/// # Errors
/// [`OutputError::NameOfFile`].
pub fn refuse_name_of_file(root: &Path) -> Result<(), OutputError> {
    if root.exists() {
        return Ok(());
    }
    let name = root.display().to_string();
    let lower = name.to_ascii_lowercase();
    let is_of_file = |e: &&str| lower.strip_suffix(*e).is_some_and(|stem| stem.ends_with('.'));
    let tractograms = Format::OF_FILES.iter().map(|(_, extension, _)| *extension);
    let mut all = image_extensions().chain(tractograms).chain(OF_FILES.iter().copied());
    let Some(extension) = all.find(is_of_file) else { return Ok(()) };
    let stem = name[..name.len() - extension.len()].trim_end_matches('.').to_owned();
    let extension = extension.to_owned();
    Err(OutputError::NameOfFile { path: root.to_owned(), stem, extension })
}

/// The name of a single file.
pub(super) fn of_file(path: &Path) -> Result<&str, OutputError> {
    let name = path.file_name().unwrap_or_default().to_str();
    let usable = name.filter(|name| name.len() <= LONGEST);
    usable.ok_or_else(|| OutputError::Name(path.to_owned()))
}

/// A message with the paths of hidden folders as the files in them will be called: a user knows
/// what was asked for, not where it is made.
pub fn final_names(message: &str) -> String {
    let mut said = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(PREFIX) {
        let (before, hidden) = rest.split_at(at);
        let is_part = before.is_empty() || before.ends_with(['/', ' ', '\'', '"', '`']);
        let slash = hidden.find('/');
        let Some(slash) = slash.filter(|_| is_part) else {
            let (prefix, after) = hidden.split_at(PREFIX.len());
            said += before;
            said += prefix;
            rest = after;
            continue;
        };
        said += before;
        let within = &hidden[slash + 1..];
        rest = ["new/", "old/"].iter().find_map(|s| within.strip_prefix(s)).unwrap_or(within);
    }
    said + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_was_asked_for() {
        for (hidden, said) in [
            (
                "cannot write out/.unfinished/new/FA.nii.gz: full",
                "cannot write out/FA.nii.gz: full",
            ),
            ("cannot write ./.unfinished-a.mif/new/a.mif", "cannot write ./a.mif"),
            ("cannot write .unfinished-a.mif/new/a.mif", "cannot write a.mif"),
            ("out/.unfinished/scratch", "out/scratch"),
            ("out/.unfinished is there", "out/.unfinished is there"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(final_names(hidden), said);
        }
    }

    #[test]
    fn folders_are_not_named_like_files() {
        for (name, stem) in [("x.tck", "x"), ("a/maps.nii.gz", "a/maps"), ("X.MIF", "X")] {
            let refused = refuse_name_of_file(Path::new(name));
            let Err(OutputError::NameOfFile { stem: found, .. }) = refused else {
                panic!("{name}")
            };
            assert_eq!(found, stem);
        }
        for name in ["x", "sub-01.bedpostX", "run.2", "a.tck/out", "tck"] {
            assert!(refuse_name_of_file(Path::new(name)).is_ok(), "{name}");
        }
    }
}
