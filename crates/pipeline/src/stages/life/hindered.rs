//! Water hindered by the fibres of each voxel, beside streamlines (COMMIT; Daducci et al. 2015).

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fimbria_image::frames::{Matrix3, turned};
use fimbria_image::{BvecFrame, Grid, Image};
use fimbria_life::{Fibres, Hindered};
use serde::Serialize;

use crate::options::{Described as _, Takes, at_least};
use crate::stages::track::source::read_peaks;
use crate::{Logbook, StageError};

/// The hindered compartments of every voxel.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Evaluation")]
pub struct HinderedOptions {
    /// Hindered compartments around the fibres of every voxel (--peaks), separated by commas: diffusivities
    /// across the fibres; along them it is --axial
    #[arg(long, value_name = "D", number = at_least(0.0, "mm²/s"), value_delimiter = ',')]
    #[arg(usually = "none", requires = "peaks")]
    pub hindered: Vec<f64>,

    /// Fibres of every voxel on the grid of the series, three volumes each, as `fimbria peaks` and sh2peaks
    /// write them; their lengths do not count
    #[arg(long, value_name = "FILE", requires = "hindered")]
    #[arg(takes = Takes::IMAGE)]
    pub peaks: Option<PathBuf>,
}

impl HinderedOptions {
    /// The compartments, with fibres in the frame of streamlines; `None` where there are none.
    pub(super) fn read(
        &self,
        grid: &Grid,
        frame_from_ras: &Matrix3,
        log: &Logbook<'_>,
    ) -> Result<Option<Hindered>, StageError> {
        let Some(path) = &self.peaks else { return Ok(None) };
        let (peaks, frame) = read_peaks(path, None, false, log)?;
        grid.check_same(&peaks.grid, &path.display().to_string())?;
        let fibres = Arc::new(fibres(&peaks, frame, frame_from_ras));
        Ok(Some(Hindered { radial_mm2_per_s: self.hindered.clone(), fibres }))
    }
}

/// The directions of every voxel, in the frame of streamlines.
fn fibres(peaks: &Image, frame: BvecFrame, frame_from_ras: &Matrix3) -> Fibres {
    let ras_from_frame = frame.ras_from_frame(&peaks.grid.ras_from_vox);
    let per_voxel = peaks.n_volumes / 3;
    let dir = |voxel: usize, fibre: usize| {
        let dir = [0, 1, 2].map(|k| f64::from(peaks.volume(3 * fibre + k)[voxel]));
        turned(frame_from_ras, turned(&ras_from_frame, dir)).map(|c| c as f32)
    };
    let voxels = 0..peaks.grid.len();
    let dirs = voxels.flat_map(|voxel| (0..per_voxel).map(move |fibre| (voxel, fibre)));
    Fibres::new(per_voxel, dirs.map(|(voxel, fibre)| dir(voxel, fibre)).collect())
}
