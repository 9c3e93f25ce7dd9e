//! Why a phantom cannot be made.

use fimbria_compute::Interrupted;
use fimbria_compute::fft::FftError;
use fimbria_image::counted;

/// A specification that describes no phantom, or one that does not fit into memory.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PhantomError {
    /// A parameter out of its range.
    #[error("{parameter} = {value}: it must be {needed}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// The value given.
        value: String,
        /// What it must be.
        needed: &'static str,
    },
    /// More voxels than a mask can number, or fewer than one.
    #[error("a grid of {dims:?} voxels: every size must be at least 1, the product below 2^32")]
    Grid {
        /// The sizes given.
        dims: [usize; 3],
    },
    /// The series does not fit into memory.
    #[error(
        "there is no memory for {} of {voxels} voxels ({:.0} MB)", counted(*n_volumes, "volume"),
        *bytes as f64 / 1e6
    )]
    Memory {
        /// Volumes of the image that could not be held.
        n_volumes: usize,
        /// Voxels of each.
        voxels: usize,
        /// Its size.
        bytes: u128,
    },
    /// Its field cannot be made.
    #[error("no field can be made: {0}")]
    Field(#[from] FftError),
    /// The user stopped it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl PhantomError {
    /// `Ok` where `valid`, else the error that names the parameter.
    pub(crate) fn require(
        valid: bool,
        parameter: &'static str,
        value: impl std::fmt::Debug,
        needed: &'static str,
    ) -> Result<(), Self> {
        if valid {
            Ok(())
        } else {
            Err(Self::Parameter { parameter, value: format!("{value:?}"), needed })
        }
    }
}
