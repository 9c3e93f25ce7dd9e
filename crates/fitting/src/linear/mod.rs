//! Log-linear least squares: ln s = ln A + Σ c·x of any design, for many sets of samples at once.
//!
//! A [`Design`] is made of [`Column`]s, monomials of each sample's covariates (in diffusion MRI b
//! and the direction: the diffusion tensor has columns -b g g, kurtosis b² g g g g beside them).
//! Since columns know their powers, the elements of XᵀWX that are the same sum are made once: 95
//! sums for the 22 unknowns of the kurtosis model instead of 253, 199 for a form of order 8
//! instead of 1081.
//!
//! A [`LogLinearFit`] holds a design and a [`Recipe`]: which passes with which weights (OLS, WLS,
//! IWLS), and how samples without a logarithm are raised. It comes three times: [`oracle`], plain
//! `f64` by Householder's QR; lanes, `f32` with one problem per SIMD lane; and [`DeviceFit`], a
//! kernel. Samples are divided by their mean, which centres their logarithms, and each pass
//! solves for the correction of the estimate before it and refines that once with the factor at
//! hand: `f32` then differs from `f64` by its last digits only. What `f32` cannot solve at all is
//! solved by the oracle. [`robust`] fits without outliers, with the weights of any of them.

mod checks;
mod column;
mod design;
mod device;
mod error;
mod fit;
mod lanes;
pub mod oracle;
mod qr;
mod recipe;
pub mod robust;
mod tables;
#[cfg(test)]
mod testing;

pub(crate) use checks::checks;
pub use column::Column;
pub use design::Design;
pub use device::DeviceFit;
pub use error::DesignError;
pub use fit::{LogLinearFit, Outcome, Problems, Rows};
pub use recipe::{FirstWeights, Floor, Passes, Recipe};
