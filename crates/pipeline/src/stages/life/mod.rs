//! The stage that evaluates a connectome.
//!
//! * [`LifeParameters`]: what can be chosen; [`LifeFiles`]: what is read;
//! * [`LoadSeries`]: the series, on all its voxels where there is no mask;
//! * [`Life`]: encodes, weighs, collects evidence ([`Evaluation`]) and writes it;
//! * [`LifeInRun`]: the same on the streamlines of a run.

mod checkpoint;
mod encode;
mod evidence;
mod in_run;
mod parameters;
mod stage;
mod write;

use std::path::{Path, PathBuf};

use fimbria_compute::comm::Comm;
use fimbria_image::{Mask, SignalSource as _};
use fimbria_streamlines::Format;
use serde_json::{Value, json};

pub use encode::encode_file;
pub use evidence::{Evaluation, NamedSet};
pub use in_run::{LifeInRun, Weighed};
pub use parameters::{AtomsName, Compat, LifeParameters, ParseChoiceError, RankName};

use super::load::SubjectFiles;
use crate::{Input, Logbook, MapStyle, Products, Stage, StageError};

/// Why an evaluation fails before it begins to compute.
#[derive(Debug, thiserror::Error)]
pub enum LifeInputError {
    /// A list of weights that is none.
    #[error("{}, line {line}: `{text}` is not a weight", .path.display())]
    Weight {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// A list of streamlines that is none.
    #[error(
        "{}, line {line}: `{text}` is not the number of a streamline (0 to {})",
        .path.display(), .streamlines.saturating_sub(1)
    )]
    Member {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What stands there.
        text: String,
        /// Streamlines there are.
        streamlines: usize,
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

/// What is read beside the series.
#[derive(Clone, Debug, Default)]
pub struct LifeFiles {
    /// The streamlines.
    pub tractogram: PathBuf,
    /// A second measurement with the same gradient table.
    pub second: Option<PathBuf>,
    /// A label image: the nodes of matrices.
    pub labels: Option<PathBuf>,
    /// Lines of a name and numbers of streamlines.
    pub sets: Option<PathBuf>,
    /// Weights to begin with, one a line.
    pub start: Option<PathBuf>,
}

/// Evaluates the tractogram on the [`Subject`](super::load::Subject).
pub struct Life<'a> {
    /// What is read.
    pub files: LifeFiles,
    /// How.
    pub parameters: LifeParameters,
    /// How images are written.
    pub style: MapStyle,
    /// Entities for names of BIDS.
    pub entities: String,
    /// Where weights are kept while they are being found, and whether to begin with those there.
    pub checkpoint: Option<(PathBuf, bool)>,
    /// The processes that work on it. Each reads the inputs, weighs with its part of the voxels
    /// and has all results; one of them writes.
    pub comm: &'a dyn Comm,
}

/// Reads the series of an evaluation: like [`Load`](super::load::Load), but without a mask every
/// voxel counts, for streamlines say where to look.
pub struct LoadSeries(pub SubjectFiles);

impl Stage for LoadSeries {
    fn name(&self) -> &'static str {
        "load"
    }

    fn inputs(&self) -> Vec<Input> {
        self.0.inputs()
    }

    fn parameters(&self) -> Value {
        let mask = if self.0.mask.is_some() { "given" } else { "none" };
        json!({ "bvec_frame": self.0.bvec_frame, "b0_threshold": self.0.b0_threshold, "mask": mask })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = self.0.read_on(log, |series, gradients, workers| match self.0.mask {
            Some(_) => self.0.mask_for(series, gradients, workers),
            None => Ok(Mask::full(*series.grid())),
        })?;
        subject.has_one_table()?;
        products.put(subject);
        Ok(())
    }
}

/// The name of the pruned tractogram: the input's format.
fn pruned_name(tractogram: &Path) -> &'static str {
    match Format::of_content(tractogram) {
        Ok(Format::Tck) => "pruned.tck",
        Ok(Format::Trk) => "pruned.trk",
        // What cannot be read says so when it is.
        Ok(Format::Trx | Format::TrxFolder) => "pruned.trx",
        // What is not there yet has a name; what cannot be read says so when it is.
        Err(_) => match Format::of_name(tractogram) {
            Ok(Format::Tck) => "pruned.tck",
            Ok(Format::Trk) => "pruned.trk",
            Ok(Format::Trx | Format::TrxFolder) | Err(_) => "pruned.trx",
        },
    }
}
