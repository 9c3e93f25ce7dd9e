//! Tracking through functions on the sphere: orientation densities.
//!
//! A [`Densities`] holds a function of even order in every voxel; between voxels its coefficients are
//! interpolated trilinearly. [`DensityTracking`] follows it by one of three rules ([`DensityRule`]):
//! random arcs whose chance is that of the densities along them (second-order integration, Tournier,
//! Calamante, Connelly, Proc ISMRM 18, 1670 (2010)), curves whose curvatures are drawn by the densities
//! ahead (parallel transport, Aydogan, Shi, IEEE Trans Med Imaging 40, 635 (2021)), or the maximum nearest
//! to the direction it comes along.
//!
//! * [`oracle`] says in plain `f64` what a density, an arc, a curve and their chances are;
//! * [`arcs`] and [`transport`] draw them in SIMD lanes; [`ridges`] follows maxima, which [`maximum`] finds, with
//!   a particle in each lane;
//! * [`run`] makes streamlines of them, or of halves that a [`device`] made; [`anatomy`] says where tissues let
//!   them end.

mod anatomy;
mod arcs;
pub(crate) mod device;
mod directions;
mod field;
mod form;
mod maximum;
mod options;
#[cfg(test)]
mod oracle;
mod ridges;
mod run;
mod source;
mod starts;
mod transport;

pub use anatomy::Anatomy;
pub use field::{Densities, DensityError};
pub use options::{DensityPropagation, DensityRule};
pub use starts::{Attempts, DensityTracking, SeedChances, SeedFixel};

#[cfg(test)]
mod tests;
