//! `fimbria report`

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Backend;
use fimbria_pipeline::Writes;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::run_command;
use fimbria_pipeline::stages::report::{REPORT_WRITES, of_folder};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{self, command_line, session};
use crate::console::Console;
use crate::failure::Failure;

/// Draw the page of a finished folder
#[derive(Debug, Args)]
#[command(add = Writes(REPORT_WRITES), after_long_help = HELP)]
pub(crate) struct ReportCommand {
    /// Folder that a command wrote: `run`, `demo`, `fit`, `track`, `life`, `connectome`, `qsm`, `compare` …
    #[arg(takes = Takes::FOLDER)]
    folder: PathBuf,

    /// Heading of the page
    #[arg(long, value_name = "TEXT")]
    #[arg(usually = "the names of the folder and of that above it")]
    title: Option<String>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}

  Of `run`, `demo` and `fit dti` it has what the stages say of their maps; of any other folder every
  map, tractogram, matrix and table is shown as what it is.

Units:
  Those of the maps: diffusivities in mm²/s.

Order and frame:
  Pictures have the subject's left on the left; colours are red left-right, green front-back, blue
  up-down, in scanner axes.";

impl ReportCommand {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { folder, title, output, threads } = self;
        let path = output.path();
        if !path.extension().is_some_and(|e| e == "html" || e == "htm") {
            return Err(Failure::usage(format!(
                "{} is no name of a page: give one that ends in .html, such as -o {}",
                path.display(),
                path.with_extension("html").display()
            )));
        }
        let name = output.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let out = output.file(std::slice::from_ref(&name), console)?;
        let title = title.unwrap_or_else(|| last_names(&folder));
        let stage = of_folder(&folder, title, name)?;
        let workers = threads.start()?;
        let command_line = command_line();
        let session = session(Backend::cpu(&workers), console, &command_line);
        let record = run_command("report", &[&*stage], out, session).map_err(Failure::Work)?;
        commands::report(&record, output.path(), console);
        Ok(())
    }
}

/// The names of a folder and of that above it: enough to know it by, and nothing of the machine that others need
/// not see.
fn last_names(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let names: Vec<_> = whole.iter().map(|name| name.to_string_lossy()).collect();
    match &names[..] {
        [.., above, name] if above != "/" => format!("{above}/{name}"),
        _ => folder.display().to_string(),
    }
}
