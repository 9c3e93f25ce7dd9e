//! The scanner's files: phase and magnitude of every echo, with what is to be known of them.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{Grid, Mask, counted, read_image, read_mask};
use fimbria_models::brain_mask::magnitude_mask;
use fimbria_qsm::Geometry;
use fimbria_qsm::phase::{alternates, combine_coils, turn_every_second};
use serde::Serialize;
use serde_json::Value;

use super::claim::Claim;
use super::errors::PhaseFilesError;
use super::radians::{magnitude_of_difference, phase_of_field};
use super::times::between;
use crate::options::{Described as _, Takes, above, any, at_least, one_of};
use crate::stages::b0::{self, B0Direction};
use crate::stages::made_mask::{root_sum_of_squares, warn_of_made_mask};
use crate::stages::sidecar::said_of;
use crate::{Logbook, Page};

/// The scanner's files, and what is to be known of them.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct PhaseFiles {
    /// Phase in any scaling: an image with a volume for each echo, or an image for each
    #[arg(value_name = "PHASE", required = true)]
    #[arg(takes = Takes::IMAGE)]
    pub phase: Vec<PathBuf>,

    /// Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180
    #[arg(long, value_names = ["LOW", "HIGH"], num_args = 2, allow_negative_numbers = true)]
    #[arg(help_heading = "Input", usually = "told by the numbers, see below")]
    #[arg(number = any::<f32>(""))]
    pub phase_range: Option<Vec<f32>>,

    /// The imaginary part, likewise, of images whose real part is PHASE: both are phase and magnitude
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    #[arg(conflicts_with_all = ["magnitude", "phase_range"])]
    #[arg(takes = Takes::IMAGE)]
    pub imaginary: Vec<PathBuf>,

    /// Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    #[arg(takes = Takes::IMAGE)]
    pub magnitude: Vec<PathBuf>,

    /// Echo times
    #[arg(long, value_name = "MS", num_args = 1.., value_delimiter = ',', help_heading = "Input")]
    #[arg(number = above(0.0, "ms"), usually = "EchoTime of the .json beside each phase")]
    pub te: Vec<f64>,

    /// Coils that were not combined: volumes, or images, are all echoes of the first, then of the next.
    /// They are combined without the phase that each has at echo time 0 (MCPC-3D-S)
    #[arg(long, value_name = "N", number = at_least(1_usize, ""), help_heading = "Input")]
    #[arg(usually = "1")]
    pub coils: Option<usize>,

    /// Odd and even echoes were read in opposite directions (true or false): the ramp by which they
    /// differ is taken off
    #[arg(long, value_name = "true|false", help_heading = "Input")]
    #[arg(usually = "told by the phase, from three echoes on")]
    pub bipolar: Option<bool>,

    /// Strength of B0
    #[arg(long, value_name = "TESLA", number = b0::strengths(), help_heading = "Input")]
    #[arg(usually = "MagneticFieldStrength of the .json beside the phase")]
    pub b0: Option<f64>,

    /// Neither echo times nor B0 are known: fields are in radians of the phase of the first echo
    #[arg(long, conflicts_with_all = ["te", "b0"], help_heading = "Input")]
    pub relative: bool,

    /// Direction of B0.
    #[command(flatten)]
    #[serde(flatten)]
    pub b0_direction: B0Direction,

    /// Sign of the phase along B0 beside a paramagnetic source
    #[arg(long, value_name = "SIGN", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, help_heading = "Input")]
    #[arg(number = one_of(&[1_i8, -1]))]
    pub phase_sign: i8,

    /// Voxels to work on: a 3-D image on the same grid, inside where above zero
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(usually = "one made of the magnitudes, as `fimbria mask` makes it")]
    #[arg(takes = Takes::MASK)]
    pub mask: Option<PathBuf>,
}

