//! Connectome matrices: which nodes of a label image streamlines connect.
//!
//! A [`Nodes`] finds the node of an end point, a [`Connectome`] counts pairs of them.

mod matrix;
mod nodes;

pub use matrix::Connectome;
pub use nodes::{Assignment, LabelError, Nodes};
