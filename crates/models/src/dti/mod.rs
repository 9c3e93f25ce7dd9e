//! The diffusion tensor: ln S = ln S0 - b gᵀDg.

mod design;
mod deviation;
pub mod device;
mod error;
mod fit;
mod fit_on_devices;
mod lanes;
mod layout;
mod linalg;
mod map;
pub mod operators;
mod options;
pub mod oracle;
mod problem;
mod recipe;
mod tables;
#[cfg(test)]
mod testing;

pub use design::Design;
pub use error::DtiError;
pub use fit::{DtiFit, RaisedSamples, fit};
pub use map::DtiMap;
pub use options::{Compat, DtiOptions, Method, Precision};
pub use problem::Problem;
