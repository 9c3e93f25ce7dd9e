use fimbria_compute::Interrupted;
use fimbria_compute::fft::FftError;
use fimbria_image::GridMismatch;

/// Why a susceptibility map cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum QsmError {
    /// B0 has no direction.
    #[error("{0:?} is no direction of B0: it needs a finite length above 0")]
    B0([f64; 3]),
    /// The kernels need voxel axes at right angles.
    #[error("voxel axes meet at {angle_deg:.2} degrees: resample to a grid without shear")]
    Sheared {
        /// The angle farthest from a right one.
        angle_deg: f64,
    },
    /// Nothing to solve for.
    #[error("the mask holds no voxel")]
    EmptyMask,
    /// A mask with voxels beyond the volume.
    #[error("the mask names voxel {voxel} of a volume of {voxels}")]
    MaskOutside {
        /// The linear index.
        voxel: u32,
        /// Voxels of the volume.
        voxels: usize,
    },
    /// Two images that should share a grid do not.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// Numbers that should be finite are not.
    #[error("{count} voxels of {what} inside the mask are not finite")]
    NotFinite {
        /// What was looked at.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// Cylinders along several axes.
    #[error(
        "{count} voxels have several fibres: a cylinder has one; tensors and total variation take \
         several"
    )]
    Crossing {
        /// How many.
        count: usize,
    },
    /// Weights that are none.
    #[error("{count} of the weights are below 0 or not finite, or beyond 1e9")]
    Weights {
        /// How many.
        count: usize,
    },
    /// An anisotropy that is none.
    #[error("{what} is far above 1 in {count} voxels of the mask: it is a number of 0 to 1")]
    Anisotropy {
        /// What was looked at.
        what: &'static str,
        /// How many voxels.
        count: usize,
    },
    /// Weights that leave nothing.
    #[error("every weight is 0: no voxel of the field would count")]
    NoWeight,
    /// A vector of another length.
    #[error("{what} has {found} values where {expected} are needed")]
    Length {
        /// What was looked at.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it needs.
        expected: usize,
    },
    /// A parameter that makes no sense.
    #[error("{name} = {value:?}: {rule}")]
    Parameter {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        rule: &'static str,
    },
    /// The volume cannot be transformed.
    #[error(transparent)]
    Fft(#[from] FftError),
    /// A vector space or a device refused.
    #[error("{0}")]
    Space(String),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl QsmError {
    /// A refusal of the space that vectors live in.
    pub(crate) fn space(error: impl std::error::Error) -> Self {
        Self::Space(error.to_string())
    }
}
