//! What to do about earlier runs.

use clap::Args;
use fimbria_pipeline::Existing;

/// What to do where an earlier run left outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ExistingArgs {
    /// Compute everything again and overwrite existing outputs
    #[arg(short, long, conflicts_with = "resume")]
    force: bool,

    /// Keep the stages that an earlier run finished with the same inputs and parameters
    #[arg(long)]
    resume: bool,
}

impl ExistingArgs {
    /// The policy they ask for.
    pub(crate) fn policy(&self) -> Existing {
        let Self { force, resume } = self;
        existing(*force, *resume)
    }
}

/// What `--force` and `--resume` ask for.
pub(super) fn existing(force: bool, resume: bool) -> Existing {
    match (force, resume) {
        // Where work goes on from what it kept, another run may be in the way of its outputs.
        (true, _) => Existing::Overwrite,
        (false, true) => Existing::Resume,
        (false, false) => Existing::Refuse,
    }
}
