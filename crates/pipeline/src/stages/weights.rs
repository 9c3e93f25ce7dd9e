//! A weight for each streamline, from a list or from the tractogram's own data.

use std::path::{Path, PathBuf};

use fimbria_image::{NumberRows, NumbersError};
use fimbria_streamlines::{Header, Streamlines, open};

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
fn is_weight(value: f64) -> bool {
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

/// Where weights come from.
pub(in crate::stages) enum Weights {
    /// Nowhere: 1 each.
    Equal,
    /// Data per streamline of this name.
    Own(String),
    /// A file, in the order of the streamlines.
    Listed(PathBuf, Vec<f64>),
}

/// True where `given` names no data of a tractogram with this header: it is a file.
fn is_file(given: &str, header: &Header) -> bool {
    !header.per_streamline.iter().any(|kind| kind.name == given)
}

/// The file of weights; none where all tractograms have data of that name.
pub(in crate::stages) fn weights_file<'a>(
    given: Option<&'a str>,
    inputs: &[PathBuf],
) -> Option<&'a Path> {
    let given = given?;
    let is_own = |path: &PathBuf| open(path).is_ok_and(|open| !is_file(given, open.header()));
    (!inputs.iter().all(is_own)).then(|| Path::new(given))
}

/// What a record says of them: a file is among the inputs.
pub(in crate::stages) fn in_record<'a>(
    given: Option<&'a str>,
    inputs: &[PathBuf],
) -> Option<&'a str> {
    match weights_file(given, inputs) {
        Some(_) => Some("listed"),
        None => given,
    }
}

impl Weights {
    /// What `given` is for a tractogram with this header.
    pub(in crate::stages) fn find(
        given: Option<&str>,
        header: &Header,
    ) -> Result<Self, WeightsError> {
        match given {
            None => Ok(Self::Equal),
            Some(given) if is_file(given, header) => {
                let path = PathBuf::from(given);
                let all = read_weights(&path)?;
                Ok(Self::Listed(path, all))
            }
            Some(given) => Ok(Self::Own(given.to_owned())),
        }
    }

    /// The weights of a chunk, whose first streamline has this number.
    pub(in crate::stages) fn of_chunk(
        &self,
        first: usize,
        chunk: &Streamlines,
    ) -> Result<Vec<f64>, WeightsError> {
        match self {
            Self::Equal => Ok(vec![1.0; chunk.len()]),
            Self::Listed(path, all) => match all.get(first..first + chunk.len()) {
                Some(part) => Ok(part.to_vec()),
                None => Err(WeightsError::Number { path: path.clone(), weights: all.len() }),
            },
            Self::Own(name) => {
                let column = chunk.streamline_column(name);
                let own: Vec<f64> =
                    column.iter().flat_map(|c| c.values().step_by(c.kind.width)).collect();
                match own.iter().position(|value| !is_weight(*value)) {
                    Some(at) => {
                        let (name, streamline, value) = (name.clone(), first + at, own[at]);
                        Err(WeightsError::NoWeightOf { name, streamline, value })
                    }
                    None => Ok(own),
                }
            }
        }
    }

    /// Refuses a list that is longer than the tractogram.
    pub(in crate::stages) fn check_number(&self, streamlines: usize) -> Result<(), WeightsError> {
        match self {
            Self::Listed(path, all) if all.len() > streamlines => {
                Err(WeightsError::Number { path: path.clone(), weights: all.len() })
            }
            _ => Ok(()),
        }
    }

    pub(in crate::stages) fn is_listed(&self) -> bool {
        matches!(self, Self::Listed(..))
    }
}
