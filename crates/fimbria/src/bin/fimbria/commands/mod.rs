//! The commands, one file each: their options, their help, and the wiring to the crates that do
//! the work.

mod align;
mod bench;
mod bids;
mod compare;
mod completions;
mod connectome;
mod convert;
mod correct;
mod demo;
mod describe;
mod devices;
mod eigen;
mod field;
pub(crate) mod fit;
mod fixel;
mod info;
mod life;
mod maps;
mod mask;
mod normalise;
mod peaks;
mod phantom;
mod probtrackx2;
pub(crate) mod processes;
mod qsm;
mod regions;
mod report;
mod response;
mod run;
mod sift2;
mod sticks;
mod track;
mod tract;

use std::path::Path;

use clap::Subcommand;
use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::{Backend, Progress as _};
use fimbria_image::counted;
use fimbria_pipeline::{
    Finished, OutputError, OutputFolder, RunRecord, Session, Stage, run_command,
};

use crate::args::{DeviceArgs, OutputArgs, RunFolder, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// How several processes, as `mpirun` starts them, stand to a command.
enum Processes {
    /// They share its work.
    Share,
    /// Each does all of it: it only reads and says something.
    Repeat,
    /// They would write the same files.
    Refused,
}

/// The commands, each once: its options, which run it, and what several processes are to it.
macro_rules! commands {
    ($($name:ident($options:ty): $processes:ident,)*) => {
        /// What can be done.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($name($options),)*
        }

        impl Command {
            fn processes(&self) -> Processes {
                match self {
                    $(Self::$name(_) => Processes::$processes,)*
                }
            }

            fn start(self, console: &Console) -> Result<(), Failure> {
                match self {
                    $(Self::$name(command) => command.run(console),)*
                }
            }
        }
    };
}

commands! {
    Demo(demo::Demo): Refused,
    Run(run::Run): Refused,
    Bids(bids::Bids): Refused,
    Fit(fit::Fit): Share,
    Maps(Box<maps::MapsCommand>): Refused,
    Eigen(eigen::Eigen): Refused,
    Mask(mask::MaskCommand): Refused,
    Correct(correct::CorrectCommand): Refused,
    Align(align::AlignCommand): Refused,
    Normalise(normalise::NormaliseCommand): Refused,
    Response(response::ResponseCommand): Refused,
    Peaks(peaks::Peaks): Refused,
    Sticks(sticks::Sticks): Share,
    Field(field::Field): Refused,
    Qsm(qsm::Qsm): Share,
    Life(life::Life): Share,
    Phantom(phantom::PhantomCommand): Refused,
    Track(track::TrackCommand): Share,
    Probtrackx2(Box<probtrackx2::Probtrackx2Command>): Refused,
    Regions(regions::RegionsCommand): Refused,
    Report(report::ReportCommand): Refused,
    Connectome(connectome::ConnectomeCommand): Refused,
    Tract(tract::TractCommand): Refused,
    Fixel(Box<fixel::FixelCommand>): Refused,
    Sift2(Box<sift2::Sift2Command>): Refused,
    Compare(compare::Compare): Repeat,
    Convert(convert::Convert): Refused,
    Info(info::Info): Repeat,
    Devices(devices::Devices): Repeat,
    Bench(bench::Bench): Repeat,
    Describe(describe::Describe): Repeat,
    Completions(completions::Completions): Repeat,
}

/// Runs a command.
pub(crate) fn run(command: Command, console: &Console) -> Result<(), Failure> {
    match command.processes() {
        Processes::Share if !cfg!(feature = "mpi") => processes::refuse_several(true)?,
        Processes::Share | Processes::Repeat => {}
        Processes::Refused => processes::refuse_several(false)?,
    }
    command.start(console)
}

/// The words of this command line, as records and headers quote them.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What the pipeline gets from this program.
fn session<'a>(on: Backend<'a>, console: &'a Console, command_line: &'a [String]) -> Session<'a> {
    Session { on, progress: console, unfinished: console.unfinished(), command_line }
}

