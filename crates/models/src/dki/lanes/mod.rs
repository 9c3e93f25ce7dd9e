//! The kurtosis fit in `f32`, one voxel per SIMD lane: everything between the linear fit and the
//! maps. Every operation acts on each lane alone.

mod along;
pub(in crate::dki) mod constrain;
pub(crate) mod extremes;
mod frame;
pub(crate) mod maps;
pub(crate) mod means;
mod pricing;
pub(crate) mod violations;

pub(crate) use constrain::Constrain;
pub(crate) use extremes::Grid;
pub(crate) use maps::MapVoxels;
pub(crate) use violations::FindViolations;
