//! How good a series is, in numbers that need no model of tissue, and what follows from them.
//!
//! Every volume is compared with what its neighbours in q-space, volumes of its shell along nearly the
//! same direction, say that it should be. What it has in common with them, what they leave, how far it
//! lies from where they lie, and which of its slices are darker than theirs, follow from one pass over the
//! voxels.
//!
//! * `neighbours`: who is whose neighbour;
//! * `series`: the pass over the voxels;
//! * `displacement`: how far a volume lies from its neighbours;
//! * `verdict`: what follows, with thresholds and where they come from.

mod displacement;
mod neighbours;
mod series;
mod verdict;

#[cfg(test)]
mod tests;

pub use neighbours::Neighbours;
pub use series::{SeriesQuality, ShellQuality, VolumeQuality};
pub use verdict::{
    Level, Verdict, b_values, contrast, dropped_slices, gradients, moved, moved_by_confounds,
    neighbour_correlation, noise, residuals, status, unphysical,
};
