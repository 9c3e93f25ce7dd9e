//! The file of tensors of which eigenpairs are found.

use std::fmt;
use std::path::{Path, PathBuf};

use fimbria_tensors::pairs::{ExtremesError, PairsError};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value};

/// Why there are no eigenpairs.
#[derive(Debug, thiserror::Error)]
pub enum EigenError {
    /// The file cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It does not hold tensors.
    #[error("{} is no list of tensors", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] fimbria_image::ImageError),
    /// No array of tensors.
    #[error("{}: {why}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A number of entries that no order has.
    #[error(
        "{found} entries: no symmetric tensor of order 2 or more in dimension {dimension} has as many"
    )]
    Entries {
        /// How many there are.
        found: usize,
        /// The dimension.
        dimension: usize,
    },
    /// A mask of what is no image.
    #[error("--mask goes with an image of tensors, which {} is not", path.display())]
    Mask {
        /// The file.
        path: PathBuf,
    },
    /// What only double precision does.
    #[error("{what}: use --precision double")]
    OnlyDouble {
        /// What was asked for.
        what: &'static str,
    },
    /// Kinds that the shift does not lead to.
    #[error("--shift {shift} leads to {shift} alone, which are not among --kinds")]
    NotAmongKinds {
        /// What it leads to.
        shift: String,
    },
    /// A batch that is not solved.
    #[error(transparent)]
    Extremes(#[from] ExtremesError),
    /// Not as many second lists as tensors.
    #[error("\"b\" has {found} lists of entries for {expected} tensors")]
    NumberOfB {
        /// Lists in "b".
        found: usize,
        /// Tensors.
        expected: usize,
    },
    /// Both ways to give a second list.
    #[error("tensors[{index}] has a \"b\" of its own beside the list \"b\" of the file")]
    TwoB {
        /// The tensor.
        index: usize,
    },
    /// Order and dimension are those of no tensor that is searched.
    #[error(transparent)]
    Size(#[from] PairsError),
    /// A tensor has no pairs, or none that are searched for.
    #[error("tensors[{index}]")]
    Tensor {
        /// The tensor.
        index: usize,
        /// Why.
        source: PairsError,
    },
}

/// Tensors of one order and dimension.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensors {
    /// m.
    pub order: usize,
    /// n.
    pub dimension: usize,
    tensors: Vec<Entries>,
    #[serde(default)]
    b: Option<Vec<Option<Vec<f64>>>>,
}

/// The unique entries of A, and of B for generalised pairs.
#[derive(Debug)]
pub struct Entries {
    /// Of A.
    pub a: Vec<f64>,
    /// Of B.
    pub b: Option<Vec<f64>>,
}

impl Tensors {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read or holds anything else.
    pub fn read(path: &Path) -> Result<Self, EigenError> {
        let path = || path.to_owned();
        let text = fimbria_image::read_regular(path())
            .map_err(|source| EigenError::Read { path: path(), source })?;
        serde_json::from_slice(&text).map_err(|source| EigenError::Json { path: path(), source })
    }

    /// The tensors, each with its B.
    ///
    /// # Errors
    /// Where B is given twice, or not for as many as there are tensors.
    pub fn into_entries(self) -> Result<Vec<Entries>, EigenError> {
        let Self { mut tensors, b: lists, .. } = self;
        let Some(lists) = lists else { return Ok(tensors) };
        if lists.len() != tensors.len() {
            return Err(EigenError::NumberOfB { found: lists.len(), expected: tensors.len() });
        }
        for (index, (tensor, b)) in tensors.iter_mut().zip(lists).enumerate() {
            if tensor.b.is_some() && b.is_some() {
                return Err(EigenError::TwoB { index });
            }
            tensor.b = b.or(tensor.b.take());
        }
        Ok(tensors)
    }
}

/// Either a list of numbers, or `{"a": [...], "b": [...]}`.
impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrPair)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    a: Vec<f64>,
    #[serde(default)]
    b: Option<Vec<f64>>,
}

struct ListOrPair;

impl<'de> Visitor<'de> for ListOrPair {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of unique entries, or {\"a\": [...], \"b\": [...]}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Entries, A::Error> {
        let a = Deserialize::deserialize(value::SeqAccessDeserializer::new(list))?;
        Ok(Entries { a, b: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entries, A::Error> {
        let Pair { a, b } = Deserialize::deserialize(value::MapAccessDeserializer::new(map))?;
        Ok(Entries { a, b })
    }
}
