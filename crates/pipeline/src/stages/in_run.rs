//! What a run is to its methods: which others it makes, and with which options.

use std::collections::BTreeMap;
use std::path::Path;

use crate::options::{OptionError, Options, Values, in_run};
use crate::{ByteSize, MapStyle, Stage, StageError, Written};

/// Stages in order, or why they cannot be made.
pub(crate) type Stages = Result<Vec<Box<dyn Stage>>, InRunError>;

/// How a run makes a method.
pub(crate) struct InRun {
    /// When it does.
    pub(crate) when: When,
    /// Names of what is made with it.
    pub(crate) needs: &'static [&'static str],
    /// Its folder, where it has one.
    pub(crate) writes: Option<Written>,
    /// Its stages, in order.
    pub(crate) stages: fn(&RunContext<'_>) -> Stages,
}

/// When a run makes a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Where `run.fits` names it, or is not given.
    Usual,
    /// Where `run.fits` names it.
    Named,
    /// Where the run has this table.
    Table(&'static str),
}

/// A run, as its methods see it.
pub(crate) struct RunContext<'a> {
    /// The options of its stages, by their names.
    pub(crate) tables: &'a BTreeMap<String, Values>,
    /// Names of the methods that it makes besides fits.
    pub(crate) makes: &'a [&'static str],
    /// Its stages so far.
    pub(crate) earlier: &'a [Box<dyn Stage>],
    /// The folder it writes.
    pub(crate) root: &'a Path,
    /// How it writes maps.
    pub(crate) style: MapStyle,
    /// Entities for names of BIDS.
    pub(crate) entities: &'a str,
    /// Memory that it may hold.
    pub(crate) memory: Option<ByteSize>,
}

/// Why a run cannot make a method.
#[derive(Debug, thiserror::Error)]
pub enum InRunError {
    /// Options of a stage that are none, or contradict each other.
    #[error("[{table}]: {source}")]
    Options {
        /// The stage.
        table: String,
        /// What is wrong.
        source: OptionError,
    },
    /// A connectome of no streamlines.
    #[error("[connectome] counts streamlines, and none are made: add `track` to run.fits")]
    NoStreamlines,
    /// Streamlines that follow nothing.
    #[error(
        "`track` takes the directions of `peaks` or `sticks`, and run.fits has neither: add one"
    )]
    NoDirections,
    /// Streamlines are to be as dense as nothing.
    #[error("`sift2` weighs streamlines by the densities of `peaks`: add it to run.fits")]
    NoDensities,
    /// An option that is what makes a fit that of a study.
    #[error("{0} is set by the study: fit that model alone to have it otherwise")]
    SetByStudy(String),
    /// A fit that the gradient table does not support, or a formula that is none.
    #[error(transparent)]
    Fit(StageError),
}

impl InRunError {
    /// What is wrong with the table `name`.
    pub(crate) fn in_table(name: &str) -> impl FnOnce(OptionError) -> Self {
        |source| Self::Options { table: name.to_owned(), source }
    }
}

impl RunContext<'_> {
    /// Whether it makes the method of this name.
    pub(crate) fn makes(&self, name: &str) -> bool {
        self.makes.contains(&name)
    }

    /// The options of a stage that is no fit, by its table.
    pub(crate) fn options<T: Options>(&self, name: &str) -> Result<T, InRunError> {
        options_of(self.tables, name)
    }
}

/// The options of a stage that is no fit, by its table.
pub(crate) fn options_of<T: Options>(
    tables: &BTreeMap<String, Values>,
    name: &str,
) -> Result<T, InRunError> {
    let none = Values::new();
    in_run(tables.get(name).unwrap_or(&none)).map_err(InRunError::in_table(name))
}
