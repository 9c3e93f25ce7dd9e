//! What the commands of curves have in common: all but the parameters of the model.

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Backend;
use fimbria_pipeline::stages::fit_maps::{FitMaps, FitModel};
use fimbria_pipeline::stages::load::Load;
use fimbria_pipeline::{Stage as _, bids_entities, run_alone};

use crate::args::{DeviceArgs, MapArgs, OutputArgs, SubjectArgs, ThreadArgs};
use crate::commands::{command_line, report, session};
use crate::console::Console;
use crate::failure::Failure;

/// The series, where maps go, and what works.
#[derive(Debug, Args)]
pub(super) struct FitArgs {
    /// Diffusion-weighted series, 4-D
    #[arg(value_name = "DWI")]
    dwi: PathBuf,

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
}

impl FitArgs {
    /// Fits the model to the series by itself.
    pub(super) fn run<P: FitModel>(self, parameters: P, console: &Console) -> Result<(), Failure> {
        let Self { dwi, subject, output, style, threads, devices } = self;
        let fit = FitMaps { parameters, style: style.style(), entities: bids_entities(&dwi) };
        let out = output.folder(&fit.outputs(), console)?;
        let workers = threads.start()?;
        let devices = devices.open(console)?;
        let load = Load(subject.files(dwi));
        let command_line = command_line();
        let session =
            session(Backend { workers: &workers, devices: &devices }, console, &command_line);
        let task = format!("fit {}", P::STAGE);
        let record = run_alone(&task, &[&load, &fit], out, session).map_err(Failure::Work)?;
        report(&record, output.path(), console);
        Ok(())
    }
}
