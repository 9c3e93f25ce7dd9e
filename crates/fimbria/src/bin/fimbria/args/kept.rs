//! Where outputs go of work that is long enough to be interrupted.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_pipeline::Existing;

use super::existing::existing;

/// Where outputs go of work that keeps in OUT/.resume what it has come to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct KeptOutputArgs {
    /// Folder to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Overwrite existing outputs
    #[arg(short, long)]
    force: bool,

    /// Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or
    /// (life) to weights as good with another fingerprint in run.json; keep what it finished
    #[arg(long)]
    resume: bool,
}

impl KeptOutputArgs {
    /// The folder, what is to be done about an earlier run there, and whether to go on from what it
    /// has left.
    pub(crate) fn split(&self) -> (&Path, Existing, bool) {
        let Self { output, force, resume } = self;
        (output, existing(*force, *resume), *resume)
    }
}
