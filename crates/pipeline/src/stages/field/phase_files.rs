//! The scanner's files: phase and magnitude of every echo, with what is to be known of them.

use std::f32::consts::PI;
use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{Grid, GridMismatch, Image, ImageError, Mask, counted, read_image, read_mask};
use fimbria_models::brain_mask::head_mask;
use fimbria_qsm::phase::{
    Maker, PhaseError, alternates, combine_coils, radians_of_maker, radians_of_range, readout_ramp,
    to_radians, turn_every_second,
};
use fimbria_qsm::{Geometry, QsmError};
use serde::Serialize;
use serde_json::Value;

use crate::options::{Described as _, Takes, above, any, at_least, one_of};
use crate::stages::b0::{self, B0Direction, B0Error};
use crate::stages::sidecar::{SidecarError, said_of};
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

    /// Take a smooth phase at echo time 0, which the first two echoes tell, off all of them, of a single
    /// coil too
    #[arg(long, help_heading = "Input")]
    pub smooth_offset: bool,

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
    /// A volume cannot be transformed.
    #[error(transparent)]
    Qsm(#[from] QsmError),
    /// Volumes that are no echoes of so many coils.
    #[error("{volumes} volumes of phase are no echoes of {coils} coils: they must divide evenly")]
    Coils {
        /// Volumes of phase.
        volumes: usize,
        /// As told.
        coils: usize,
    },
    /// Coils that nothing weighs.
    #[error("several coils are weighed by their magnitudes: give --magnitude or --imaginary")]
    CoilsNeedMagnitude,
    /// A phase at time 0 of one echo.
    #[error(
        "the phase at echo time 0 of coils and of --smooth-offset needs two echoes; there is one"
    )]
    SmoothOffsetOfOneEcho,
    /// Two directions of less than three echoes.
    #[error("--bipolar true needs three echoes or more; there are {0}")]
    BipolarNeedsThree(usize),
    /// Real parts without as many imaginary ones.
    #[error("{imaginary} volumes of imaginary parts for {real} of real ones")]
    Imaginary {
        /// Volumes of imaginary parts.
        imaginary: usize,
        /// Volumes of real parts.
        real: usize,
    },
    /// A sidecar that says something else than the numbers, or than how they are read.
    #[error("the sidecar of {} says {says}, but {found}", path.display())]
    Contradiction {
        /// The image.
        path: PathBuf,
        /// What its sidecar says.
        says: String,
        /// What was found.
        found: String,
    },
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
    #[error(transparent)]
    Sidecar(#[from] SidecarError),
    /// No strength of B0.
    #[error(
        "the strength of B0 is neither given nor in a sidecar beside the phase (--relative where it is \
         not known)"
    )]
    NeedsB0,
    /// No echo times.
    #[error(
        "echo times are neither given nor in sidecars beside the phase (--relative where that of a \
         single echo is not known)"
    )]
    NeedsTimes,
    /// Several echoes of coils whose times are not known.
    #[error("--relative takes one echo, whose time does not matter, of coils that were combined")]
    RelativeOfOne,
    /// No mask and nothing to make one of.
    #[error("a mask is needed where there is no magnitude to make one of")]
    NeedsMask,
    /// Nothing inside.
    #[error("the mask has no voxel above zero")]
    EmptyMask,
    /// No phase reliable enough.
    #[error("no voxel of the mask has a phase of quality {0} or more (--mask-quality)")]
    NoQuality(f64),
    /// No magnitude inside.
    #[error("no voxel of the mask has a magnitude above zero in {0} of the echoes")]
    NoSignal(usize),
}

/// Odd and even echoes that differ by more than so many radians over the mask were read in opposite
/// directions: of echoes read in one the difference is 0 but for noise.
const BIPOLAR: f64 = 0.5;

/// What sidecars say of the numbers of a phase.
struct Claim {
    /// In radians.
    is_radians: bool,
    /// That they are a phase.
    is_phase: bool,
    /// That they are something else, as `ImageType` has it.
    no_phase: Option<String>,
    maker: Option<Maker>,
    /// The voxel axis that slices follow each other along.
    slice_axis: usize,
}

