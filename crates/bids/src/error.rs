//! Why nothing comes of a data set, or of a session.

use std::io;
use std::path::PathBuf;

use fimbria_compute::WorkersError;
use fimbria_image::ImageError;
use fimbria_pipeline::{ConfigError, OutputError, PipelineError};

/// What goes wrong with a data set.
#[derive(Debug, thiserror::Error)]
pub enum BidsError {
    /// A folder or file cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing to work on.
    #[error(
        "{} has no series: there is no sub-*/[ses-*/]dwi/sub-*_dwi.nii.gz below it that has no desc, or \
         desc-preproc, and is no phase, real or imaginary part{}",
        folder.display(), but_others(other_descs)
    )]
    NoSeries {
        /// The data set.
        folder: PathBuf,
        /// By what `desc` those are told that are there and not taken.
        other_descs: Vec<String>,
    },
    /// Labels that are not there.
    #[error("{} has no {what} {}", folder.display(), names.join(", "))]
    NotThere {
        /// The data set.
        folder: PathBuf,
        /// Subjects or sessions.
        what: &'static str,
        /// As asked for.
        names: Vec<String>,
    },
    /// Two data sets of one name.
    #[error("two data sets are called {0}: their URIs could not be told apart")]
    Twice(String),
    /// Results would be written into the inputs.
    #[error("{} is the input: name another folder for what is made of it", .0.display())]
    SameFolder(PathBuf),
    /// Sessions would be worked on among files that are not ours.
    #[error(
        "{} cannot be worked in: it is, holds or lies in {}; name a folder elsewhere with --work-dir",
        work.display(), set.display()
    )]
    WorkFolder {
        /// The folder.
        work: PathBuf,
        /// The data set.
        set: PathBuf,
    },
    /// What BIDS names cannot say.
    #[error("{0:?} is no text that URIs and tables can hold: rename it")]
    NotText(PathBuf),
    /// Files that are not ours have the names of what would be written.
    #[error(
        "{} already holds {}, which fimbria did not write so: --force replaces",
        folder.display(), names.join(", ")
    )]
    InTheWay {
        /// The folder.
        folder: PathBuf,
        /// Their names from there.
        names: Vec<String>,
    },
    /// Results of other options are never replaced unasked.
    #[error(
        "{session} holds results of {} that were made with other options: --force makes them anew",
        stages.join(", ")
    )]
    OtherOptions {
        /// The session.
        session: String,
        /// What was made otherwise.
        stages: Vec<String>,
    },
    /// Somebody else's data set.
    #[error("{} holds a data set that was made by {by}: name another folder", folder.display())]
    OfOthers {
        /// The folder.
        folder: PathBuf,
        /// Who made it.
        by: String,
    },
    /// The configuration says what the data set says.
    #[error("[{0}] {1} cannot be given for a data set: each series has its own")]
    Given(&'static str, &'static str),
    /// Several segmentations.
    #[error("there are labels {}: say which with --atlas", .0.join(", "))]
    Atlases(Vec<String>),
    /// None of this name.
    #[error("no labels in the space of the series are called {name}: there are {}", some(known))]
    NoAtlas {
        /// As asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No gradient-echo scan.
    #[error("no gradient-echo scan lies in the space of the series")]
    NoScan,
    /// A series to be corrected that is corrected.
    #[error("{0} is preprocessed already: leave --raw out")]
    Preprocessed(String),
    /// Nobody was there before.
    #[error("{} holds no finished session: run `participant` first", .0.display())]
    NothingDone(PathBuf),
    /// What a run is told is no use.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// One of several series of a session fails.
    #[error("{series}")]
    Series {
        /// The name of its file.
        series: String,
        /// Why.
        source: Box<BidsError>,
    },
    /// The run failed.
    #[error(transparent)]
    Run(#[from] PipelineError),
    /// Results cannot be put in their place.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The threads of a session cannot be started.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// A map cannot be read again.
    #[error(transparent)]
    Image(#[from] ImageError),
}

fn but_others(descs: &[String]) -> String {
    match descs {
        [] => String::new(),
        _ => format!(
            " without desc or with desc-preproc, only with desc-{}: rename what is to be taken",
            descs.join(", desc-")
        ),
    }
}

fn some(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

impl BidsError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
