//! Fibre orientation densities by constrained spherical deconvolution.
//!
//! The signal of a shell is the density of fibre orientations, a spherical function F, convolved
//! with the signal of a single fibre, plus isotropic signals of grey matter and fluid:
//! s(g) = Σ_lm R_l F_lm Y_lm(g) + r_gm x_gm + r_csf x_csf (Tournier 2004; Jeurissen 2014). F is
//! estimated by least squares over all shells at once, with F ≥ 0 in [`N_DIRECTIONS`] directions
//! and x ≥ 0 (Tournier 2007 introduced the constraint; here it holds exactly, as in Jeurissen's
//! formulation). The amplitude of F is 1 per unit integral for tissue like that of the response:
//! the same scale, basis and axes as MRtrix3, so that its programs read the result.
//!
//! * [`fit`]: from a series to maps;
//! * [`Response`]: the signal of one tissue, read and written as MRtrix3's text;
//! * [`estimate`]: responses from the data;
//! * [`Deconvolution`]: the problem that all voxels share, and its fast solution, of one voxel or of
//!   a [`Group`] side by side; the plain one is the oracle of the tests, `oracle`; [`device`] holds the
//!   kernel.
//!
//! # Voxels without fibres
//! Where the best density is zero it is exactly zero, and the status says fitted (1): that there are no
//! fibres is a result, not one that a constraint has bent.
//!
//! # Super-resolution
//! An order needs (order + 1)(order + 2)/2 directions to be determined by the data alone. With
//! fewer the constraint supplies the rest, as Tournier (2007) showed, as long as the directions
//! determine the function up to half the order (6 unknowns for order 4, 15 for 6 and 8, 28 for 10 and 12): with fewer
//! than that the order is refused. A slight preference for small coefficients
//! ([`REGULARISATION`]) decides what neither data nor constraint do.

pub(crate) mod check;
mod convolution;
mod deconvolution;
pub mod device;
mod error;
pub mod estimate;
mod fit;
mod group;
mod mean_response;
mod no_fibres;
mod options;
#[cfg(test)]
mod oracle;
mod price;
mod response;
mod shells;
mod sphere;
#[cfg(test)]
mod tests;

pub use deconvolution::Deconvolution;
pub use error::FodError;
pub use fit::{FodFit, check_directions, fit, maps};
pub use group::Group;
pub use mean_response::Brightness;
pub use options::{FodOptions, REGULARISATION, Tissues};
pub use response::{Response, ResponseError, Responses};
pub use sphere::N_DIRECTIONS;
