//! Which formats there are and how they are told apart.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fimbria_image::{Datatype, open_regular};

use crate::{Header, TractogramError};

/// A format of tractograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// MRtrix3's: points and remarks only.
    Tck,
    /// TrackVis's, version 2: points, `f32` data per point and per streamline.
    Trk,
    /// TRX as one zip file: points, data of any type, groups.
    Trx,
    /// TRX as a folder.
    TrxFolder,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tck => "TCK",
            Self::Trk => "TRK",
            Self::Trx => "TRX",
            Self::TrxFolder => "TRX folder",
        })
    }
}

impl Format {
    /// The format of something that exists, from its first bytes or, for a folder, its files.
    ///
    /// # Errors
    /// [`TractogramError::Unrecognised`], or where it cannot be opened.
    pub fn of_content(path: &Path) -> Result<Self, TractogramError> {
        if path.is_dir() {
            return match path.join("header.json").is_file() {
                true => Ok(Self::TrxFolder),
                false => Err(TractogramError::Unrecognised(path.to_owned())),
            };
        }
        let file = open_regular(path).map_err(TractogramError::io("open", path))?;
        let mut start = Vec::new();
        file.take(16).read_to_end(&mut start).map_err(TractogramError::io("read", path))?;
        Self::of_start(&start).ok_or_else(|| TractogramError::Unrecognised(path.to_owned()))
    }

    fn of_start(start: &[u8]) -> Option<Self> {
        match start {
            _ if start.starts_with(b"mrtrix tracks") => Some(Self::Tck),
            _ if start.starts_with(b"TRACK") => Some(Self::Trk),
            // A file in an archive, or the end of an empty one.
            _ if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") => {
                Some(Self::Trx)
            }
            _ => None,
        }
    }

    /// The format that a name to be written asks for.
    ///
    /// # Errors
    /// [`TractogramError::Extension`] where it asks for none.
    pub fn of_name(path: &Path) -> Result<Self, TractogramError> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match &*extension {
            "tck" => Ok(Self::Tck),
            "trk" => Ok(Self::Trk),
            "trx" => Ok(Self::Trx),
            _ => Err(TractogramError::Extension(path.to_owned())),
        }
    }

    /// True where coordinates of this type can be stored.
    pub fn holds_positions(self, datatype: Datatype) -> bool {
        match self {
            Self::Tck => matches!(datatype, Datatype::Float32 | Datatype::Float64),
            Self::Trk => datatype == Datatype::Float32,
            Self::Trx | Self::TrxFolder => datatype.is_float(),
        }
    }

    /// What of `header` a file of this format will not hold, in words; none for most.
    pub fn losses(self, header: &Header) -> Vec<String> {
        let mut losses = Vec::new();
        let names = |kinds: &[crate::ColumnKind]| {
            kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        if self == Self::Tck {
            if !header.per_point.is_empty() {
                losses.push(format!("data per point ({})", names(&header.per_point)));
            }
            if !header.per_streamline.is_empty() {
                losses.push(format!("data per streamline ({})", names(&header.per_streamline)));
            }
        } else if !header.keyvals.is_empty() {
            let keys = header.keyvals.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>();
            losses.push(format!("header entries ({})", keys.join(", ")));
        }
        if matches!(self, Self::Tck | Self::Trk) && !header.groups.is_empty() {
            losses.push(format!("{} groups", header.groups.len()));
        }
        if self == Self::Trk {
            let columns = header.per_point.iter().chain(&header.per_streamline);
            let wide = columns.filter(|kind| {
                matches!(
                    kind.datatype,
                    Datatype::Int32
                        | Datatype::UInt32
                        | Datatype::Int64
                        | Datatype::UInt64
                        | Datatype::Float64
                )
            });
            let wide: Vec<_> = wide.map(|kind| kind.name.as_str()).collect();
            if !wide.is_empty() {
                losses.push(format!("digits beyond float32 of {}", wide.join(", ")));
            }
        }
        losses
    }
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
        assert_eq!(Format::of_start(b"mrtrix tracks\n"), Some(Format::Tck));
        assert_eq!(Format::of_start(b"TRACK\0"), Some(Format::Trk));
        assert_eq!(Format::of_start(b"PK\x03\x04"), Some(Format::Trx));
        assert_eq!(Format::of_start(b"mrtrix image\n"), None);
        assert_eq!(Format::of_name(Path::new("a.TRK")).unwrap(), Format::Trk);
        assert!(Format::of_name(Path::new("a.nii.gz")).is_err());
    }
}