/// What a command on one input does once its options are understood: makes the folder, runs the
/// stages in it, and says what was written.
fn run_stages(
    name: &str,
    stages: &[&dyn Stage],
    output: &OutputArgs,
    threads: ThreadArgs,
    devices: DeviceArgs,
    console: &Console,
) -> Result<(), Failure> {
    let folder = |planned: &[String]| output.folder(planned, console);
    run_stages_in(name, stages, &folder, &Solo, threads, devices, console)
}

/// [`run_stages`] in the folder that `folder` makes for the files it is told of, as the first of
/// `comm`'s processes.
fn run_stages_in(
    name: &str,
    stages: &[&dyn Stage],
    folder: &dyn Fn(&[String]) -> Result<OutputFolder, OutputError>,
    comm: &dyn Comm,
    threads: ThreadArgs,
    devices: DeviceArgs,
    console: &Console,
) -> Result<(), Failure> {
    let planned: Vec<String> = stages.iter().flat_map(|stage| stage.outputs()).collect();
    let out = folder(&planned)?;
    let path = out.root().to_owned();
    let workers = threads.start()?;
    let opened = devices.open(console)?;
    let command_line = command_line();
    let on = devices.backend(&workers, &opened).among(comm);
    let session = session(on, console, &command_line);
    let record = run_command(name, stages, out, session).map_err(Failure::Work)?;
    report(&record, &path, console);
    Ok(())
}

/// What a command does that threads alone work on, once its options are understood.
fn run_on_threads(
    name: &str,
    stages: &[&dyn Stage],
    folder: &dyn Fn(&[String]) -> Result<OutputFolder, OutputError>,
    threads: ThreadArgs,
    console: &Console,
) -> Result<RunRecord, Failure> {
    let planned: Vec<String> = stages.iter().flat_map(|stage| stage.outputs()).collect();
    let out = folder(&planned)?;
    let workers = threads.start()?;
    let command_line = command_line();
    let session = session(Backend::cpu(&workers), console, &command_line);
    run_command(name, stages, out, session).map_err(Failure::Work)
}

/// What `run`, `maps` and `demo` do: the stages, each in a folder of its own, and what was written. Where the user
/// stops it, `--resume` goes on from what is finished.
fn run_in_folders(
    name: &str,
    stages: &[Box<dyn Stage>],
    folder: RunFolder,
    console: &Console,
) -> Result<Finished, Failure> {
    let RunFolder { output, existing, threads, devices } = folder;
    let workers = threads.start()?;
    let opened = devices.open(console)?;
    let command_line = command_line();
    let on = devices.backend(&workers, &opened);
    let session = session(on, console, &command_line);
    let done = fimbria_pipeline::run_stages(name, stages, &output, existing.policy(), session);
    let is_finished = |name: &str| output.join(name).join("run.json").exists();
    match done {
        Ok(finished) => {
            report(&finished.record, &output, console);
            Ok(finished)
        }
        Err(_)
            if console.was_interrupted()
                && stages.iter().any(|stage| is_finished(stage.name())) =>
        {
            Err(Failure::Interrupted { kept: Some(output) })
        }
        Err(error) => Err(error.into()),
    }
}

/// Says what was written, and with -v what each stage took and counted.
fn report(record: &RunRecord, out: &Path, console: &Console) {
    for stage in &record.stages {
        let counts = stage.counts.iter().map(|(what, number)| format!(", {number} {what}"));
        let resumed = if stage.resumed { " (earlier)" } else { "" };
        let counts: String = counts.collect();
        console.detail(&format!("{}: {:.2} s{counts}{resumed}", stage.name, stage.seconds));
    }
    // From 0.0: the sum of no numbers at all is -0.0, and would be shown so.
    let ran = record.stages.iter().filter(|stage| !stage.resumed);
    let seconds = ran.fold(0.0, |sum, stage| sum + stage.seconds);
    let what = match &record.outputs[..] {
        // It may be named in place of a folder.
        [_] if out.is_file() => out.display().to_string(),
        [file] => out.join(&file.file).display().to_string(),
        files => format!("{} in {}", counted(files.len(), "file"), out.display()),
    };
    console.note(&format!("{what}, {seconds:.1} s"));
}
