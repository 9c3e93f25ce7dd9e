//! What the header of an image says.

use std::path::{Path, PathBuf};

use crate::header::{DataFile, Header, Intent, Orientation, SpaceCodes};
use crate::{ByteOrder, Datatype, Grid, Scaling};

/// The header of a NIfTI or MRtrix image, checked.
///
/// A [`StoredImage`](crate::StoredImage) has one too; alone it costs a few kilobytes of reading,
/// however large and compressed the file.
pub struct ImageHeader {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
}

impl ImageHeader {
    /// The file it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lattice of every volume.
    pub fn grid(&self) -> &Grid {
        &self.header.grid
    }

    /// Number of volumes: all dimensions after the third multiplied.
    pub fn n_volumes(&self) -> usize {
        self.header.volume_dims.iter().product()
    }

    /// The dimensions after the third, the faster first; empty for a single volume.
    pub fn volume_dims(&self) -> &[usize] {
        &self.header.volume_dims
    }

    /// The type of the samples in the file.
    pub fn datatype(&self) -> Datatype {
        self.header.datatype
    }

    /// The byte order of the samples in the file.
    pub fn byte_order(&self) -> ByteOrder {
        self.header.byte_order
    }

    /// How stored numbers become values.
    pub fn scaling(&self) -> Scaling {
        self.header.scaling
    }

    /// Which part of the header gave `ras_from_vox`.
    pub fn orientation(&self) -> Orientation {
        self.header.orientation
    }

    /// NIfTI's `descrip`, or the first comment of a .mif file.
    pub fn description(&self) -> &str {
        &self.header.notes.description
    }

    /// What the samples mean, where a NIfTI header says so.
    pub fn intent(&self) -> &Intent {
        &self.header.notes.intent
    }

    /// The spaces that a NIfTI header says its affines lead to.
    pub fn space_codes(&self) -> Option<SpaceCodes> {
        self.header.notes.space_codes
    }

    /// The free entries of a .mif header in order, one per line; none for NIfTI.
    pub fn keyvals(&self) -> &[(String, String)] {
        &self.header.notes.keyvals
    }

    /// The file that a .mih names for its samples, relative to its folder.
    pub fn named_data(&self) -> Option<&Path> {
        match &self.header.data_file {
            DataFile::Named(name) => Some(name),
            DataFile::Same | DataFile::Partner => None,
        }
    }

    /// True where a NIfTI file has header extensions. They are stepped over.
    pub fn has_extensions(&self) -> bool {
        self.header.notes.has_extensions
    }

    /// The gradient table of a .mif header, one row `x, y, z, b` per volume: directions in scanner
    /// RAS+ axes, b in s/mm². Rows are as the file has them, neither counted nor normalised.
    pub fn dw_scheme(&self) -> Option<&[Vec<f64>]> {
        self.header.notes.dw_scheme.as_deref()
    }
}