/// Phase and magnitude of all echoes.
pub struct Echoes {
    /// The grid.
    pub grid: Grid,
    /// Voxels and B0.
    pub geometry: Geometry,
    /// Phase, radians, wrapped, paramagnetic sources raise it along B0.
    pub phases: Vec<Vec<f32>>,
    /// Magnitude, or none.
    pub magnitudes: Vec<Vec<f32>>,
    /// Echo times in seconds.
    pub times: Vec<f64>,
    /// B0 in tesla; `None` where fields are relative, in radians of the phase of the one echo.
    pub b0_tesla: Option<f64>,
    /// The voxels to work on.
    pub mask: Mask,
}

/// Phase and magnitude as numbers.
pub struct PhaseImages {
    /// The grid.
    pub grid: Grid,
    /// Phase in any scaling, a volume for each echo.
    pub phases: Vec<Vec<f32>>,
    /// Magnitude, likewise, or none.
    pub magnitudes: Vec<Vec<f32>>,
    /// The voxels to work on; `None` for a [`magnitude_mask`].
    pub mask: Option<Mask>,
}

impl PhaseFiles {
    /// Reads them.
    ///
    /// # Errors
    /// [`PhaseFilesError`].
    pub fn read(&self, log: &Logbook<'_>) -> Result<Echoes, PhaseFilesError> {
        self.in_order_of_time(log).read_in_order(log)
    }

    fn read_in_order(&self, log: &Logbook<'_>) -> Result<Echoes, PhaseFilesError> {
        let workers = log.session().on.workers;
        let (grid, mut phases) = workers.install(|| volumes(&self.phase, None))?;
        let (_, mut magnitudes) = workers.install(|| volumes(&self.magnitude, Some(grid)))?;
        if !self.imaginary.is_empty() {
            let (_, imaginary) = workers.install(|| volumes(&self.imaginary, Some(grid)))?;
            if imaginary.len() != phases.len() {
                let (imaginary, real) = (imaginary.len(), phases.len());
                return Err(PhaseFilesError::Imaginary { imaginary, real });
            }
            let pairs = || phases.iter().zip(&imaginary);
            let of = |with: fn(f32, f32) -> f32| -> Vec<Vec<f32>> {
                let each = |(re, im): (&Vec<f32>, &Vec<f32>)| {
                    re.iter().zip(im).map(|(re, im)| with(*re, *im)).collect()
                };
                pairs().map(each).collect()
            };
            magnitudes = of(f32::hypot);
            phases = of(|re, im| im.atan2(re));
        }
        let place = |first: &Path| {
            let geometry = self.b0_direction.geometry(first, &grid)?;
            let mask = self.mask.as_ref().map(|path| workers.install(|| read_mask(path, &grid)));
            Ok((geometry, mask.transpose()?))
        };
        self.echoes(grid, phases, magnitudes, place, log)
    }

    /// The same of images in memory.
    ///
    /// # Errors
    /// [`PhaseFilesError`].
    pub fn of_images(
        &self,
        images: PhaseImages,
        log: &Logbook<'_>,
    ) -> Result<Echoes, PhaseFilesError> {
        let PhaseImages { grid, phases, magnitudes, mask } = images;
        let place = |_: &Path| Ok((self.b0_direction.on_grid(&grid)?, mask));
        self.echoes(grid, phases, magnitudes, place, log)
    }

