//! The scanner's files: phase and magnitude of every echo, with what is to be known of them.

use std::f32::consts::PI;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_image::{Grid, GridMismatch, Image, ImageError, Mask, counted, read_image, read_mask};
use fimbria_models::brain_mask::head_mask;
use fimbria_qsm::Geometry;
use fimbria_qsm::phase::{PhaseError, radians_of_range, to_radians};
use serde::Serialize;
use serde_json::Value;

use crate::options::{Described as _, Takes, above, any, one_of};
use crate::stages::b0::{self, B0Direction, B0Error};
use crate::stages::contents::sidecar_of;
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

    /// Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    #[arg(takes = Takes::IMAGE)]
    pub magnitude: Vec<PathBuf>,

    /// Echo times
    #[arg(long, value_name = "MS", num_args = 1.., value_delimiter = ',', help_heading = "Input")]
    #[arg(number = above(0.0, "ms"), usually = "EchoTime of the .json beside each phase")]
    pub te: Vec<f64>,

    /// Strength of B0
    #[arg(long, value_name = "TESLA", number = b0::strengths(), help_heading = "Input")]
    #[arg(usually = "MagneticFieldStrength of the .json beside the phase")]
    pub b0: Option<f64>,

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
    #[arg(usually = "what is bright in the first magnitude")]
    #[arg(takes = Takes::MASK)]
    pub mask: Option<PathBuf>,
}

