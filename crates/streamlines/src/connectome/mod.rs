//! Connectome matrices: which nodes of a label image streamlines connect.
//!
//! A [`Nodes`] finds the nodes of a streamline, a [`Connectome`] counts pairs of them, [`RegionNames`] say
//! what they are called.

mod matrix;
mod names;
mod nodes;
mod npy;

pub use matrix::{Connectome, EdgeScale, EdgeStatistic};
pub use names::{NamesError, RegionNames};
pub use nodes::{AssignedNodes, Assignment, LabelError, Nodes};
pub use npy::npy;