    /// `place` says how the voxels of the first file lie in B0, and which of them to work on.
    fn echoes(
        &self,
        grid: Grid,
        mut phases: Vec<Vec<f32>>,
        magnitudes: Vec<Vec<f32>>,
        place: impl FnOnce(&Path) -> Result<(Geometry, Option<Mask>), PhaseFilesError>,
        log: &Logbook<'_>,
    ) -> Result<Echoes, PhaseFilesError> {
        let workers = log.session().on.workers;
        let coils = self.coils.unwrap_or(1);
        let volumes = phases.len();
        let said = self.sidecars(log)?;
        let claim = Claim::from_sidecars(&said);
        // Of one volume it is said what it is made of.
        let is_one = volumes == 1 && !self.relative;
        let difference = claim.difference.filter(|_| is_one && self.te.is_empty());
        let field = claim.field.filter(|_| is_one);
        let mut magnitudes = magnitudes;
        if let ([first, second], true) = (&magnitudes[..], difference.is_some() || field.is_some())
        {
            magnitudes = vec![magnitude_of_difference(first, second)];
        }
        if !magnitudes.is_empty() && magnitudes.len() != volumes {
            let (magnitudes, echoes) = (magnitudes.len(), volumes);
            return Err(PhaseFilesError::Magnitudes { magnitudes, echoes });
        }
        if !volumes.is_multiple_of(coils) {
            return Err(PhaseFilesError::Coils { volumes, coils });
        }
        if coils > 1 && magnitudes.is_empty() {
            return Err(PhaseFilesError::CoilsNeedMagnitude);
        }
        // Of the others the scale of the numbers is told, too.
        let is_first_alone = self.relative && coils == 1 && volumes > 1;
        let echoes = if is_first_alone { 1 } else { volumes / coils };
        if is_first_alone {
            log.warn(
                Page::Susceptibility,
                &format!(
                    "the first of {} alone is taken: --relative knows no echo times",
                    counted(volumes, "volume")
                ),
            );
        }
        if coils > 1 && echoes < 2 {
            return Err(PhaseFilesError::CoilsOfOneEcho);
        }
        if self.bipolar == Some(true) && echoes < 3 {
            return Err(PhaseFilesError::BipolarNeedsThree(echoes));
        }
        if self.relative && echoes > 1 {
            return Err(PhaseFilesError::RelativeOfOne);
        }
        let first = self.phase.first().map_or(Path::new(""), PathBuf::as_path);
        let mut times = match (difference, field) {
            _ if self.relative => vec![1.0],
            // It depends on the numbers.
            (_, Some((unit, _))) if !self.te.is_empty() => {
                let (path, unit) = (first.to_owned(), unit.to_owned());
                return Err(PhaseFilesError::TimeOfField { path, unit });
            }
            (_, Some(_)) => Vec::new(),
            (Some(difference), None) => vec![between(difference, log)?],
            (None, None) => self.times(&said, echoes, coils)?,
        };
        let b0_tesla = match self.b0 {
            None => said.iter().find_map(|said| said["MagneticFieldStrength"].as_f64()),
            given => given,
        };
        let b0_tesla = match b0_tesla {
            _ if self.relative => None,
            given => Some(b0::strength(given.ok_or(PhaseFilesError::NeedsB0)?)?),
        };
        let (geometry, mask) = place(first)?;
        let mut mask = match mask {
            Some(mask) => mask,
            None if magnitudes.is_empty() => return Err(PhaseFilesError::NeedsMask),
            None => {
                let mask = magnitude_mask(root_sum_of_squares(grid, &magnitudes), workers);
                warn_of_made_mask(&mask, "the magnitudes", log);
                mask
            }
        };
        let finite = |v: &u32| phases.iter().all(|phase| phase[*v as usize].is_finite());
        let given = mask.len();
        mask.voxels.retain(finite);
        if mask.len() < given {
            let lost = counted(given - mask.len(), "voxel");
            log.warn(
                Page::Susceptibility,
                &format!("the phase is not finite in {lost} of the mask"),
            );
        }
        if mask.is_empty() {
            return Err(PhaseFilesError::EmptyMask);
        }
        if let [first, .., last] = &magnitudes[..echoes.min(magnitudes.len())] {
            let sum = |volume: &[f32]| -> f64 {
                mask.voxels.iter().map(|&v| f64::from(volume[v as usize])).sum()
            };
            if sum(last) > sum(first) {
                log.warn(Page::Susceptibility, "the last echo is brighter than the first: are files and echo times in the same \
                     order?",
                );
            }
        }
        let (factor, offset) = match field {
            Some((unit, hertz)) => {
                let (factor, seconds) = phase_of_field(&phases[0], &mask.voxels, hertz)
                    .map_err(|source| PhaseFilesError::Phase { path: first.to_owned(), source })?;
                log.note(&format!("Units {unit}: a field, which is not unwrapped"));
                times = vec![seconds];
                (factor, 0.0)
            }
            None => self.scaling(&claim, first, grid.dims, &phases, &mask.voxels)?,
        };
        if is_first_alone {
            phases.truncate(1);
            magnitudes.truncate(1);
        }
        let sign = f32::from(self.phase_sign);
        for phase in &mut phases {
            phase.iter_mut().for_each(|p| *p = sign * (factor * *p + offset));
        }
        if self.phase_range.is_some() {
            let inside =
                || phases.iter().flat_map(|phase| mask.voxels.iter().map(|&v| phase[v as usize]));
            let span = inside().fold(f32::MIN, f32::max) - inside().fold(f32::MAX, f32::min);
            if span < std::f32::consts::PI {
                log.warn(
                    Page::Susceptibility,
                    &format!(
                        "by --phase-range the phases of the mask lie within {span:.2} of the 6.28 \
                     radians of a turn: is the range that of this file?"
                    ),
                );
            }
        }
        if alternates(&grid, &phases[0], &mask.voxels, claim.slice_axis) {
            log.warn(
                Page::Susceptibility,
                "the phase turns by half a turn from slice to slice, as complex images of GE do: every \
                 second slice is turned back",
            );
            turn_every_second(&grid, &mut phases, claim.slice_axis);
        }
        if echoes > 2 && self.bipolar != Some(false) {
            self.undo_bipolar(&grid, &mut phases, &magnitudes, &times, &mask.voxels, log);
        }
        let (phases, magnitudes) = if coils > 1 {
            let made = combine_coils(&grid, &phases, &magnitudes, &times, &mask.voxels, workers)?;
            (made.phases, made.magnitudes)
        } else {
            (phases, magnitudes)
        };
        log.count("echoes", echoes as u64);
        log.result("phase_to_radians", vec![factor, offset]);
        // What the sidecars say is a parameter in effect as well.
        if let Some(b0_tesla) = b0_tesla {
            log.result("b0_tesla", b0_tesla);
            log.result("last_echo_ms", times.last().map_or(0.0, |last| 1e3 * last));
        }
        log.count("voxels", mask.len() as u64);
        Ok(Echoes { grid, geometry, phases, magnitudes, times, b0_tesla, mask })
    }

