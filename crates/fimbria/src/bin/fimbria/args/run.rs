//! What commands that run stages in folders of their own share.

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::RunConfig;

use super::{DeviceArgs, ExistingArgs, MapArgs, SubjectArgs, ThreadArgs};

/// A series, where its stages write, and what does the work.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    subject: SubjectArgs,

    /// Folder to write
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: PathBuf,

    #[command(flatten)]
    existing: ExistingArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

/// The folder of a run, and what does its work.
pub(crate) struct RunFolder {
    pub(crate) output: PathBuf,
    pub(crate) existing: ExistingArgs,
    pub(crate) threads: ThreadArgs,
    pub(crate) devices: DeviceArgs,
}

impl RunArgs {
    /// The run of the series `dwi`, with everything else as it is where nothing is set, and where it works.
    pub(crate) fn on(self, dwi: PathBuf) -> (RunConfig, RunFolder) {
        let Self { subject, output, existing, style, threads, devices } = self;
        let (input, maps) = (subject.files(dwi), style.style());
        let config = RunConfig { input, maps, ..RunConfig::default() };
        (config, RunFolder { output, existing, threads, devices })
    }
}
