//! What a collector asks for, so that devices need not hand back more.

use crate::region::Region;

/// The points of which samples a collector is handed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Points {
    /// None.
    None,
    /// Those of the halves that are kept.
    Kept,
    /// All.
    #[default]
    All,
}

/// What a collector asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs<'a> {
    /// Points it is handed even of samples that a device has counted.
    pub points: Points,
    /// What a device may count in its place; `None` where it takes every sample.
    pub counts: Option<Countable<'a>>,
}

/// What is counted of samples by whole numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Countable<'a> {
    /// Steps to each voxel beside visits.
    pub distances: bool,
    /// Which regions of the network are reached.
    pub network: bool,
    /// What seeds reach.
    pub targets: &'a [Region],
}
