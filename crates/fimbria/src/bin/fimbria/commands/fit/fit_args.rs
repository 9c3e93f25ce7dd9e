//! What the fits have in common: all but the parameters of the model.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use fimbria_cluster::World;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::fits::Fit;
use fimbria_pipeline::stages::load::Load;
use fimbria_pipeline::{Stage, bids_entities};

use crate::args::{DeviceArgs, MapArgs, OutputArgs, SubjectArgs, ThreadArgs};
use crate::commands::processes::run_together;
use crate::commands::{command_line, report, session};
use crate::console::Console;
use crate::failure::Failure;

/// The series, where maps go, and what works.
#[derive(Debug, Args)]
pub(super) struct FitArgs {
    /// Diffusion-weighted series, 4-D
    #[arg(value_name = "DWI", required_unless_present = "data")]
    #[arg(takes = Takes::IMAGE)]
    dwi: Option<PathBuf>,

    /// The series as an option, as in FSL's dtifit
    #[arg(short = 'k', long, value_name = "DWI", conflicts_with = "dwi", help_heading = "Input")]
    #[arg(takes = Takes::IMAGE)]
    data: Option<PathBuf>,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,

    /// Fit again whenever more volumes are there, until all of the gradient table are, or until
    /// Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken
    /// in the order of their numbers; the table must have a row for each volume to come
    #[arg(long, help_heading = "Input")]
    follow: bool,
}

impl FitArgs {
    /// Fits the model to the series by itself.
    pub(super) fn run(
        self,
        model: &dyn Fit,
        matches: &ArgMatches,
        console: &Console,
    ) -> Result<(), Failure> {
        let Self { dwi, data, subject, output, style, threads, devices, follow: follows } = self;
        let dwi = dwi.or(data).unwrap_or_default();
        let style = style.style();
        let fit = model.of_matches(matches, style, bids_entities(&dwi)).map_err(Failure::usage)?;
        let files = subject.files(dwi);
        let world = World::start();
        if !follows {
            let name = format!("fit {}", model.name());
            let load = Load { files, found: Some(style) };
            let stages: [&dyn Stage; 2] = [&load, &*fit];
            let folder = |planned: &[String]| output.folder(planned, console);
            return run_together(&name, &stages, &world, &folder, None, threads, devices, console);
        }
        if world.comm().size() > 1 {
            return Err(Failure::usage("--follow is the work of one process"));
        }
        let workers = threads.start()?;
        let opened = devices.open(console)?;
        let command_line = command_line();
        let session = session(devices.backend(&workers, &opened), console, &command_line);
        let record = fit
            .follow(&files, output.path(), output.overwrites(), session)
            .map_err(Failure::Work)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
