//! Images of diffusion MRI in memory and on disk.
//!
//! In memory everything is in one frame and one order:
//!
//! * a [`Grid`] holds the three spatial dimensions and `ras_from_vox`, the affine from voxel
//!   coordinates (integer = voxel centre) to scanner RAS+ millimetres;
//! * an [`Image`] is a grid with one or more `f32` volumes, x fastest, then y, z, volume;
//! * a [`Mask`] is a set of voxels of a grid;
//! * a [`GradientTable`] holds b in s/mm² and unit directions in scanner RAS+ axes;
//! * a [`SignalSource`] hands out the samples of chosen voxels, whatever type they are stored in.
//!
//! Conversion from a file's own frame, order and units happens once, in the module of its format:
//! one file per format. This crate knows nothing of models, devices or commands.

mod geometry;
mod gradients;
mod image;
mod mask;
mod signals;

pub use geometry::{Affine, Grid, GridMismatch};
pub use gradients::GradientTable;
pub use image::Image;
pub use mask::Mask;
pub use signals::SignalSource;
