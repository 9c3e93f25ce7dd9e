//! A map of the field in hertz, of a file or of phases, and what it is at the voxels of a series.

use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::{Grid, Image, ImageHeader, Mask, read_image};
use fimbria_models::brain_mask::magnitude_mask;
use fimbria_qsm::phase::HZ_PER_TESLA;
use fimbria_registration::{Spline, continued, smooth};
use rayon::prelude::*;

use super::{CorrectSeries, DistortionError};
use crate::stages::b0::{self, B0Direction};
use crate::stages::field::claim::{hertz_of_unit, is_difference};
use crate::stages::field::phase_files::volumes;
use crate::stages::field::{PhaseFiles, total_hertz};
use crate::stages::made_mask::root_sum_of_squares;
use crate::stages::sidecar::said_of;
use crate::transforms::Transform;
use crate::{Choice, Logbook, Named, Page, StageError};

/// What the numbers of a field map are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapUnit {
    /// Hertz of the proton's resonance.
    Hz,
    /// Radians per second of it.
    RadPerS,
    /// Tesla.
    Tesla,
    /// Parts per million of B0.
    Ppm,
}

impl Choice for MapUnit {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Hz, "hz", "hertz"),
        (Self::RadPerS, "rad/s", "radians per second"),
        (Self::Tesla, "tesla", "tesla"),
        (Self::Ppm, "ppm", "parts per million of B0, as `fimbria field` makes it"),
    ];
}

/// NIfTI's code of the field that topup writes, in hertz.
const TOPUP_FIELD: i32 = 2018;

/// A field on its own grid.
pub(super) struct FieldMap {
    grid: Grid,
    /// Where it is not known, any number.
    hertz: Vec<f32>,
    is_known: Vec<bool>,
    /// What it is of, in a word of the record.
    pub(super) source: &'static str,
    path: PathBuf,
}

impl CorrectSeries {
    /// The way from the series to the field map.
    pub(super) fn way(&self, log: &Logbook<'_>) -> Result<Transform, StageError> {
        Ok(Transform::read(&self.settings.field_transform, None, log, Page::Correct)?)
    }

    /// The map that is given, or made of the phases that are.
    pub(super) fn field_map(&self, log: &Logbook<'_>) -> Result<FieldMap, StageError> {
        let settings = &self.settings;
        if let [path] = &settings.field[..] {
            if let Some(hertz) = self.hertz_of(path)? {
                return read_map(path, hertz, &settings.field_magnitude, log);
            }
            if !said_of(path)?.is_some_and(|said| is_difference(&said)) {
                return Err(DistortionError::Unit(path.clone()).into());
            }
        }
        if settings.field_magnitude.is_empty() {
            return Err(DistortionError::Magnitude.into());
        }
        let files = PhaseFiles {
            phase: settings.field.clone(),
            phase_range: None,
            imaginary: Vec::new(),
            magnitude: settings.field_magnitude.clone(),
            te: Vec::new(),
            coils: None,
            bipolar: None,
            b0: None,
            relative: false,
            b0_direction: B0Direction::default(),
            phase_sign: 1,
            mask: None,
        };
        let path = settings.field.first().cloned().unwrap_or_default();
        let (Image { grid, data: hertz, .. }, mask) = total_hertz(files, log)?;
        let mut is_known = vec![false; grid.len()];
        mask.voxels.iter().for_each(|&v| is_known[v as usize] = true);
        Ok(FieldMap { grid, hertz, is_known, source: "phases", path })
    }

    /// How many hertz a number of this map is; `None` where nothing says it.
    fn hertz_of(&self, path: &Path) -> Result<Option<f64>, StageError> {
        let unit = match self.settings.field_unit {
            Some(Named(MapUnit::Hz)) => "Hz",
            Some(Named(MapUnit::RadPerS)) => "rad/s",
            Some(Named(MapUnit::Tesla)) => "T",
            Some(Named(MapUnit::Ppm)) => {
                let dwi = &self.files.dwi;
                let tesla = said_of(dwi)?.and_then(|said| said["MagneticFieldStrength"].as_f64());
                let shown = || DistortionError::Strength(dwi.display().to_string());
                let tesla = b0::strength(tesla.ok_or_else(shown)?)?;
                return Ok(Some(1e-6 * tesla * HZ_PER_TESLA));
            }
            None if ImageHeader::read(path)?.intent().code == TOPUP_FIELD => "Hz",
            None => {
                let said = said_of(path)?.unwrap_or_default();
                return Ok(said["Units"].as_str().and_then(hertz_of_unit));
            }
        };
        Ok(hertz_of_unit(unit))
    }
}

