//! From what an earlier stage found to samples of directions.

use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::bedpostx::{BedpostxError, read_bedpostx};
use fimbria_image::sticks::StickSamples;
use fimbria_image::{
    BvecFrame, Image, ImageError, ImageHeader, Mask, OpenOptions, StoredImage, counted, read_mask,
};
use fimbria_tensors::functions::Functions;
use fimbria_tensors::samples::{SamplesError, Scatter, from_peaks};
use fimbria_tensors::sh::ShError;
use fimbria_tracking::{Densities, DensityError};
use fimbria_workflow::with_sidecar;
use serde_json::{Value, json};

use crate::stages::contents::{Claim, Contents, ContentsError, check_directions};
use crate::stages::doubts::warn_of_place;
use crate::stages::load_orientations::{FieldError, OrientationField, OrientationFiles};
use crate::stages::track::Through;
use crate::{Choice as _, Input, Logbook, Named, Page};

/// What directions come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A bedpostX folder, or the base name of its samples.
    Samples(PathBuf),
    /// Three volumes per direction, length = amplitude: `fimbria peaks`, V1 of a tensor fit, dyads;
    /// or five dimensions, of which the last is x, y, z (DIPY).
    Peaks {
        /// The image.
        image: PathBuf,
        /// Its axes; `None` for what it says, scanner axes where it says nothing.
        frame: Option<BvecFrame>,
        /// Whatever it says or looks like.
        sure: bool,
        /// Directions are scattered around the peaks by this angle, degrees; 0 for none.
        dispersion_deg: f64,
    },
    /// A function on the sphere, as unique entries or spherical harmonics.
    Function(OrientationFiles),
}

/// Why there are no directions.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The samples.
    #[error(transparent)]
    Samples(#[from] BedpostxError),
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The function.
    #[error(transparent)]
    Function(#[from] FieldError),
    /// It holds no directions.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A number of volumes that is no number of directions.
    #[error("{} has {}; directions take three each", path.display(), counted(*volumes, "volume"))]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
    },
    /// Nothing to follow.
    #[error("{} has no direction in any voxel of the mask", .0.display())]
    Nothing(PathBuf),
    /// An option that is of no use with what was given.
    #[error("--{option} has no use with the {holds} of {}: leave it out{}", path.display(), densities(holds))]
    Unused {
        /// The option.
        option: &'static str,
        /// What the file or folder holds.
        holds: &'static str,
        /// The file or folder.
        path: PathBuf,
    },
    /// Samples cannot be drawn.
    #[error(transparent)]
    Drawn(#[from] SamplesError),
    /// Densities cannot be tracked.
    #[error(transparent)]
    Densities(#[from] DensityError),
    /// Harmonics cannot be read as densities.
    #[error(transparent)]
    Harmonics(#[from] ShError),
}

/// What else helps where an image is followed as `holds`: one of densities that does not say so is taken
/// for peaks.
fn densities(holds: &str) -> &'static str {
    if holds == "peaks" { ", or name densities by --sh-basis or --hot" } else { "" }
}

/// What was read.
pub(super) enum Found {
    Samples(StickSamples),
    Densities(Densities),
}

impl Source {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Samples(path) => path,
            Self::Peaks { image, .. } => image,
            Self::Function(files) => &files.image,
        }
    }

    /// What an image holds: spherical harmonics where it says so, else directions. (`frame`,
    /// `dispersion_deg` and `sure` as in [`Source::Peaks`].)
    ///
    /// # Errors
    /// [`SourceError`] where the image cannot be read, or holds harmonics of no known basis.
    pub fn of_image(
        image: PathBuf,
        frame: Option<BvecFrame>,
        dispersion_deg: f64,
        sure: bool,
    ) -> Result<Self, SourceError> {
        let claim = if sure { None } else { Claim::from_header(&ImageHeader::read(&image)?) };
        if let Some(Claim { what: Contents::Harmonics(_), .. }) = claim {
            let frame = frame.map(Named);
            let files = OrientationFiles { image, frame, ..OrientationFiles::default() };
            return Ok(Self::Function(files.settled()?));
        }
        Ok(Self::Peaks { image, frame, sure, dispersion_deg })
    }

    /// What was asked for, as records list it.
    pub(super) fn parameters(&self) -> Value {
        match self {
            Self::Samples(_) => json!({ "kind": "samples" }),
            Self::Peaks { image: _, frame, sure, dispersion_deg } => json!({
                "kind": "peaks", "frame": frame.map(Named), "peaks": sure,
                "dispersion_deg": dispersion_deg,
            }),
            Self::Function(files) => json!({
                "kind": "function", "sh_basis": files.sh_basis, "order": files.order,
                "frame": Named(files.frame()),
            }),
        }
    }

    /// The files or the folder, with what they are.
    pub(super) fn inputs(&self) -> Vec<Input> {
        match self {
            Self::Samples(path) => vec![("directions".to_owned(), path.clone())],
            Self::Peaks { image, .. } => with_sidecar("directions", image).collect(),
            Self::Function(files) => with_sidecar("directions", &files.image).collect(),
        }
    }

    /// What the file or folder holds, in words.
    pub fn holds(&self) -> &'static str {
        match self {
            Self::Samples(_) => "samples",
            Self::Peaks { .. } => "peaks",
            Self::Function(_) => "functions",
        }
    }

    /// What streamlines run through.
    pub fn through(&self) -> Through {
        match self {
            Self::Samples(_) | Self::Peaks { .. } => Through::Samples,
            Self::Function(_) => Through::Densities,
        }
    }

    /// Reads samples or densities, or makes samples of peaks.
    ///
    /// # Errors
    /// [`SourceError`].
    pub(super) fn read(
        &self,
        mask: Option<&Path>,
        rng_seed: u64,
        log: &Logbook<'_>,
    ) -> Result<Found, SourceError> {
        let workers = log.session().on.workers;
        let samples = match self {
            Self::Samples(path) => {
                workers.install(|| read_bedpostx(path, mask, &OpenOptions::default()))?
            }
            Self::Peaks { image, frame, sure, dispersion_deg } => {
                let (peaks, frame) = read_peaks(image, *frame, *sure, log)?;
                let mask = match mask {
                    Some(path) => Some(workers.install(|| read_mask(path, &peaks.grid))?),
                    None => None,
                };
                let scatter = Scatter { deg: *dispersion_deg, rng_seed };
                from_peaks(&peaks, frame, mask, scatter, workers)?
                    .ok_or_else(|| SourceError::Nothing(image.clone()))?
            }
            Self::Function(files) => {
                let files = OrientationFiles { mask: mask.map(Path::to_owned), ..files.clone() };
                let field = files.read(log)?;
                return Ok(Found::Densities(densities_of(&field, &field.mask, log)?));
            }
        };
        Ok(Found::Samples(samples))
    }
}

