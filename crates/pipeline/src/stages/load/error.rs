//! Why a subject cannot be read.

use std::path::PathBuf;

use fimbria_image::ImageError;
use fimbria_image::gradients::GradientError;

use crate::stages::contents::ContentsError;
use crate::stages::doubts::Doubt;

/// Why a subject cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The gradient table cannot be read.
    #[error(transparent)]
    Gradients(#[from] GradientError),
    /// b-values without directions or the other way round.
    #[error("bval and bvec belong together, and only one of them was given")]
    HalfPair,
    /// More than one gradient table.
    #[error("a gradient table was given twice: give bval with bvec, or grad, or bmatrix")]
    TwoTables,
    /// The threshold is no b-value.
    #[error("the b0 threshold is {0}; it must be a number from 0 on")]
    Threshold(f64),
    /// The series cannot be what it says.
    #[error("{}: {doubt}", path.display())]
    Doubtful {
        /// The series.
        path: PathBuf,
        /// Why not.
        doubt: Doubt,
    },
    /// The mask has no voxels.
    #[error("the mask {} has no voxel above zero", .0.display())]
    EmptyMask(PathBuf),
    /// No brain was found.
    #[error("no brain was found in {}, and no mask was given", .0.display())]
    NoBrain(PathBuf),
    /// The gradient non-linearity has another shape or place.
    #[error("the gradient deviation does not fit the series")]
    GradDev(#[from] fimbria_image::GridMismatch),
    /// An image holds something else.
    #[error(transparent)]
    Contents(#[from] ContentsError),
}
