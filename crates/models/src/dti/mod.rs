//! The diffusion tensor: ln S = ln S0 - b gᵀDg.

mod design;
mod deviation;
mod error;
mod lanes;
mod layout;
mod linalg;
mod map;
mod options;
pub mod oracle;
mod recipe;
mod tables;
#[cfg(test)]
mod testing;

pub use design::Design;
pub use error::DtiError;
pub use map::DtiMap;
pub use options::{Compat, DtiOptions, Method, Precision};
