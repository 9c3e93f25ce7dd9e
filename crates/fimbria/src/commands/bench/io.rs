//! `fimbria bench io`

use std::path::PathBuf;

use clap::Args;
use fimbria_image::{WriteOptions, read_image, write_image};

use super::{Measuring, grouped, subject};
use crate::args::ThreadArgs;
use crate::console::Console;
use crate::failure::Failure;

/// Write and read the demo's series in every format
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct BenchIo {
    /// Folder to write to, on the disk to measure [default: the system's for temporary files]
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,

    #[command(flatten)]
    measuring: Measuring,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
  A table on standard output: each format with the size of the file, and how long it takes to
  write it from memory and to read it back into float32. Reading is from the system's page cache
  where it fits.

Units:
  Bytes; seconds of wall-clock time, the best of the repetitions; MB/s (10^6 bytes) of samples in
  memory, whatever the size of the file.";

impl BenchIo {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { scratch, measuring, threads } = self;
        let workers = threads.start()?;
        let series = subject(&workers, console)?.dwi;
        let folder = match scratch {
            Some(scratch) => tempfile::tempdir_in(scratch)?,
            None => tempfile::tempdir()?,
        };
        let bytes = size_of_val(&series.data[..]);
        console.print(&format!(
            "{} bytes of samples, {} threads\n\n{:<12}{:>14}{:>11}{:>9}{:>11}{:>9}\n",
            grouped(bytes),
            workers.threads(),
            "format",
            "file",
            "write s",
            "MB/s",
            "read s",
            "MB/s",
        ))?;
        for format in ["nii", "nii.gz", "mif", "mif.gz"] {
            let path = folder.path().join(format!("series.{format}"));
            let options = WriteOptions::default();
            let write =
                measuring.best(|| workers.install(|| write_image(&path, &series, &options)))?;
            let read = measuring.best(|| workers.install(|| read_image(&path)))?;
            let rate = |seconds: f64| bytes as f64 / seconds * 1e-6;
            console.print(&format!(
                "{format:<12}{:>14}{write:>11.4}{:>9.0}{read:>11.4}{:>9.0}\n",
                grouped(std::fs::metadata(&path)?.len() as usize),
                rate(write),
                rate(read),
            ))?;
            std::fs::remove_file(&path)?;
        }
        Ok(())
    }
}