    /// What is said beside the images of phase, of those that have a sidecar. One that cannot be read is an
    /// error where something is only said there.
    fn sidecars(&self, log: &Logbook<'_>) -> Result<Vec<Value>, PhaseFilesError> {
        let is_told = self.relative || (!self.te.is_empty() && self.b0.is_some());
        let mut all = Vec::new();
        for path in &self.phase {
            match said_of(path) {
                Ok(said) => all.extend(said),
                Err(error) if is_told => {
                    log.warn(Page::Susceptibility, &format!("{error}: what it says is not used"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }
}

/// Every volume of the images at `paths`, all on one grid.
pub(in crate::stages) fn volumes(
    paths: &[PathBuf],
    grid: Option<Grid>,
) -> Result<(Grid, Vec<Vec<f32>>), PhaseFilesError> {
    let (mut grid, mut volumes) = (grid, Vec::new());
    for path in paths {
        let image = read_image(path)?;
        let first = *grid.get_or_insert(image.grid);
        first.check_same(&image.grid, &path.display().to_string())?;
        volumes.extend((0..image.n_volumes).map(|v| image.volume(v).to_vec()));
    }
    // Without images there is no volume either that would ask for the grid.
    let none = Grid { dims: [0; 3], ras_from_vox: fimbria_image::Affine::IDENTITY };
    Ok((grid.unwrap_or(none), volumes))
}
