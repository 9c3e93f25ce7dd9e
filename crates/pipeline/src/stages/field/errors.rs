use std::path::PathBuf;

use fimbria_image::{GridMismatch, ImageError};
use fimbria_qsm::QsmError;
use fimbria_qsm::phase::PhaseError;

use crate::stages::b0::B0Error;
use crate::stages::sidecar::SidecarError;

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
    #[error("the phase at echo time 0 of coils needs two echoes; there is one")]
    CoilsOfOneEcho,
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
    #[error(
        "the phase at echo time 0 (--offset smooth, true) needs two echoes or more; there is one"
    )]
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
    /// A field that is known already has no echo time.
    #[error("the sidecar of {} says Units {unit}, which is a field: it has no echo time (--te)", path.display())]
    TimeOfField {
        /// The image.
        path: PathBuf,
        /// As its sidecar has it.
        unit: String,
    },
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
