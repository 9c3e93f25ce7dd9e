//! What a command does that `mpirun` started several times.

use std::time::Duration;

use fimbria_cluster::World;
use fimbria_compute::Silent;
use fimbria_pipeline::{Logbook, Products, Session, Stage, StageError};

use crate::failure::Failure;

/// The part of a process that writes nothing.
pub(crate) fn work_along(stages: &[&dyn Stage], session: Session<'_>) -> Result<(), StageError> {
    let log = Logbook::new(Session { progress: &Silent, ..session });
    let mut products = Products::default();
    stages.iter().try_for_each(|stage| stage.compute(&mut products, &log))
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
