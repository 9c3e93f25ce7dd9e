//! Why a run cannot be made.

use crate::stages::in_run::InRunError;
use crate::stages::load::LoadError;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is no TOML, or has a key or value that is not known.
    #[error("{path} is no configuration")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// Keys that stand in no table.
    #[error("{path}: {keys} stand in no table: above them comes one in brackets, such as [expr]")]
    NoTable {
        /// The file.
        path: String,
        /// The keys.
        keys: String,
    },
    /// A table of the file cannot be used.
    #[error("{path}")]
    InFile {
        /// The file.
        path: String,
        /// What is wrong.
        source: Box<Self>,
    },
    /// A file of a model with other tables than that of one fit.
    #[error(
        "{path} has {tables}: a file of a model has one table, that of its fit, such as [expr]"
    )]
    NotOneFit {
        /// The file.
        path: String,
        /// What it has.
        tables: String,
    },
    /// A model of a file whose fit has options or another model already.
    #[error("{path} is a model of [{table}], which the run has already")]
    SecondModel {
        /// The file.
        path: String,
        /// The table.
        table: &'static str,
    },
    /// A setting on the command line cannot be used.
    #[error("the setting `{setting}` cannot be used")]
    Setting {
        /// As given.
        setting: String,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// Several series without a correction.
    #[error(
        "several series are made one where they are corrected together: --raw, or a table [correct]"
    )]
    Joined,
    /// A table of the file is that of no stage.
    #[error("[{0}] is no stage of a run")]
    Table(String),
    /// A method with options that are none, or without what it is made of.
    #[error(transparent)]
    Method(#[from] InRunError),
    /// Something that no run does.
    #[error("run.fits has `{name}`, which is none of {known}")]
    Unknown {
        /// As asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A name or setting that is of no fit that is made.
    #[error("`{name}` is none of the fits {known}")]
    NoFit {
        /// As given.
        name: String,
        /// What there is.
        known: String,
    },
    /// A fit that is made already.
    #[error("{0} is named twice, or is one of the study's")]
    Repeated(String),
    /// The gradient table, which says what can be fitted, cannot be read.
    #[error(transparent)]
    Gradients(#[from] LoadError),
    /// What is done is said twice.
    #[error("run.preset and run.fits both say what is done: give one of them")]
    Twice,
    /// Susceptibility of nothing.
    #[error("the preset susceptibility takes a gradient-echo scan: give the table [gre]")]
    NoScan,
    /// No series is named.
    #[error("no series is named: give one, or `dwi` in the table [input]")]
    NoSeries,
    /// Something that TOML cannot express, such as a path that is not UTF-8.
    #[error("the parameters cannot be written as TOML")]
    Unwritable(#[from] toml::ser::Error),
}
