//! What a command does that `mpirun` may have started several times.

use std::time::Duration;

use fimbria_cluster::World;
use fimbria_compute::comm::Comm;
use fimbria_compute::{Backend, Silent};
use fimbria_pipeline::{Logbook, OutputError, OutputFolder, Products, Session, Stage};

use super::{command_line, run_stages_in, session};
use crate::args::{DeviceArgs, ThreadArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Runs `stages` in every process of `world`: the first makes the folder, writes and reports, the
/// others only compute along. Where one fails, its message is said once, and all end.
pub(crate) fn run_together(
    name: &str,
    stages: &[&dyn Stage],
    world: &World,
    folder: &dyn Fn(&[String]) -> Result<OutputFolder, OutputError>,
    threads: ThreadArgs,
    devices: DeviceArgs,
    console: &Console,
) -> Result<(), Failure> {
    let done = if world.comm().rank() == 0 {
        run_stages_in(name, stages, folder, world.comm(), threads, devices, console)
    } else {
        work_along(stages, world.comm(), threads, devices, console)
    };
    end_together(done, world)
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
    let devices = devices.open(&Silent)?;
    let command_line = command_line();
    let on = Backend::new(&workers, &devices).among(comm);
    let session = Session { progress: &Silent, ..session(on, console, &command_line) };
    let (log, mut products) = (Logbook::new(session), Products::default());
    let mut stages = stages.iter();
    stages.try_for_each(|stage| stage.compute(&mut products, &log)).map_err(Failure::Work)
}

/// `done`, or where it failed as one of several processes, its message, said once, and the end of
/// all.
pub(crate) fn end_together(done: Result<(), Failure>, world: &World) -> Result<(), Failure> {
    /// What fails in all processes is said by the first, which ends the others meanwhile.
    const HEAD_START: Duration = Duration::from_secs(3);
    match done {
        Err(failure) if world.comm().size() > 1 => {
            if world.comm().rank() > 0 {
                std::thread::sleep(HEAD_START);
            }
            let _ = failure.report();
            world.abort(1);
            Ok(())
        }
        done => done,
    }
}