impl Claim {
    fn from_sidecars(said: &[Value]) -> Self {
        let text = |key: &str| said.iter().find_map(|said| said[key].as_str());
        let types: Vec<String> = said
            .iter()
            .filter_map(|said| said["ImageType"].as_array())
            .flatten()
            .filter_map(|kind| Some(kind.as_str()?.to_uppercase()))
            .collect();
        let is = |names: &[&str]| types.iter().find(|kind| names.contains(&kind.as_str())).cloned();
        let is_phase = is(&["P", "PHASE", "PHASE MAP"]).is_some();
        let other = is(&["M", "MAGNITUDE", "REAL", "IMAGINARY", "I", "R"]).filter(|_| !is_phase);
        Self {
            is_radians: text("Units").is_some_and(|unit| unit == "rad"),
            is_phase,
            no_phase: other,
            maker: text("Manufacturer").and_then(Maker::of_name),
            slice_axis: match text("SliceEncodingDirection").map(|axis| axis.trim_end_matches('-'))
            {
                Some("i") => 0,
                Some("j") => 1,
                _ => 2,
            },
        }
    }
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
        let mut magnitudes = magnitudes;
        let volumes = phases.len();
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
        if (coils > 1 || self.smooth_offset) && echoes < 2 {
            return Err(PhaseFilesError::SmoothOffsetOfOneEcho);
        }
        if self.bipolar == Some(true) && echoes < 3 {
            return Err(PhaseFilesError::BipolarNeedsThree(echoes));
        }
        let said = self.sidecars(log)?;
        if self.relative && echoes > 1 {
            return Err(PhaseFilesError::RelativeOfOne);
        }
        let times = if self.relative { vec![1.0] } else { self.times(&said, echoes, coils)? };
        let b0_tesla = match self.b0 {
            None => said.iter().find_map(|said| said["MagneticFieldStrength"].as_f64()),
            given => given,
        };
        let b0_tesla = match b0_tesla {
            _ if self.relative => None,
            given => Some(b0::strength(given.ok_or(PhaseFilesError::NeedsB0)?)?),
        };
        let first = self.phase.first().map_or(Path::new(""), PathBuf::as_path);
        let (geometry, mask) = place(first)?;
        let mut mask = match (mask, magnitudes.first()) {
            (Some(mask), _) => mask,
            (None, Some(first)) => {
                let mut bright = first.clone();
                for coil in 1..coils {
                    let other = &magnitudes[coil * echoes];
                    bright.iter_mut().zip(other).for_each(|(sum, m)| *sum = sum.hypot(*m));
                }
                log.warn(
                    Page::Susceptibility,
                    "no mask given: what is bright in the first magnitude is taken",
                );
                head_mask(Image { grid, n_volumes: 1, data: bright }, workers)
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
        let range = self.phase_range.as_deref().and_then(|range| range.try_into().ok());
        let mut claim = Claim::from_sidecars(&said);
        if !self.imaginary.is_empty() {
            claim.no_phase = None;
        }
        let contradicts = |says: &str, found: String| PhaseFilesError::Contradiction {
            path: first.to_owned(),
            says: says.to_owned(),
            found,
        };
        if let Some(kind) = &claim.no_phase {
            return Err(contradicts(
                &format!("ImageType {kind}"),
                "it is given as a phase".to_owned(),
            ));
        }
        let scaling = match range {
            Some(range) => radians_of_range(range, &phases, &mask.voxels),
            None if !self.imaginary.is_empty() => Ok((1.0, 0.0)),
            None if claim.is_radians => {
                let inside = phases.iter().flat_map(|p| mask.voxels.iter().map(|&v| p[v as usize]));
                let largest = inside.fold(0.0_f32, |m, v| m.max(v.abs()));
                // Of 0 to a turn, and stored as float.
                if largest > 2.0 * PI * 1.001 {
                    let found = format!("its numbers reach {largest}, more than a turn");
                    return Err(contradicts("Units rad", found));
                }
                Ok((1.0, 0.0))
            }
            None => to_radians(grid.dims, &phases, &mask.voxels).or_else(|error| {
                let of_maker = claim.maker.and_then(|maker| radians_of_maker(maker, &phases));
                let is_unsaid = matches!(error, PhaseError::NoTurn { .. });
                of_maker.filter(|_| is_unsaid && claim.is_phase).ok_or(error)
            }),
        };
        let (factor, offset) =
            scaling.map_err(|source| PhaseFilesError::Phase { path: first.to_owned(), source })?;
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
        if alternates(&grid, &phases[0], &mask.voxels, claim.slice_axis) {
            log.warn(
                Page::Susceptibility,
                "the phase turns by half a turn from slice to slice, as complex images of GE do: every \
                 second slice is turned back",
            );
            turn_every_second(&grid, &mut phases, claim.slice_axis);
        }
        if echoes > 2 && self.bipolar != Some(false) {
            for coil in
                phases.chunks_mut(echoes).enumerate().map(|(c, phases)| (c * echoes, phases))
            {
                let (begin, phases) = coil;
                let magnitudes = magnitudes.get(begin..begin + echoes).unwrap_or_default();
                let found = readout_ramp(&grid, phases, magnitudes, &times, &mask.voxels);
                let Some(ramp) = found else { continue };
                if self.bipolar == Some(true) || ramp.extent > BIPOLAR {
                    if begin == 0 {
                        log.note(&format!(
                            "odd and even echoes differ by {:.2} radians over the mask: taken for \
                             readouts in opposite directions",
                            ramp.extent
                        ));
                        log.result("bipolar_slope", ramp.slope.to_vec());
                    }
                    ramp.take_off(&grid, phases);
                }
            }
        }
        let (phases, magnitudes) = if coils > 1 || self.smooth_offset {
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

    /// Seconds.
    fn times(
        &self,
        said: &[Value],
        echoes: usize,
        coils: usize,
    ) -> Result<Vec<f64>, PhaseFilesError> {
        let mut times: Vec<f64> = self.te.clone();
        if times.is_empty() {
            for sidecar in said {
                let seconds = match &sidecar["EchoTime"] {
                    Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
                    one => one.as_f64().into_iter().collect::<Vec<_>>(),
                };
                times.extend(seconds.into_iter().map(|t| 1e3 * t));
            }
            // Each coil of images by themselves says the same.
            if coils > 1 && times.len() == coils * echoes {
                times.truncate(echoes);
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
