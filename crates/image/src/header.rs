//! What the headers of all formats say, in one form.

use std::path::PathBuf;

use crate::error::HeaderError;
use crate::layout::Layout;
use crate::{Affine, ByteOrder, Datatype, Grid, Scaling};

/// Where an image's position in the scanner came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// NIfTI's sform.
    Sform,
    /// NIfTI's qform.
    Qform,
    /// The transform of a .mif file.
    Transform,
    /// Nothing: the file does not say. The centre of the image is then put at the origin, axes
    /// along the scanner's; of a NIfTI file x runs from right to left, as nibabel and FSL take it.
    Absent,
}

/// What the samples mean, in NIfTI's terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// NIfTI's code: 0 none, 1005 symmetric matrix, 1007 vector, 2003 RGB vector ...
    pub code: i32,
    /// Parameters of that code.
    pub parameters: [f64; 3],
    /// A name of up to 15 bytes.
    pub name: String,
}

/// What a header tells beyond geometry and storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notes {
    pub(crate) description: String,
    pub(crate) intent: Intent,
    pub(crate) keyvals: Vec<(String, String)>,
    pub(crate) dw_scheme: Option<Vec<Vec<f64>>>,
    pub(crate) space_codes: Option<SpaceCodes>,
    /// All dimensions as the header lists them, ones at the end included.
    pub(crate) listed_dims: Vec<usize>,
    /// What a step along each dimension after the third is: of the first of them seconds, where
    /// the header has a unit. NaN or missing where it does not say.
    pub(crate) volume_steps: Vec<f64>,
    /// True where a NIfTI file has header extensions, which are not read.
    pub(crate) has_extensions: bool,
}

/// What the header of a file to be written says of its samples.
pub(crate) struct Shape {
    pub(crate) grid: Grid,
    /// All dimensions; the first three are those of the grid, as far as there are so many.
    pub(crate) dims: Vec<usize>,
    /// As [`Notes::volume_steps`].
    pub(crate) volume_steps: Vec<f64>,
    pub(crate) scaling: Scaling,
}

/// What spaces NIfTI's qform and sform lead to: 0 not given, 1 scanner, 2 aligned, 3 Talairach,
/// 4 MNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceCodes {
    /// Of the qform.
    pub qform: i32,
    /// Of the sform.
    pub sform: i32,
}

/// The file that holds the samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DataFile {
    /// The one that holds the header.
    Same,
    /// The .img beside the .hdr.
    Partner,
    /// The one named in the header, relative to its folder.
    Named(PathBuf),
}

/// A header of any format, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) grid: Grid,
    pub(crate) volume_dims: Vec<usize>,
    pub(crate) layout: Layout,
    pub(crate) datatype: Datatype,
    pub(crate) byte_order: ByteOrder,
    pub(crate) scaling: Scaling,
    pub(crate) orientation: Orientation,
    pub(crate) data_file: DataFile,
    pub(crate) data_offset: u64,
    pub(crate) data_bytes: u64,
    pub(crate) notes: Notes,
}

impl Header {
    /// Keeps the first `n` volumes only; false (and nothing changed) where they are not what the
    /// data begin with.
    pub(crate) fn first_volumes(&mut self, n: usize) -> bool {
        let [x, y, z, volumes] = &mut self.layout.axes[..] else { return false };
        let of_volume = x.len * y.len * z.len;
        if volumes.stride != of_volume as isize || n > volumes.len {
            return false;
        }
        self.data_bytes = self.data_bytes / volumes.len as u64 * n as u64;
        volumes.len = n;
        self.volume_dims = vec![n];
        true
    }
}

/// The dimensions of a header, checked: three spatial ones and up to two of volumes, each at least
/// 1, few enough voxels to index and few enough samples to address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dims {
    pub(crate) space: [usize; 3],
    pub(crate) volumes: Vec<usize>,
}

impl Dims {
    /// Checks dimensions as a header gives them; missing ones are 1, and ones of 1 beyond the
    /// fifth are dropped.
    pub(crate) fn new(given: &[i64]) -> Result<Self, HeaderError> {
        let impossible = || HeaderError::Dimensions { dims: given.to_vec() };
        if given.is_empty() || given.iter().any(|d| *d < 1) {
            return Err(impossible());
        }
        let mut dims = given
            .iter()
            .map(|d| usize::try_from(*d).map_err(|_| impossible()))
            .collect::<Result<Vec<_>, _>>()?;
        while dims.len() > 3 && dims.last() == Some(&1) {
            dims.pop();
        }
        if dims.len() > 5 {
            return Err(HeaderError::TooManyDimensions { dims });
        }
        dims.resize(dims.len().max(3), 1);
        let product = |d: &[usize]| d.iter().try_fold(1usize, |a, b| a.checked_mul(*b));
        let addressable = product(&dims).is_some_and(|n| isize::try_from(n).is_ok());
        let indexable = product(&dims[..3]).is_some_and(|n| u32::try_from(n).is_ok());
        if !addressable || !indexable {
            return Err(HeaderError::TooLarge { dims });
        }
        Ok(Self { space: [dims[0], dims[1], dims[2]], volumes: dims.split_off(3) })
    }

    /// Spatial dimensions, then those of volumes.
    pub(crate) fn all(&self) -> Vec<usize> {
        [&self.space[..], &self.volumes].concat()
    }
}

/// The affine of a file that says nothing of its orientation: the centre of the image at the
/// origin, axes along the scanner's, `signed_spacing_mm` apart.
pub(crate) fn centred(dims: [usize; 3], signed_spacing_mm: [f64; 3]) -> Affine {
    let mut affine = Affine::from_spacing(signed_spacing_mm);
    for axis in 0..3 {
        affine.0[axis][3] = -0.5 * (dims[axis] as f64 - 1.0) * signed_spacing_mm[axis];
    }
    affine
}

/// True for an affine that maps a grid into the scanner: finite and invertible.
pub(crate) fn is_usable(affine: &Affine) -> bool {
    affine.0.iter().flatten().all(|v| v.is_finite())
        && affine.inverse().is_some_and(|i| i.0.iter().flatten().all(|v| v.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_dimensions_are_one_and_trailing_ones_are_dropped() {
        assert_eq!(Dims::new(&[7, 3]).unwrap().all(), [7, 3, 1]);
        assert_eq!(Dims::new(&[7, 3, 2, 1, 6, 1, 1]).unwrap().all(), [7, 3, 2, 1, 6]);
        assert_eq!(Dims::new(&[7, 3, 2, 1, 1]).unwrap().all(), [7, 3, 2]);
    }

    #[test]
    fn dimensions_no_memory_can_hold_are_refused() {
        assert!(matches!(Dims::new(&[4, 0, 2]), Err(HeaderError::Dimensions { .. })));
        assert!(matches!(Dims::new(&[4, -1, 2]), Err(HeaderError::Dimensions { .. })));
        assert!(matches!(Dims::new(&[]), Err(HeaderError::Dimensions { .. })));
        assert!(matches!(Dims::new(&[1 << 12; 3]), Err(HeaderError::TooLarge { .. })));
        assert!(matches!(Dims::new(&[1, 1, 1, i64::MAX, 2]), Err(HeaderError::TooLarge { .. })));
        let six = Dims::new(&[1, 1, 1, 1, 1, 2]);
        assert!(matches!(six, Err(HeaderError::TooManyDimensions { .. })));
    }
}
