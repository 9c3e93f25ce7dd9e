//! `fimbria align`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::align::{ALIGN_WRITES, AlignImages, AlignSettings};
use fimbria_pipeline::stages::load::SubjectFiles;

use crate::args::{FormatArgs, OutputArgs, ScratchArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Lay an image on another of any contrast by a rigid motion, and bring labels along
#[derive(Debug, Args)]
#[command(add = Writes(ALIGN_WRITES), after_long_help = HELP)]
pub(crate) struct AlignCommand {
    /// Image that is moved: a series with its gradient table beside it counts by its mean unweighted
    /// volume, any other image by its first volume
    #[arg(value_name = "MOVING", takes = Takes::IMAGE)]
    moving: PathBuf,

    /// Image that stays, likewise
    #[arg(value_name = "FIXED", takes = Takes::IMAGE)]
    fixed: PathBuf,

    #[command(flatten)]
    settings: AlignSettings,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    scratch: ScratchArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

Units:
  mm. Values of the moved image as they are.

Order and frame:
  The grid of FIXED. A file that brings images of MOVING onto FIXED takes points of FIXED to points
  of MOVING: MRtrix3's in scanner RAS axes, ITK's in LPS. Nothing else is moved: FIXED stays.

A rigid motion of six parameters maximises the normalised mutual information, so that contrasts may
be opposed, and either image may show a part of what the other shows. Headers say where to begin;
middles on each other, and turns by 12 and 25 degrees, are tried as well. Distortion by
susceptibility is no rigid motion and stays.

References:
  Studholme C et al. Pattern Recognit 32, 71 (1999)         normalised mutual information
  Thévenaz P, Unser M. IEEE Trans Image Process 9, 2083 (2000)         its derivatives";

impl AlignCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { moving, fixed, settings, output, format, threads, scratch } = self;
        let (memory, scratch) = scratch.limits();
        let side = |path: PathBuf| SubjectFiles {
            memory,
            scratch: scratch.clone(),
            ..SubjectFiles::new(path)
        };
        let (moving, fixed) = (side(moving), Some(side(fixed)));
        let align = AlignImages { moving, fixed, settings, format: format.format() };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("align", &[&align], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
