//! Which formats there are and how they are told apart: a line each in [`FORMATS`], all else in the
//! format's own module.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fimbria_image::{Datatype, open_regular};

use crate::{
    ColumnKind, Header, ReadStreamlines, TractogramError, WriteStreamlines, tck, trk, trx,
};

/// Every format, in the order in which they are offered.
const FORMATS: [Format; 4] = [trx::ZIP, tck::FORMAT, trk::FORMAT, trx::FOLDER];

/// A format of tractograms.
#[derive(Clone, Copy)]
pub struct Format(pub(crate) &'static Description);

type Opened = Result<Box<dyn ReadStreamlines>, TractogramError>;
type Created = Result<Box<dyn WriteStreamlines>, TractogramError>;

/// What a format is, said once, in its module.
pub(crate) struct Description {
    /// What messages call it.
    pub(crate) name: &'static str,
    /// Extension of its files, in lower case.
    pub(crate) extension: &'static str,
    /// Whose it is and what it holds, for help.
    pub(crate) holds: &'static str,
    /// What it is told by.
    pub(crate) told_by: Mark,
    /// Types that coordinates may have.
    pub(crate) position_types: &'static [Datatype],
    /// True where coordinates are written in the type they have; else as `f32` unless asked otherwise.
    pub(crate) keeps_position_type: bool,
    /// Types of coordinates that hardly any other program reads, and what to say of them.
    pub(crate) seldom_read: &'static [(Datatype, &'static str)],
    /// True where the end of a file tells that nothing was cut off.
    pub(crate) marks_its_end: bool,
    /// True where numbers per streamline can be stored.
    pub(crate) holds_columns: bool,
    /// What of a header it does not hold, in words.
    pub(crate) losses: fn(&Header) -> Vec<String>,
    /// Opens one.
    pub(crate) open: fn(&Path) -> Opened,
    /// Starts one.
    pub(crate) create: fn(&Path, &Header) -> Created,
}

/// What a tractogram is told by.
pub(crate) enum Mark {
    /// What a file starts with, any of these.
    Start(&'static [&'static [u8]]),
    /// A file in a folder.
    FileInFolder(&'static str),
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Format {
    /// What is written unless asked otherwise: all of a tractogram in one file.
    pub const DEFAULT: Self = trx::ZIP;
    /// TRX as a folder, which no name asks for.
    pub const TRX_FOLDER: Self = trx::FOLDER;

    /// The formats of single files, each with its extension and a line of help.
    pub const OF_FILES: &'static [(Self, &'static str, &'static str)] = &{
        const fn choice(format: Format) -> (Format, &'static str, &'static str) {
            (format, format.0.extension, format.0.holds)
        }
        let [a, b, c, _folder] = FORMATS;
        [choice(a), choice(b), choice(c)]
    };

    /// The format of something that exists, from its first bytes or, for a folder, its files.
    ///
    /// # Errors
    /// [`TractogramError::Unrecognised`], or where it cannot be opened.
    pub fn from_content(path: &Path) -> Result<Self, TractogramError> {
        let mut start = Vec::new();
        let is_folder = path.is_dir();
        if !is_folder {
            let file = open_regular(path).map_err(TractogramError::io("open", path))?;
            file.take(16).read_to_end(&mut start).map_err(TractogramError::io("read", path))?;
        }
        let is = |format: &Self| match format.0.told_by {
            Mark::Start(starts) => !is_folder && starts.iter().any(|mark| start.starts_with(mark)),
            Mark::FileInFolder(name) => is_folder && path.join(name).is_file(),
        };
        let unrecognised = || TractogramError::Unrecognised(path.to_owned());
        FORMATS.into_iter().find(is).ok_or_else(unrecognised)
    }

    /// The format that a name to be written asks for.
    ///
    /// # Errors
    /// [`TractogramError::Extension`] where it asks for none.
    pub fn from_name(path: &Path) -> Result<Self, TractogramError> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let asked = FORMATS.into_iter().find(|format| format.0.extension == extension);
        asked.ok_or_else(|| TractogramError::Extension(path.to_owned()))
    }

    /// Extension of its files, without dot.
    pub fn extension(self) -> &'static str {
        self.0.extension
    }

    /// The file that a folder of this format holds at least; `None` of what is one file.
    pub fn file_in_folder(self) -> Option<&'static str> {
        match self.0.told_by {
            Mark::FileInFolder(name) => Some(name),
            Mark::Start(_) => None,
        }
    }

    /// True where coordinates of this type can be stored.
    pub fn holds_positions(self, datatype: Datatype) -> bool {
        self.0.position_types.contains(&datatype)
    }

    /// The type that coordinates are written in where nobody asks for one.
    pub(crate) fn default_position_type(self, had: Datatype) -> Datatype {
        let kept = self.0.keeps_position_type && self.holds_positions(had);
        if kept { had } else { Datatype::Float32 }
    }

    /// True where the end of a file tells that nothing was cut off; else all must be read to know.
    pub fn marks_its_end(self) -> bool {
        self.0.marks_its_end
    }

    /// True where numbers per streamline can be stored.
    pub fn holds_columns(self) -> bool {
        self.0.holds_columns
    }

    /// What to say to who asks for coordinates of a type that few programs read.
    pub fn seldom_read(self, datatype: Datatype) -> Option<&'static str> {
        self.0.seldom_read.iter().find(|(seldom, _)| *seldom == datatype).map(|(_, why)| *why)
    }

    /// What of `header` a file of this format will not hold, in words; none for most.
    pub fn losses(self, header: &Header) -> Vec<String> {
        (self.0.losses)(header)
    }
}

