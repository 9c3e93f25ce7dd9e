//! The field that a scan was made in: its strength, and its direction in voxel axes.

use std::path::{Path, PathBuf};

use fimbria_image::{Grid, ImageError, ImageHeader, Orientation};
use fimbria_qsm::{Geometry, QsmError};

/// Why B0 cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum B0Error {
    /// A strength that no magnet for imaging has.
    #[error("B0 of {0} tesla: it is above 0 and at most {LARGEST_TESLA}")]
    Strength(f64),
    /// The scanner's axes are unknown, and with them the direction.
    #[error(
        "{} does not say how it lies in the scanner: give the direction of B0 in voxel axes with \
         --b0-dir-vox", .0.display()
    )]
    NoDirection(PathBuf),
    /// The image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The direction or the voxels are unusable.
    #[error(transparent)]
    Qsm(#[from] QsmError),
}

const LARGEST_TESLA: f64 = 30.0;

/// `tesla`, where it can be.
pub(super) fn strength(tesla: f64) -> Result<f64, B0Error> {
    if tesla > 0.0 && tesla <= LARGEST_TESLA { Ok(tesla) } else { Err(B0Error::Strength(tesla)) }
}

/// The voxels of the image at `path` in a field along `vox` (voxel axes), or else `ras` (scanner
/// axes), or else the scanner's z, which the image has to know.
pub(super) fn geometry(
    path: &Path,
    grid: &Grid,
    vox: Option<[f64; 3]>,
    ras: Option<[f64; 3]>,
) -> Result<Geometry, B0Error> {
    if let Some(vox) = vox {
        return Ok(Geometry::in_voxel_axes(grid, vox)?);
    }
    if ImageHeader::read(path)?.orientation() == Orientation::Absent {
        return Err(B0Error::NoDirection(path.to_owned()));
    }
    Ok(Geometry::new(grid, ras.unwrap_or([0.0, 0.0, 1.0]))?)
}
