//! What a collector asks for, so that devices need not hand back more.

use crate::Space;
use crate::locations::Locations;
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

/// What is counted of samples by whole numbers, and what is handed back of each of them to be counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Countable<'a> {
    /// Steps to each voxel beside visits.
    pub distances: bool,
    /// Which regions of the network are reached.
    pub network: bool,
    /// Dyads of the steps that first lead to each voxel; devices need double precision for them.
    pub orientations: bool,
    /// What seeds reach.
    pub targets: &'a [Region],
    /// Places on the grid of the seeds that each sample [meets](crate::Met); voxels alone.
    pub places: [Option<&'a Locations>; 3],
    /// Whether a sample meets the voxel of its seed once more after the seed itself.
    pub returns: bool,
    /// Places on another grid, voxels alone, and the space that takes voxels of the seed space to that grid by
    /// [`from_samples`](Space::from_samples).
    pub elsewhere: Option<(&'a Space, &'a Locations)>,
}