/// A map whose numbers are so many `hertz`, known where magnitudes show a head, or else where it is not 0.
fn read_map(
    path: &Path,
    hertz: f64,
    magnitudes: &[PathBuf],
    log: &Logbook<'_>,
) -> Result<FieldMap, StageError> {
    let workers = log.session().on.workers;
    let image = workers.install(|| read_image(path))?;
    if image.n_volumes != 1 {
        let (path, volumes) = (path.to_owned(), image.n_volumes);
        return Err(DistortionError::Volumes { path, volumes }.into());
    }
    let grid = image.grid;
    let mut is_known = vec![magnitudes.is_empty(); grid.len()];
    if !magnitudes.is_empty() {
        let (_, magnitudes) = workers.install(|| volumes(magnitudes, Some(grid)))?;
        let mask = magnitude_mask(root_sum_of_squares(grid, &magnitudes), workers);
        mask.voxels.iter().for_each(|&v| is_known[v as usize] = true);
    }
    for (is_known, value) in is_known.iter_mut().zip(&image.data) {
        *is_known &= value.is_finite() && *value != 0.0;
    }
    if !is_known.contains(&true) {
        return Err(DistortionError::Nowhere(path.to_owned()).into());
    }
    let hertz = image.data.iter().map(|value| value * hertz as f32).collect();
    Ok(FieldMap { grid, hertz, is_known, source: "field map", path: path.to_owned() })
}

impl FieldMap {
    /// The field at the voxels of another grid, hertz: continued beyond where it is known, smoothed by a Gaussian of so
    /// many mm, and interpolated by cubic splines.
    pub(super) fn onto(
        &self,
        grid: &Grid,
        way: &Transform,
        fwhm_mm: f64,
        mask: &Mask,
        log: &Logbook<'_>,
    ) -> Result<Vec<f32>, StageError> {
        let elsewhere = || DistortionError::Elsewhere(self.path.clone());
        let vox_from_ras = self.grid.ras_from_vox.inverse().ok_or_else(elsewhere)?;
        // Beyond a field of --field-transform as if it led nowhere.
        let vox = |voxel: usize| {
            let ras = grid.ras_from_vox.apply(grid.voxel(voxel).map(|i| i as f64));
            vox_from_ras.apply(way.apply(ras).unwrap_or(ras))
        };
        let dims = self.grid.dims;
        let is_inside =
            |at: [f64; 3]| (0..3).all(|a| at[a] >= -0.5 && at[a] <= dims[a] as f64 - 0.5);
        let inside = mask.voxels.iter().filter(|&&v| is_inside(vox(v as usize))).count();
        if inside == 0 {
            return Err(elsewhere().into());
        }
        let beyond = 1.0 - inside as f64 / mask.len() as f64;
        if beyond > 0.01 {
            let message = format!(
                "the field map ends before {:.0} % of the mask: there it is continued",
                100.0 * beyond
            );
            log.warn(Page::Correct, &message);
        }
        log.note(&format!("the field is continued beyond the head and smoothed by {fwhm_mm} mm"));
        let workers = log.session().on.workers;
        Ok(workers.install(|| {
            let mut hertz = self.hertz.clone();
            continued(dims, &mut hertz, &self.is_known);
            smooth(dims, self.grid.ras_from_vox.spacing(), &mut hertz, fwhm_mm);
            let spline = Spline::new(dims, &hertz);
            (0..grid.len()).into_par_iter().map(|voxel| spline.near(vox(voxel))).collect()
        }))
    }
}
