//! Options of FSL's probtrackx2 that are not there.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// Options of FSL that are not there: each is known, so that it can be said.
#[derive(Debug, Args)]
pub(super) struct AbsentFlags {
    #[arg(long, hide = true)]
    omatrix4: bool,
    #[arg(long, hide = true, value_name = "FILE")]
    colmask4: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "FILE")]
    target4: Option<PathBuf>,
    #[arg(long, hide = true)]
    osampfib: bool,
}

impl AbsentFlags {
    /// An error that names the first of them that was given, and what to do instead.
    pub(super) fn refuse(self) -> Result<(), Failure> {
        let Self { omatrix4, colmask4, target4, osampfib } = self;
        let matrix = "its file is documented nowhere; `fimbria track` writes the streamlines, with their seeds";
        let fibres =
            "FSL's own source calls it unfinished, and what it would write is documented nowhere";
        for (given, name, instead) in [
            (omatrix4, "--omatrix4", matrix),
            (colmask4.is_some(), "--colmask4", matrix),
            (target4.is_some(), "--target4", matrix),
            (osampfib, "--osampfib", fibres),
        ] {
            if given {
                return Err(Failure::usage(format!(
                    "{name} of FSL's probtrackx2 is not there: {instead}"
                )));
            }
        }
        Ok(())
    }
}
