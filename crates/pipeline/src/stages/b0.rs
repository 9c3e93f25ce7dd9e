//! The field that a scan was made in: its strength, and its direction in voxel axes.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_image::{Grid, ImageError, ImageHeader, Orientation};
use fimbria_qsm::{Geometry, QsmError};
use serde::Serialize;

use crate::options::{Described as _, Number, above, any};

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

/// What an option of B0 may be.
pub(super) fn strengths() -> Number<f64> {
    above(0.0, "tesla").up_to(LARGEST_TESLA)
}

/// `tesla`, where it can be.
pub(super) fn strength(tesla: f64) -> Result<f64, B0Error> {
    if tesla > 0.0 && tesla <= LARGEST_TESLA { Ok(tesla) } else { Err(B0Error::Strength(tesla)) }
}

/// The direction of B0, as options.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct B0Direction {
    /// Direction of B0 in scanner axes
    #[arg(long, value_names = ["X", "Y", "Z"], num_args = 3, allow_negative_numbers = true)]
    #[arg(conflicts_with = "b0_dir_vox", help_heading = "Input", usually = "0 0 1")]
    #[arg(number = any::<f64>(""))]
    pub b0_dir: Option<Vec<f64>>,

    /// Direction of B0 in voxel axes
    #[arg(long, value_names = ["I", "J", "K"], num_args = 3, allow_negative_numbers = true)]
    #[arg(help_heading = "Input")]
    #[arg(number = any::<f64>(""))]
    pub b0_dir_vox: Option<Vec<f64>>,
}

impl B0Direction {
    /// In scanner axes, where it does not stand in voxel axes.
    pub(super) fn ras(&self) -> [f64; 3] {
        three(self.b0_dir.as_ref()).unwrap_or([0.0, 0.0, 1.0])
    }

    /// In voxel axes, where it is given so.
    pub(super) fn vox(&self) -> Option<[f64; 3]> {
        three(self.b0_dir_vox.as_ref())
    }

    /// The voxels of the image at `path` in this field; a direction in scanner axes is one that the
    /// image has to know.
    pub(super) fn geometry(&self, path: &Path, grid: &Grid) -> Result<Geometry, B0Error> {
        if self.vox().is_none() && ImageHeader::read(path)?.orientation() == Orientation::Absent {
            return Err(B0Error::NoDirection(path.to_owned()));
        }
        self.on_grid(grid)
    }

    /// Voxels whose place in the scanner is known in this field.
    pub(super) fn on_grid(&self, grid: &Grid) -> Result<Geometry, B0Error> {
        Ok(match self.vox() {
            Some(vox) => Geometry::in_voxel_axes(grid, vox)?,
            None => Geometry::new(grid, self.ras())?,
        })
    }
}

/// The three numbers of an option that takes three.
fn three(given: Option<&Vec<f64>>) -> Option<[f64; 3]> {
    given.and_then(|numbers| numbers[..].try_into().ok())
}
