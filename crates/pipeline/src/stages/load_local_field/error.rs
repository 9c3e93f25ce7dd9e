//! Why there is nothing to invert.

use std::path::PathBuf;

use fimbria_image::{GridMismatch, ImageError, counted};
use fimbria_qsm::QsmError;
use fimbria_qsm::dqsm_files::DqsmFileError;

use crate::stages::b0::B0Error;
use crate::stages::contents::ContentsError;

/// Why there is nothing to invert.
#[derive(Debug, thiserror::Error)]
pub enum LocalFieldError {
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A file of the dQSM program cannot be read.
    #[error(transparent)]
    Dqsm(#[from] DqsmFileError),
    /// An image is on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// An image holds something else than it is read as.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// B0 is unusable.
    #[error(transparent)]
    B0(#[from] B0Error),
    /// The field or the directions are unusable.
    #[error(transparent)]
    Qsm(#[from] QsmError),
    /// An image has too many volumes.
    #[error(
        "{} has {}; it must have {}", path.display(), counted(*found, "volume"),
        counted(*expected, "volume")
    )]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        found: usize,
        /// What it should have.
        expected: usize,
    },
    /// A conversion needs the field strength.
    #[error("a field in {unit} needs the strength of B0 in tesla")]
    NeedsB0 {
        /// The unit's name.
        unit: &'static str,
    },
    /// Numbers that cannot be a local field in ppm.
    #[error(
        "half of the field's voxels are beyond ±{median:.3} {unit}, which is {ppm:.3} ppm; a local \
         field is a fraction of 1 ppm: is the unit right, and is it a field rather than a phase?"
    )]
    TooStrong {
        /// Median magnitude as stored.
        median: f64,
        /// The unit's name.
        unit: &'static str,
        /// The same in ppm.
        ppm: f64,
    },
    /// Single numbers that are no field.
    #[error(
        "the field is beyond ±{most} ppm in {} of the mask, {worst:e} in the worst: leave them out of \
         the mask", counted(*count, "voxel")
    )]
    Beyond {
        /// How many.
        count: usize,
        /// The largest magnitude that a field has, ppm.
        most: f64,
        /// The worst number as stored.
        worst: f32,
    },
    /// Numbers that are ppm only if the user says so.
    #[error(
        "half of the field's voxels are beyond ±{median:.2}; a brain's local field in ppm is some \
         0.01: say what it is with --field-unit (ppm, where it is a strong one, or hz, rad/s, tesla \
         with --b0), or remove the background first"
    )]
    Unsaid {
        /// Median magnitude as stored.
        median: f64,
    },
    /// Numbers of another unit that were ppm already.
    #[error(
        "19 of 20 of the field's voxels are within ±{strong:.1e} {unit}, which is {ppm:.1e} ppm, \
         less than noise: is the field in ppm already (--field-unit ppm)?"
    )]
    RatherPpm {
        /// Magnitude of the strong ones as stored.
        strong: f64,
        /// The unit's name.
        unit: &'static str,
        /// The same in ppm.
        ppm: f64,
    },
    /// Numbers far below any noise.
    #[error(
        "the field is {rms:.1e} {unit} (root mean square), which is {ppm:.1e} ppm; noise alone is \
         above 1e-5 ppm: is the unit right (--field-unit)?"
    )]
    TooWeak {
        /// Root mean square as stored.
        rms: f64,
        /// The unit's name.
        unit: &'static str,
        /// The same in ppm.
        ppm: f64,
    },
    /// A field strength that the file contradicts.
    #[error("--b0 is {given} tesla, but the file of the field says {stored}: leave it out")]
    OtherB0 {
        /// As told.
        given: f64,
        /// As stored.
        stored: f64,
    },
    /// A truth that is none.
    #[error("the truth has no number, or the same one, in every voxel of the mask")]
    Truth,
    /// A relative field that is taken for one in ppm.
    #[error("{} is in radians, says its sidecar: --field-unit relative", .0.display())]
    SaidRelative(PathBuf),
    /// No voxel is reliable.
    #[error("no voxel of --two-pass lies inside the mask")]
    NoneReliable,
    /// Nothing is inside.
    #[error("no voxel to solve for: the mask (or the field) is zero everywhere")]
    Empty,
}