/// The densities of a field in the voxels of a mask.
pub(super) fn densities_of(
    field: &OrientationField,
    mask: &Mask,
    log: &Logbook<'_>,
) -> Result<Densities, SourceError> {
    let OrientationField { order, basis, frame, .. } = *field;
    let coefficients = &*field.coefficients;
    let functions = Functions { coefficients, order, basis, frame, mask };
    let workers = log.session().on.workers;
    Ok(Densities::new(mask, order, frame, workers, functions.entries()?)?)
}

/// Directions, three volumes each, and their axes.
///
/// # Errors
/// [`SourceError`].
pub(crate) fn read_peaks(
    path: &Path,
    frame: Option<BvecFrame>,
    sure: bool,
    log: &Logbook<'_>,
) -> Result<(Image, BvecFrame), SourceError> {
    let workers = log.session().on.workers;
    let stored = workers.install(|| StoredImage::open(path, &OpenOptions::default()))?;
    let volumes = stored.n_volumes();
    if !sure {
        Claim::checked(&stored, Contents::Directions)?;
    }
    if !volumes.is_multiple_of(3) {
        return Err(SourceError::Volumes { path: path.to_owned(), volumes });
    }
    warn_of_place(&stored, log);
    let mut peaks = workers.install(|| stored.to_image())?;
    let is_by_axis = matches!(stored.volume_dims(), [_, 3]);
    if is_by_axis {
        peaks = by_direction(&peaks);
    }
    let claim = if sure { None } else { check_directions(&stored, &peaks)? };
    let frame = match (frame, claim) {
        (Some(frame), _) => frame,
        (None, Some(Claim { frame: Some(frame), place, .. })) => {
            log.note(&format!("directions are in axes of {}, says their {place}", frame.name()));
            frame
        }
        (None, _) => {
            if is_by_axis {
                log.warn(
                    Page::Tracking,
                    "five dimensions, as DIPY writes peaks: they are taken to be in scanner axes, \
                     where DIPY's own are in voxel axes (--frame voxel)",
                );
            }
            BvecFrame::Scanner
        }
    };
    Ok((peaks, frame))
}

/// x, y, z of each direction one after the other, of all x, all y, all z.
fn by_direction(peaks: &Image) -> Image {
    let n = peaks.n_volumes / 3;
    let mut sorted = Image::zeros(peaks.grid, peaks.n_volumes);
    for (peak, k) in (0..n).flat_map(|peak| (0..3).map(move |k| (peak, k))) {
        sorted.volume_mut(3 * peak + k).copy_from_slice(peaks.volume(k * n + peak));
    }
    sorted
}
