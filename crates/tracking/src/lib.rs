//! Probabilistic tractography over samples of fibre directions.
//!
//! A streamline starts at a [`Seed`] and follows, in both directions, random samples of the
//! directions in the voxels around it (Behrens et al. 2007): the algorithm is FSL's probtrackx2.
//!
//! * [`Field`]: the samples, as propagation reads them; [`Space`]: where seeds and regions are.
//! * [`Propagation`]: step, curvature, choice of fibres; [`Rules`]: regions to avoid, to reach, to
//!   stop in.
//! * [`propagate`]: one half of one streamline, as plain scalar code that reads like the
//!   description: the oracle. [`track`] makes the same streamlines many at a time, in SIMD lanes on
//!   all threads, [`track_on`] on devices, [`track_among`] on several processes.
//! * [`Collect`] is what takes the finished samples: a [`Tally`] counts visits, targets and
//!   connections, a [`Lines`] makes streamlines of them. What it [`Needs`] says what devices may count
//!   in its place.
//!
//! Positions are voxel coordinates with integer = centre in FSL's radiological frame (x reversed
//! where det(affine) > 0): it decides what each random number means. Random numbers depend on seed
//! voxel, sample and step alone, so that nothing changes with threads, lanes or further seeds.
//!
//! This crate knows nothing of commands.

mod checks;
mod counts;
mod densities;
mod device;
mod draws;
mod driver;
mod fast;
mod field;
mod lines;
mod local;
mod locations;
mod mesh;
mod met;
mod needs;
mod options;
mod oracle;
mod packed;
mod region;
mod rules;
mod sample;
mod seeds;
mod space;
mod step;
mod tally;
mod tissues;
mod tracking;
mod warp;

pub use checks::checks;
pub use counts::Counts;
pub use densities::{
    Anatomy, Attempts, Densities, DensityError, DensityPropagation, DensityRule, DensityTracking,
    SeedChances, SeedFixel,
};
pub use draws::{Draws, Keyed, Lookup, Sequence};
pub use driver::{
    Collected, Deal, Reseed, Selected, devices_judge, track, track_among, track_densities,
    track_on, track_reseeded, track_slowly,
};
pub use field::{Field, FieldSize, is_reversed, radiological};
pub use lines::Lines;
pub use local::{LocalRules, VoxelMap};
pub use locations::Locations;
pub use mesh::{Mesh, MeshTooLarge};
pub use met::Met;
pub use needs::{Countable, Needs, Points};
pub use options::{EndReason, FirstFibre, Propagation, SampleChoice};
pub use oracle::{HalfEnd, Propagator, Visit, propagate};
pub use region::{Region, Step};
pub use rules::{Judgement, LoopCheck, Rules, Waypoints};
pub use sample::{Collect, Parcel, Sample};
pub use seeds::{Seed, seeds_of_region};
pub use space::{SingularTransform, Space};
pub use tally::{
    NetworkMatrix, Pair, Pairs, PlaceMatrix, SeedMatrix, Tally, Targets, Visited, Visits,
    VoxelMatrix,
};
pub use tissues::{LabelError, Labels, TissueError, Tissues};
pub use tracking::Tracking;
pub use warp::{Warp, WarpError, covers};