/// Why there is no field.
#[derive(Debug, thiserror::Error)]
pub enum PhaseFilesError {
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Images lie on different grids.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A line through one point.
    #[error("the phase at echo time 0 (--offset true) needs two echoes or more; there is one")]
    OffsetOfOneEcho,
    /// The phase is none.
    #[error("{}", path.display())]
    Phase {
        /// The image.
        path: PathBuf,
        /// Why it is none.
        source: PhaseError,
    },
    /// B0 is unusable.
    #[error(transparent)]
    B0(#[from] B0Error),
    /// Not one time for each echo.
    #[error("{times} echo times for {echoes} echoes of phase")]
    Times {
        /// Times given or found.
        times: usize,
        /// Volumes of phase.
        echoes: usize,
    },
    /// Times that are none.
    #[error("an echo time of {0} ms: times must be above 0 and ascend")]
    Time(f64),
    /// Times in another unit.
    #[error("the last echo at {0} ms: echo times are in milliseconds, in sidecars in seconds")]
    TimeUnit(f64),
    /// Not one magnitude for each echo.
    #[error("{magnitudes} echoes of magnitude for {echoes} of phase")]
    Magnitudes {
        /// Volumes of magnitude.
        magnitudes: usize,
        /// Volumes of phase.
        echoes: usize,
    },
    /// A sidecar that is there but says nothing.
    #[error("could not read the sidecar {}", path.display())]
    Sidecar {
        /// The sidecar.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No strength of B0.
    #[error("the strength of B0 is neither given nor in a sidecar beside the phase")]
    NeedsB0,
    /// No echo times.
    #[error("echo times are neither given nor in sidecars beside the phase")]
    NeedsTimes,
    /// No mask and nothing to make one of.
    #[error("a mask is needed where there is no magnitude to make one of")]
    NeedsMask,
    /// Nothing inside.
    #[error("the mask has no voxel above zero")]
    EmptyMask,
    /// No magnitude inside.
    #[error("no voxel of the mask has a magnitude above zero in {0} of the echoes")]
    NoSignal(usize),
}

/// The last echo lies within these, in milliseconds.
const LAST_ECHO_MS: [f64; 2] = [0.1, 1000.0];

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
    /// B0 in tesla.
    pub b0_tesla: f64,
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
    /// The voxels to work on; `None` for what is bright in the first magnitude.
    pub mask: Option<Mask>,
}

impl PhaseFiles {
    /// Reads them.
    ///
    /// # Errors
    /// [`PhaseFilesError`].
    pub fn read(&self, log: &Logbook<'_>) -> Result<Echoes, PhaseFilesError> {
        let workers = log.session().on.workers;
        let (grid, phases) = workers.install(|| volumes(&self.phase, None))?;
        let (_, magnitudes) = workers.install(|| volumes(&self.magnitude, Some(grid)))?;
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
        let echoes = phases.len();
        if !magnitudes.is_empty() && magnitudes.len() != echoes {
            return Err(PhaseFilesError::Magnitudes { magnitudes: magnitudes.len(), echoes });
        }
        let times = self.times(echoes)?;
        let b0_tesla = match self.b0 {
            None => self.sidecars()?.iter().find_map(|said| said["MagneticFieldStrength"].as_f64()),
            given => given,
        };
        let b0_tesla = b0::strength(b0_tesla.ok_or(PhaseFilesError::NeedsB0)?)?;
        let first = self.phase.first().map_or(Path::new(""), PathBuf::as_path);
        let (geometry, mask) = place(first)?;
        let mut mask = match (mask, magnitudes.first()) {
            (Some(mask), _) => mask,
            (None, Some(first)) => {
                log.warn(
                    Page::Susceptibility,
                    "no mask given: what is bright in the first magnitude is taken",
                );
                head_mask(Image { grid, n_volumes: 1, data: first.clone() }, workers)
            }
            (None, None) => return Err(PhaseFilesError::NeedsMask),
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
        if let [first, .., last] = &magnitudes[..] {
            let sum = |volume: &[f32]| -> f64 {
                mask.voxels.iter().map(|&v| f64::from(volume[v as usize])).sum()
            };
            if sum(last) > sum(first) {
                log.warn(Page::Susceptibility, "the last echo is brighter than the first: are files and echo times in the same \
                     order?",
                );
            }
        }
        let range = self.phase_range.as_deref().and_then(|range| range.try_into().ok());
        let scaling = match range {
            Some(range) => radians_of_range(range, &phases, &mask.voxels),
            None => to_radians(grid.dims, &phases, &mask.voxels),
        };
        let (factor, offset) =
            scaling.map_err(|source| PhaseFilesError::Phase { path: first.to_owned(), source })?;
        let sign = f32::from(self.phase_sign);
        for phase in &mut phases {
            phase.iter_mut().for_each(|p| *p = sign * (factor * *p + offset));
        }
        if self.phase_range.is_some() {
            let inside =
                || phases.iter().flat_map(|phase| mask.voxels.iter().map(|&v| phase[v as usize]));
            let span = inside().fold(f32::MIN, f32::max) - inside().fold(f32::MAX, f32::min);
            if span < PI {
                log.warn(
                    Page::Susceptibility,
                    &format!(
                        "by --phase-range the phases of the mask lie within {span:.2} of the 6.28 \
                     radians of a turn: is the range that of this file?"
                    ),
                );
            }
        }
        log.count("echoes", echoes as u64);
        log.result("phase_to_radians", vec![factor, offset]);
        // What the sidecars say is a parameter in effect as well.
        log.result("b0_tesla", b0_tesla);
        log.result("last_echo_ms", times.last().map_or(0.0, |last| 1e3 * last));
        log.count("voxels", mask.len() as u64);
        Ok(Echoes { grid, geometry, phases, magnitudes, times, b0_tesla, mask })
    }

    /// The sidecars beside the images of phase, of those that have one.
    fn sidecars(&self) -> Result<Vec<Value>, PhaseFilesError> {
        let said = self.phase.iter().map(|path| sidecar(path).transpose());
        said.flatten().collect()
    }

    /// Seconds.
    fn times(&self, echoes: usize) -> Result<Vec<f64>, PhaseFilesError> {
        let mut times: Vec<f64> = self.te.clone();
        if times.is_empty() {
            for sidecar in self.sidecars()? {
                let seconds = match &sidecar["EchoTime"] {
                    Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
                    one => one.as_f64().into_iter().collect::<Vec<_>>(),
                };
                times.extend(seconds.into_iter().map(|t| 1e3 * t));
            }
            if times.is_empty() {
                return Err(PhaseFilesError::NeedsTimes);
            }
        }
        if times.len() != echoes {
            return Err(PhaseFilesError::Times { times: times.len(), echoes });
        }
        let mut before = 0.0;
        for &time in &times {
            if !(time > before && time.is_finite()) {
                return Err(PhaseFilesError::Time(time));
            }
            before = time;
        }
        if !(LAST_ECHO_MS[0]..=LAST_ECHO_MS[1]).contains(&before) {
            return Err(PhaseFilesError::TimeUnit(before));
        }
        Ok(times.into_iter().map(|t| 1e-3 * t).collect())
    }
}

/// Every volume of the images at `paths`, all on one grid.
fn volumes(
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

/// The BIDS sidecar beside an image, if there is one.
fn sidecar(image: &Path) -> Result<Option<Value>, PhaseFilesError> {
    let Some(path) = sidecar_of(image) else { return Ok(None) };
    let read = match fimbria_image::read_regular_text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read,
    };
    match read.and_then(|text| Ok(serde_json::from_str(&text)?)) {
        Ok(said) => Ok(Some(said)),
        Err(source) => Err(PhaseFilesError::Sidecar { path, source }),
    }
}
