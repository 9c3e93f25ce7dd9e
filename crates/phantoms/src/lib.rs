//! Digital subjects with known truth.
//!
//! * [`crossing`]: a head with straight and bending bundles that cross at 30 to 90 degrees in a fan
//!   of fibres, grey matter and fluid around them, measured with any number of shells and Rician
//!   noise on any grid, oblique ones included. For tensors, fibre directions and tracts.
//! * [`protocol`]: the same anatomy as a fixed brain under the protocol of a paper (10 b-values up
//!   to 8000 s/mm² along the same 30 directions), with the kurtosis or the stretching exponent of
//!   every direction known exactly.
//! * [`gre`]: the same head in a gradient-echo scan: phase and magnitude of the field of its
//!   susceptibility tensors and of air below it.
//! * [`head`](head::head): a head as in people, folded cortex, nuclei and named bundles, measured by
//!   compartments whose kurtosis is not zero. For tracking, quality checks and first pictures.
//! * [`tensors`]: a sheet of higher-order tensors with one or two fibres per voxel, without a
//!   series.
//!
//! The first two kinds return a [`Subject`]: series, gradient table, mask, and a [`Truth`] of named maps.
//! Directions are in scanner RAS+ axes. Everything is a function of the specification: the same
//! bits for any number of threads, noise keyed by (seed, voxel, volume). Nothing is written to
//! disk here.
//!
//! How it is made, one idea per file: `bundle` (paths and their distances), `anatomy` (where they
//! are), `placement` (where the image is), `tissue` (sub-voxel sampling into a composition per
//! voxel), `signal` (laws of the signal of a composition), `render` (a series under noise),
//! `single` and `truth` (what is known afterwards).

mod acquisition;
mod anatomy;
mod bundle;
pub mod closeness;
mod crossing;
mod directions;
mod error;
mod field;
mod gre;
pub mod head;
mod placement;
mod protocol;
mod render;
mod signal;
mod single;
mod tensors;
mod tissue;
mod tracts;
mod truth;
mod zeros;

pub use acquisition::{Acquisition, ShellSpec};
pub use crossing::{CrossingSpec, crossing};
pub use directions::spread_directions;
pub use error::PhantomError;
pub use gre::{GreSpec, GreSubject, Susceptibilities, gre};
pub use placement::Placement;
pub use protocol::{B_VALUES_S_PER_MM2, DIRECTIONS, PerDirection, ProtocolSpec, protocol};
pub use signal::Diffusivities;
pub use tensors::{TensorSheet, TensorsSpec, tensors};
pub use tracts::{Tract, tracts};
pub use truth::{Subject, Truth, TruthMap};
