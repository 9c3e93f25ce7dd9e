//! `fimbria correct`

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::correct::{CORRECT_WRITES, CorrectSeries, CorrectSettings};
use fimbria_pipeline::stages::load::SubjectFiles;

use crate::args::{FormatArgs, OutputArgs, ScratchArgs, TablesArgs, ThreadArgs};
use crate::commands::{report, run_on_threads};
use crate::console::Console;
use crate::failure::Failure;

/// Lay the volumes of raw series on each other: motion, eddy currents, dropped slices, distortion
#[derive(Debug, Args)]
#[command(add = Writes(CORRECT_WRITES), after_long_help = HELP)]
pub(crate) struct CorrectCommand {
    /// Diffusion series as it left the scanner, or denoised; several of one session are corrected together, onto the grid
    /// of the first
    #[arg(value_name = "DWI", required = true, takes = Takes::IMAGE)]
    dwi: Vec<PathBuf>,

    #[command(flatten)]
    tables: TablesArgs,

    /// Brain as the first unweighted volume shows it: a 3-D image on the grid of the (first) series
    #[arg(long, visible_short_alias = 'm', value_name = "FILE", help_heading = "Input")]
    #[arg(usually = "one made of the series, as `fimbria mask` makes it")]
    #[arg(takes = Takes::MASK)]
    mask: Option<PathBuf>,

    #[command(flatten)]
    settings: CorrectSettings,

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
  Signals as they are, but for the Jacobian of the fields. mm and radians along and
  about scanner axes; x, then y, then z.

Order and frame:
  The grid of the first series, in the frame of its first unweighted volume, or its first.
  Directions are those that the head saw. Volumes of several series follow each other as these do
  on the line.

Each volume is predicted from all others over q-space, and all are laid on their predictions
together, in eight rounds. What was found is judged before it is used: where volumes do not agree
better by it than as they were measured, they stay, and a warning says so.

Several series have as many voxels of the same size; where their headers place them is where the
head is looked for. They are made as bright as the first. Series of opposed phase encodings need
a map of the field, or a warp of each.

--field or --warp undoes distortion by susceptibility in the same resampling. A field of f Hz
shifts by f times the readout time voxels along the phase encoding: with j to higher indices of
the second axis where f is positive, with j- to lower ones. It moves with the head. Of opposed
encodings topup, DRBUDDI or unpile make a field or a warp. Noise, ringing and bias are not
corrected.";

impl CorrectCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { dwi, tables, mask, settings, output, format, threads, scratch } = self;
        let (memory, scratch) = scratch.limits();
        let one = |dwi| SubjectFiles { memory, scratch: scratch.clone(), ..SubjectFiles::new(dwi) };
        let mut series: Vec<SubjectFiles> = dwi.into_iter().map(one).collect();
        tables.add_to(&mut series)?;
        let mut series = series.into_iter();
        let files = series.next().unwrap_or_default();
        let (files, others) = (SubjectFiles { mask, ..files }, series.collect());
        let correct = CorrectSeries { files, others, settings, format: format.format() };
        let folder = |planned: &[String]| output.folder(planned, console);
        let record = run_on_threads("correct", &[&correct], &folder, threads, console)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
