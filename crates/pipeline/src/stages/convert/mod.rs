//! The stages that bring images and tractograms from one format to another.

mod image;
mod tensors;
mod tractogram;

pub use image::ConvertImage;
pub use tensors::TensorConventions;
pub use tractogram::ConvertTractogram;
