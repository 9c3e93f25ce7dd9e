//! Where outputs go.

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::{OutputError, OutputFolder, refuse_name_of_file};

use crate::console::Console;

/// Where outputs go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder (or, where the command writes one file, the file) to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Overwrite existing outputs
    #[arg(short, long)]
    force: bool,
}

impl OutputArgs {
    /// The folder, which will hold the files `planned`.
    pub(crate) fn folder(
        &self,
        planned: &[String],
        console: &Console,
    ) -> Result<OutputFolder, OutputError> {
        refuse_name_of_file(&self.output)?;
        self.folder_of_any_name(planned, console)
    }

    /// The same of a folder that may be named like a file: some formats are folders.
    pub(crate) fn folder_of_any_name(
        &self,
        planned: &[String],
        console: &Console,
    ) -> Result<OutputFolder, OutputError> {
        let Self { output, force } = self;
        OutputFolder::create(output, planned, *force, console.unfinished())
    }

    /// The place of the one file, which may come as several.
    pub(crate) fn file(
        &self,
        planned: &[String],
        console: &Console,
    ) -> Result<OutputFolder, OutputError> {
        let Self { output, force } = self;
        OutputFolder::for_file(output, planned, *force, console.unfinished())
    }

    /// True where existing outputs are to be overwritten.
    pub(crate) fn overwrites(&self) -> bool {
        self.force
    }

    /// What was given with -o.
    pub(crate) fn path(&self) -> &PathBuf {
        &self.output
    }
}
