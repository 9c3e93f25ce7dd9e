//! Diffusion kurtosis: ln S = ln S0 - b gᵀDg + (b²/6) V(g), V = MD² W (Jensen 2005).
//!
//! [`fit`] takes a series, a mask and a gradient table, and gives the maps of a
//! [`Fitted`](crate::Fitted); [`DkiOptions`] choose the [`Method`], whether the estimate is
//! constrained to what diffusion can be, and, with [`Compat`], whose numerics to follow.
//!
//! A fit is a log-linear one of 22 unknowns (`fimbria-fitting`), where asked a non-linear one that
//! starts from it; a search for voxels that violate a constraint on a set of directions, which are
//! moved to the closest admissible estimate by an active-set method; and the maps. K(n) = V(n) /
//! D(n)² divides by diffusivities: where D is not positive definite, MK, AK, RK, Kmax and Kmin are
//! not defined and NaN (only an unconstrained fit leaves such voxels), and where the mean
//! diffusivity is not positive, so are W, MKT and KFA.

mod check;
mod constraints;
mod device;
mod error;
mod fit;
pub(crate) mod form;
mod lanes;
mod layout;
mod map;
mod moments;
mod options;
pub(crate) mod oracle;
mod problem;
mod recipe;
#[cfg(test)]
mod tests;

pub(crate) use check::check;
pub use error::DkiError;
pub use fit::fit;
pub use map::DkiMap;
pub use options::{Compat, DkiOptions, KurtosisRange, Method};
pub use problem::Problem;
