//! The stage that evaluates a connectome.
//!
//! * [`LifeParameters`]: what can be chosen; [`LifeFiles`]: what is read;
//! * [`LoadSeries`]: the series, on all its voxels where there is no mask;
//! * [`Life`]: encodes, weighs, collects evidence ([`Evaluation`]) and writes it;
//! * [`LifeInRun`]: the same on the streamlines of a run.

mod encode;
mod evidence;
mod hindered;
mod in_run;
mod memory;
mod method;
mod other_inputs;
mod parameters;
mod prediction;
pub(in crate::stages) mod section;
mod stage;
mod weighing;
mod write;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_image::{GradientTable, Mask, NumbersError, SignalSource as _};
use fimbria_streamlines::Format;
use fimbria_streamlines::connectome::LabelError;
use serde::Serialize;
use serde_json::{Value, json};

pub use encode::encode_file;
pub use evidence::{Evaluation, NamedSet};
pub use hindered::HinderedOptions;
pub use in_run::{LifeInRun, Weighed};
pub(in crate::stages) use method::METHOD;
pub use other_inputs::read_directions;
pub use parameters::{AtomsName, Compat, LifeParameters, ParseChoiceError, RankName};
pub use prediction::Prediction;
pub use write::LIFE_WRITES;

use super::load::{Subject, SubjectFiles};
use crate::options::{Described as _, Takes};
use crate::{ByteSize, Input, Logbook, MapStyle, Product, Products, Stage, StageError};

/// Why an evaluation fails before it begins to compute.
#[derive(Debug, thiserror::Error)]
pub enum LifeInputError {
    /// A file that does not hold numbers.
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    /// A line of directions that is none.
    #[error("{}, line {line}: no direction, three numbers that are not all 0", .path.display())]
    Direction {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// A list without directions.
    #[error("{} lists no direction", .path.display())]
    NoDirections {
        /// The file.
        path: PathBuf,
    },
    /// A streamline that is not there.
    #[error(
        "{}, line {line}: `{text}` is not the number of a streamline (0 to {})",
        .path.display(), .streamlines.saturating_sub(1)
    )]
    Member {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Its number.
        text: String,
        /// Streamlines there are.
        streamlines: usize,
    },
    /// A word that is no number.
    #[error("{}, line {line}: `{text}` is not the number of a streamline", .path.display())]
    NoMember {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A line of sets that holds no set.
    #[error(
        "{}, line {line}: `{text}` is a name without streamlines: a line is a name and the numbers \
         of its streamlines (from 0), separated by blanks", .path.display()
    )]
    NoMembers {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The name.
        text: String,
    },
    /// A name that another set has.
    #[error("{}, line {line}: there is a set `{name}` already{}", .path.display(), built_in(.name))]
    SameName {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// A file of sets without any.
    #[error("{} names no set of streamlines", .path.display())]
    NoSets {
        /// The file.
        path: PathBuf,
    },
    /// A second series that is none of the first.
    #[error(
        "{} does not repeat the series, volume by volume: {what}", .path.display()
    )]
    NoRepetition {
        /// The series.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Labels that are none.
    #[error("{} holds no labels", .path.display())]
    Labels {
        /// The image.
        path: PathBuf,
        /// What is wrong.
        source: LabelError,
    },
    /// Labels of another space.
    #[error("no labelled voxel of {} lies in the series: is it of another space?", .path.display())]
    LabelsElsewhere {
        /// The image.
        path: PathBuf,
    },
    /// More than may be held.
    #[error(
        "the evaluation takes about {needed} of memory, and {allowed} are allowed: allow more, or \
         take fewer streamlines, a mask, or --atoms grid:360 instead of exact ones"
    )]
    Memory {
        /// About so much.
        needed: ByteSize,
        /// The limit.
        allowed: ByteSize,
    },
    /// A penalty on sets without any.
    #[error(
        "a penalty on groups of streamlines needs groups: name a file of --sets, or use a TRX that \
         holds groups"
    )]
    NoGroups,
    /// A file cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What is said of a name that is taken by no line of the file.
fn built_in(name: &str) -> &'static str {
    if name == "all" { " (that of all streamlines)" } else { "" }
}

/// What is read beside the series.
#[derive(Clone, Debug, Default, Args, Serialize)]
pub struct LifeFiles {
    /// Streamlines: TCK, TRK or TRX
    #[arg(value_name = "TRACTOGRAM")]
    #[arg(takes = Takes::TRACTOGRAM)]
    pub tractogram: PathBuf,

    /// Label image, 3-D: nodes of connectome matrices of the weights (ends count up to 4 mm away)
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(takes = Takes::LABELS)]
    pub labels: Option<PathBuf>,

    /// Sets of streamlines for virtual lesions, beside the groups of a TRX: lines of a name and the
    /// numbers of streamlines from 0, separated by blanks
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(takes = Takes::TABLE)]
    pub sets: Option<PathBuf>,

    /// Weights to begin with, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "resume", help_heading = "Input")]
    #[arg(takes = Takes::TABLE)]
    pub start: Option<PathBuf>,
}

/// Evaluates the tractogram on the [`Subject`]. Of several processes each
/// reads the inputs, weighs with its part of the voxels and has all results; one of them writes.
pub struct Life {
    /// What is read.
    pub files: LifeFiles,
    /// A second measurement, which repeats the first volume by volume.
    pub second: Option<SubjectFiles>,
    /// How.
    pub parameters: LifeParameters,
    /// What is around the fibres of each voxel.
    pub hindered: HinderedOptions,
    /// How images are written.
    pub style: MapStyle,
    /// Entities for names of BIDS.
    pub entities: String,
    /// Where weights are kept while they are being found, and whether to begin with those there.
    pub checkpoint: Option<(PathBuf, bool)>,
    /// Memory that the program may take.
    pub memory: Option<ByteSize>,
}

/// Reads the series of an evaluation: like [`Load`](super::load::Load), but without a mask every
/// voxel counts, for streamlines say where to look.
pub struct LoadSeries(pub SubjectFiles);

impl Stage for LoadSeries {
    fn name(&self) -> &'static str {
        "load"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Subject>()]
    }

    fn inputs(&self) -> Vec<Input> {
        self.0.inputs()
    }

    fn parameters(&self) -> Value {
        let mask = if self.0.mask.is_some() { "given" } else { "none" };
        json!({
            "bvec_frame": self.0.bvec_frame,
            "b0_threshold": self.0.b0_threshold.unwrap_or(GradientTable::DEFAULT_B0_THRESHOLD),
            "bvalue_scaling": self.0.bvalue_scaling,
            "mask": mask,
        })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = self.0.read_on(log, |series, gradients, workers| match self.0.mask {
            Some(_) => self.0.mask_for(series, gradients, workers),
            None => Ok(Mask::full(*series.grid())),
        })?;
        subject.has_one_table()?;
        subject.put(products);
        Ok(())
    }
}

/// The name of the pruned tractogram: the input's format, as it is or, where it is not there yet, as it
/// is called. What cannot be read says so when it is.
fn pruned_name(tractogram: &Path) -> String {
    let format = Format::from_content(tractogram).or_else(|_| Format::from_name(tractogram));
    format!("pruned.{}", format.unwrap_or(Format::DEFAULT).extension())
}
