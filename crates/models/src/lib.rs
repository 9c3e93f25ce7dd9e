//! Signal models of diffusion MRI and the batched fits that estimate them.
//!
//! * [`dti`]: the diffusion tensor by ordinary, weighted, iteratively reweighted, non-linear and
//!   robust (RESTORE) least squares, and all its maps;
//! * [`hot`]: generalised diffusion tensors, homogeneous forms of order 4, 6 and 8;
//! * [`dki1d`] and [`stremi1d`]: kurtosis and stretched exponential along each gradient direction;
//!   [`stremi`]: the stretched-exponential model over all volumes; [`mono`] and [`ivim`]: one and
//!   two exponentials; [`curve`]: what these share; [`nlls`]: exponentials of linear forms;
//! * [`noise`]: noise levels from repeated volumes or from background;
//! * [`brain_mask`]: a mask of the brain where the user has none;
//! * [`gradient_check`]: whether the gradient table lies as the image does; [`quality`]: whether a series is
//!   good, with thresholds;
//! * [`dki`]: diffusion and kurtosis tensors, constrained where need be, and their maps; [`msdki`]:
//!   kurtosis of the mean signal of each shell; [`axdki`]: kurtosis that is round about one axis;
//! * [`noddi`]: neurite density and dispersion, and free water;
//! * [`fwdti`]: the tensor of tissue beside free water; [`smt`]: means of shells over all directions;
//!   [`wmti`]: tissue of one bundle from kurtosis;
//! * [`mapmri`]: the propagator as a series of Hermite functions; [`gqi`]: spins along each direction, without a model;
//! * [`expr`]: any signal that a user writes down, by Levenberg-Marquardt;
//! * [`fod`]: fibre orientation densities by constrained spherical deconvolution;
//! * [`normalise`]: intensities of several tissues, comparable over one head and between heads;
//! * [`voxelwise`]: what drives any batched fit over the voxels of a mask.
//!
//! Each model comes three times, in modules of the same names: `oracle`, plain `f64` code that
//! reads like the paper and is what every test holds the others to; `lanes`, the same in `f32`
//! with one voxel per SIMD lane; and `device`, a kernel text with its host code. [`checks`] holds
//! the kernels to the oracles on any device.
//!
//! Inside fits b is in ms/µm² and diffusivity in µm²/ms; maps are in mm²/s. Directions and tensors
//! are in scanner RAS+ axes. This crate reads no files and prints nothing.

pub mod axdki;
pub mod brain_mask;
mod checks;
pub mod curve;
pub mod dki;
pub mod dki1d;
pub mod dti;
pub mod expr;
pub mod fod;
pub mod fwdti;
pub mod gqi;
pub mod gradient_check;
mod half_sphere;
pub mod hot;
pub mod ivim;
pub mod mapmri;
pub mod mono;
pub mod msdki;
pub mod nlls;
pub mod noddi;
pub mod noise;
pub mod normalise;
mod otsu;
mod precision;
mod protocol;
pub mod quality;
pub mod smt;
pub mod stremi;
pub mod stremi1d;
pub mod voxelwise;
pub mod wmti;

pub use checks::checks;
pub use protocol::ProtocolError;
pub use voxelwise::{Fitted, FittedMap, RaisedSamples};

/// Hands the models that the program fits to the macro `$to`: their names, in the order of a run.
#[macro_export]
macro_rules! each_fit {
    ($to:ident) => {
        $to! { dti hot fod dki stremi dki1d stremi1d ivim mono msdki noddi fwdti smt axdki dkimicro mapmri gqi expr }
    };
}
