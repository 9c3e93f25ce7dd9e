//! What a command does that `mpirun` may have started several times.

use std::path::Path;
use std::time::Duration;

use fimbria_cluster::World;
use fimbria_compute::comm::Comm;
use fimbria_compute::{Progress as _, Silent};
use fimbria_pipeline::{
    Existing, Logbook, OutputError, OutputFolder, Products, Session, Stage, earlier_command,
    refuse_name_of_file,
};

use super::{command_line, run_stages_in, session};
use crate::args::{DeviceArgs, KeptOutputArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// [`run_together`] of work that keeps in OUT/.resume what it has come to. With
/// [`Existing::Resume`], what is finished in OUT of the same inputs and parameters stays, and of
/// others it is an error.
pub(crate) fn run_kept(
    name: &str,
    stages: &[&dyn Stage],
    world: &World,
    output: &KeptOutputArgs,
    threads: ThreadArgs,
    devices: DeviceArgs,
    console: &Console,
) -> Result<(), Failure> {
    let (path, existing, _) = output.split();
    if existing == Existing::Resume
        && let Some(earlier) = earlier_command(stages, path)?
    {
        if !earlier.is_same {
            let message = format!(
                "{} is finished, with other inputs or parameters ({}): --force makes it anew",
                path.display(),
                earlier.record.command_line.join(" ")
            );
            return end_together(Err(Failure::usage(message)), world, console);
        }
        if world.comm().rank() == 0 {
            console.note(&format!("{} is finished already", path.display()));
        }
        return Ok(());
    }
    let folder = |planned: &[String]| {
        refuse_name_of_file(path)?;
        let overwrite = existing != Existing::Refuse;
        OutputFolder::create(path, planned, overwrite, console.unfinished())
    };
    let kept = OutputFolder::kept(path, name);
    run_together(name, stages, world, &folder, Some(&kept), threads, devices, console)
}

/// Runs `stages` in every process of `world`: the first makes the folder, writes and reports, the
/// others only compute along. Where one fails, its message is said once, and all end; where the user
/// stopped them, with what `--resume` goes on from, if that is there.
pub(crate) fn run_together(
    name: &str,
    stages: &[&dyn Stage],
    world: &World,
    folder: &dyn Fn(&[String]) -> Result<OutputFolder, OutputError>,
    kept: Option<&Path>,
    threads: ThreadArgs,
    devices: DeviceArgs,
    console: &Console,
) -> Result<(), Failure> {
    let done = if world.comm().rank() == 0 {
        run_stages_in(name, stages, folder, world.comm(), threads, devices, console)
    } else {
        work_along(stages, world.comm(), threads, devices, console)
    };
    let done = match kept {
        Some(kept) => Failure::unless_kept(done, kept, console),
        None => done,
    };
    end_together(done, world, console)
}

/// The part of a process that neither writes nor speaks.
fn work_along(
    stages: &[&dyn Stage],
    comm: &dyn Comm,
    threads: ThreadArgs,
    devices: DeviceArgs,
    console: &Console,
) -> Result<(), Failure> {
    let workers = threads.start()?;
    let opened = devices.open(&Silent)?;
    let command_line = command_line();
    let on = devices.backend(&workers, &opened).among(comm);
    let log = Logbook::new(Session { progress: &Silent, ..session(on, console, &command_line) });
    let mut products = Products::default();
    let mut stages = stages.iter();
    stages.try_for_each(|stage| stage.compute(&mut products, &log)).map_err(Failure::Work)
}

/// How long a process that failed waits for one that may speak before it does.
fn precedence(rank: usize) -> Duration {
    match rank {
        // Time for the others to fail of the same cause.
        0 => Duration::from_secs(2),
        _ => Duration::from_secs(3) + Duration::from_millis(300) * rank as u32,
    }
}

/// `done`, or where it failed as one of several processes, its message, said once, and the end of
/// all: each by itself where all failed (the first of them speaks), or else by force.
pub(crate) fn end_together(
    done: Result<(), Failure>,
    world: &World,
    console: &Console,
) -> Result<(), Failure> {
    let rank = world.comm().rank();
    match done {
        Err(failure) if world.comm().size() > 1 => {
            let failure = failure.said_to_user_of(console);
            let code = failure.code();
            if rank == 0 {
                failure.say();
                if !world.all_fail_within(precedence(rank)) {
                    world.abort(1);
                }
            } else if !world.all_fail_within(precedence(rank)) {
                failure.say();
                world.abort(1);
            }
            Err(Failure::Said(code))
        }
        done => done,
    }
}

/// Rank and number of the processes that `mpirun` says it has started. MPI is not asked, so that this
/// holds before it starts, and without it.
pub(crate) fn rank_and_size() -> Option<(usize, usize)> {
    /// As OpenMPI's and MPICH's `mpirun` tell them.
    const TOLD: [[&str; 2]; 2] =
        [["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"], ["PMI_RANK", "PMI_SIZE"]];
    let number = |name: &str| -> Option<usize> { std::env::var(name).ok()?.parse().ok() };
    // Slurm sets the second pair for whatever `srun` starts, many times over with other files, say.
    let told_by = if std::env::var_os("SLURM_PROCID").is_some() { &TOLD[..1] } else { &TOLD[..] };
    told_by.iter().find_map(|[rank, size]| Some((number(rank)?, number(size)?)))
}

/// Refuses what one process does where `mpirun` has started several: each would do all of it, and
/// write the same files.
pub(crate) fn refuse_several(is_shared: bool) -> Result<(), Failure> {
    match rank_and_size() {
        Some((rank, size)) if size > 1 => {
            if rank > 0 {
                // The first speaks, and what started them ends the others.
                std::thread::sleep(precedence(rank));
            }
            let why = if is_shared {
                "share this work only where the program is built with --features mpi"
            } else {
                "cannot share this work: start one, without mpirun"
            };
            Err(Failure::usage(format!("{size} processes {why}")))
        }
        _ => Ok(()),
    }
}
