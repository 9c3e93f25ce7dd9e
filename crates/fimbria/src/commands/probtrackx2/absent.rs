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
    #[arg(long, hide = true, value_name = "FILE")]
    prefdir: Option<PathBuf>,
    #[arg(long = "no_integrity", hide = true, value_name = "FILE")]
    no_integrity: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "FILE")]
    skipmask: Option<PathBuf>,
    #[arg(long, hide = true)]
    osampfib: bool,
    #[arg(long, hide = true)]
    onewayonly: bool,
    #[arg(long, hide = true, value_name = "RULE")]
    locfibchoice: Option<String>,
    #[arg(long, hide = true, value_name = "FILE")]
    loccurvthresh: Option<PathBuf>,
    #[arg(long, hide = true)]
    otargetpaths: bool,
    #[arg(long, hide = true)]
    noprobinterpol: bool,
}

impl AbsentFlags {
    /// An error that names the first of them that was given, and what to do instead.
    pub(super) fn refuse(self) -> Result<(), Failure> {
        let Self {
            omatrix4,
            colmask4,
            target4,
            prefdir,
            no_integrity,
            skipmask,
            osampfib,
            onewayonly,
            locfibchoice,
            loccurvthresh,
            otargetpaths,
            noprobinterpol,
        } = self;
        let matrix = "its file is documented nowhere; `fimbria track` writes the streamlines, with their seeds";
        let nothing = "no other option stands for it";
        for (given, name, instead) in [
            (omatrix4, "--omatrix4", matrix),
            (colmask4.is_some(), "--colmask4", matrix),
            (target4.is_some(), "--target4", matrix),
            (onewayonly, "--onewayonly", nothing),
            (prefdir.is_some(), "--prefdir", nothing),
            (no_integrity.is_some(), "--no_integrity", nothing),
            (skipmask.is_some(), "--skipmask", nothing),
            (osampfib, "--osampfib", nothing),
            (locfibchoice.is_some(), "--locfibchoice", nothing),
            (loccurvthresh.is_some(), "--loccurvthresh", nothing),
            (otargetpaths, "--otargetpaths", "`fimbria track --include` keeps paths to a target"),
            (noprobinterpol, "--noprobinterpol", "--rng constant:0.5 takes the nearest voxel"),
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
