//! From what an earlier stage found to samples of directions.

mod function;
mod peaks;

use std::path::{Path, PathBuf};

use fimbria_image::bedpostx::{BedpostxError, read_bedpostx};
use fimbria_image::sticks::StickSamples;
use fimbria_image::{BvecFrame, ImageError, Mask, OpenOptions, read_image, read_mask};

use self::function::from_function;
pub(super) use self::peaks::{Scatter, from_peaks};
use crate::Logbook;
use crate::stages::load_field::{FieldError, FieldFiles};

/// What directions come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A bedpostX folder, or the base name of its samples.
    Samples(PathBuf),
    /// Three volumes per direction, length = amplitude: `fimbria peaks`, or V1 of a tensor fit.
    Peaks {
        /// The image.
        image: PathBuf,
        /// Its axes.
        frame: BvecFrame,
        /// Directions are scattered around the peaks by this angle, degrees; 0 for none.
        dispersion_deg: f64,
    },
    /// A function on the sphere, as unique entries or spherical harmonics.
    Function(FieldFiles),
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
    /// A number of volumes that is no number of directions.
    #[error("{} has {volumes} volumes; directions take three each", path.display())]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
    },
    /// Nothing to follow.
    #[error("{} has no direction in any voxel of the mask", .0.display())]
    Nothing(PathBuf),
    /// There is not enough memory.
    #[error("{0} samples of {1} voxels need more memory than the system gives")]
    Memory(usize, usize),
    /// Harmonics of this order are not known.
    #[error("a function of order {0} cannot be tracked; orders 2 to 16 can")]
    Order(usize),
}

/// Samples drawn in each voxel where the source itself has none.
const N_SAMPLES: usize = 50;

impl Source {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Samples(path) => path,
            Self::Peaks { image, .. } => image,
            Self::Function(files) => &files.image,
        }
    }

    /// Reads or draws the samples.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn read(
        &self,
        mask: Option<&Path>,
        rng_seed: u64,
        log: &Logbook<'_>,
    ) -> Result<StickSamples, SourceError> {
        let workers = log.session().on.workers;
        match self {
            Self::Samples(path) => {
                Ok(workers.install(|| read_bedpostx(path, mask, &OpenOptions::default()))?)
            }
            Self::Peaks { image, frame, dispersion_deg } => {
                let peaks = workers.install(|| read_image(image))?;
                if peaks.n_volumes % 3 != 0 {
                    let (path, volumes) = (image.clone(), peaks.n_volumes);
                    return Err(SourceError::Volumes { path, volumes });
                }
                let mask = match mask {
                    Some(path) => Some(workers.install(|| read_mask(path, &peaks.grid))?),
                    None => None,
                };
                let scatter = Scatter { deg: *dispersion_deg, rng_seed };
                from_peaks(&peaks, *frame, mask, scatter, workers)?
                    .ok_or_else(|| SourceError::Nothing(image.clone()))
            }
            Self::Function(files) => {
                let files = FieldFiles { mask: mask.map(Path::to_owned), ..files.clone() };
                let field = files.read(log)?;
                from_function(&field, rng_seed, workers)?.ok_or(SourceError::Nothing(files.image))
            }
        }
    }
}

fn turned(m: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    m.map(|r| r[0] * v[0] + r[1] * v[1] + r[2] * v[2])
}

/// Room for samples in the voxels of `mask` where `has` says that there are any.
fn room(
    mask: Mask,
    has: impl Fn(usize) -> bool,
    n_fibres: usize,
    n_samples: usize,
) -> Result<Option<StickSamples>, SourceError> {
    let voxels: Vec<_> = mask.voxels.into_iter().filter(|v| has(*v as usize)).collect();
    if voxels.is_empty() {
        return Ok(None);
    }
    let n = voxels.len();
    StickSamples::empty(Mask { grid: mask.grid, voxels }, n_fibres, n_samples)
        .map(Some)
        .ok_or(SourceError::Memory(n_samples, n))
}