/// What is lost where there is no place for columns of data.
pub(crate) fn lost_columns(header: &Header) -> Vec<String> {
    let of = |what: &str, kinds: &[ColumnKind]| {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("data per {what} ({})", names.join(", ")))
    };
    let lost = [of("point", &header.per_point), of("streamline", &header.per_streamline)];
    lost.into_iter().flatten().collect()
}

/// What is lost where there is no place for groups.
pub(crate) fn lost_groups(header: &Header) -> Option<String> {
    (!header.groups.is_empty()).then(|| format!("{} groups", header.groups.len()))
}

/// What is lost where there is no place for free entries of the header.
pub(crate) fn lost_entries(header: &Header) -> Option<String> {
    let keys: Vec<_> = header.keyvals.iter().map(|(key, _)| key.as_str()).collect();
    (!keys.is_empty()).then(|| format!("header entries ({})", keys.join(", ")))
}

/// Every file that reading the tractogram at `path` touches: those of a TRX folder by name, else the
/// one.
pub fn tractogram_files(path: &Path) -> Vec<PathBuf> {
    fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_file() {
                files.push(path);
            } else if depth > 0 && path.is_dir() {
                collect(&path, depth - 1, files);
            }
        }
    }
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut files = Vec::new();
    // `dpg/GROUP/NAME` is the deepest.
    collect(path, 2, &mut files);
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_content_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tracks");
        for (start, name) in [
            (&b"mrtrix tracks\n"[..], "TCK"),
            (b"TRACK\0", "TRK"),
            (b"PK\x03\x04", "TRX"),
            // An archive of nothing.
            (b"PK\x05\x06", "TRX"),
        ] {
            fs::write(&path, start).unwrap();
            assert_eq!(Format::from_content(&path).unwrap().to_string(), name);
        }
        fs::write(&path, "mrtrix image\n").unwrap();
        assert!(Format::from_content(&path).is_err());
        assert!(Format::from_content(folder.path()).is_err());
        fs::write(folder.path().join("header.json"), "{}").unwrap();
        assert_eq!(Format::from_content(folder.path()).unwrap(), Format::TRX_FOLDER);
        assert_eq!(Format::from_name(Path::new("a.TRK")).unwrap().to_string(), "TRK");
        assert_eq!(Format::from_name(Path::new("a.trx")).unwrap(), Format::DEFAULT);
        assert!(Format::from_name(Path::new("a.nii.gz")).is_err());
    }

    #[test]
    fn every_format_of_files_is_asked_for_by_its_extension() {
        for (format, extension, _) in Format::OF_FILES {
            assert_eq!(Format::from_name(Path::new(&format!("a.{extension}"))).unwrap(), *format);
            assert_eq!(format.file_in_folder(), None);
        }
        assert_eq!(Format::OF_FILES.len() + 1, FORMATS.len());
    }
}
