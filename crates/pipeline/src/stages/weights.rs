//! Lists of a weight for each streamline.

use std::path::{Path, PathBuf};

use fimbria_image::{NumberRows, NumbersError};

/// Weights that are no use.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// They are not numbers, or what names them is neither a file nor data of the tractogram.
    #[error("weights")]
    Numbers(#[from] NumbersError),
    /// One in a file is negative.
    #[error("{}, line {line}: `{value}` is no weight, a finite number from 0 on", path.display())]
    NoWeight {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        value: f64,
    },
    /// One of a tractogram is negative or not finite.
    #[error(
        "`{name}` of streamline {streamline} is {value}, which is no weight, a finite number from 0 on"
    )]
    NoWeightOf {
        /// The data of streamlines.
        name: String,
        /// From 0.
        streamline: usize,
        /// What it has.
        value: f64,
    },
    /// Not as many weights as streamlines.
    #[error(
        "{} has {weights} weights, and the tractogram another number of streamlines", path.display()
    )]
    Number {
        /// The file.
        path: PathBuf,
        /// How many it has.
        weights: usize,
    },
}

/// True where a number can be a weight.
pub(super) fn is_weight(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

/// The weights of a file, in any number of lines: of `fimbria life` and `sift2`, of COMMIT and of tcksift2.
///
/// # Errors
/// Where it cannot be read, or a word is no finite number from 0 on.
pub(super) fn read_weights(path: &Path) -> Result<Vec<f64>, WeightsError> {
    let weight = |(line, value)| match is_weight(value) {
        true => Ok(value),
        false => Err(WeightsError::NoWeight { path: path.to_owned(), line, value }),
    };
    NumberRows::read(path)?.numbers().map(weight).collect()
}
