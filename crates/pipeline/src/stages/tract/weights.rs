//! A weight for each streamline, from a list or from the tractogram's own data.

use std::path::{Path, PathBuf};

use fimbria_streamlines::{Header, Streamlines, open};

use crate::StageError;
use crate::stages::weights::{WeightsError, is_weight, read_weights};

/// Where weights come from.
pub(super) enum Weights {
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
pub(super) fn weights_file<'a>(given: Option<&'a str>, inputs: &[PathBuf]) -> Option<&'a Path> {
    let given = given?;
    let is_own = |path: &PathBuf| open(path).is_ok_and(|open| !is_file(given, open.header()));
    (!inputs.iter().all(is_own)).then(|| Path::new(given))
}

/// What a record says of them: a file is among the inputs.
pub(super) fn in_record<'a>(given: Option<&'a str>, inputs: &[PathBuf]) -> Option<&'a str> {
    match weights_file(given, inputs) {
        Some(_) => Some("listed"),
        None => given,
    }
}

impl Weights {
    /// What `given` is for a tractogram with this header.
    pub(super) fn find(given: Option<&str>, header: &Header) -> Result<Self, WeightsError> {
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
    pub(super) fn of_chunk(
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
    pub(super) fn check_number(&self, streamlines: usize) -> Result<(), StageError> {
        match self {
            Self::Listed(path, all) if all.len() > streamlines => {
                Err(WeightsError::Number { path: path.clone(), weights: all.len() }.into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_listed(&self) -> bool {
        matches!(self, Self::Listed(..))
    }
}
