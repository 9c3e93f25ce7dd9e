//! Commands on several processes, where there is an `mpirun` to start them.

mod fit;
mod life;
mod qsm;
mod sticks;
mod track;

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use crate::util::{Folder, Ran};

/// `mpirun` of the program once for each of `parts`: a number of processes, and their words.
/// `None`, said aloud, where there is no `mpirun`.
fn mpirun(folder: &Folder, parts: &[(usize, String)]) -> Option<Ran> {
    let mut command = Command::new("mpirun");
    // A container's root, and more processes than cores, are refused otherwise (OpenMPI).
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("NO_COLOR", "1");
    command.current_dir(folder.path());
    for (number, (processes, line)) in parts.iter().enumerate() {
        if number > 0 {
            command.arg(":");
        }
        command.args(["-n", &processes.to_string()]);
        command.arg(assert_cmd::cargo::cargo_bin!("fimbria")).args(line.split_whitespace());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match command.spawn() {
        Ok(started) => Some(Ran::of(&output_of(started))),
        Err(_) => {
            fimbria_testing::missing("mpirun");
            None
        }
    }
}

/// Most runs of these tests take seconds.
const LONG: Duration = Duration::from_secs(120);

/// What `mpirun` says until it ends.
fn output_of(mut mpirun: Child) -> Output {
    let (stdout, stderr) = (mpirun.stdout.take().unwrap(), mpirun.stderr.take().unwrap());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| all_of(stdout));
        let stderr = scope.spawn(|| all_of(stderr));
        let status = end_of(&mut mpirun);
        Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
    })
}

fn all_of(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Waits for the end of `mpirun`. That of Open MPI 4.1 may hang after a process has called MPI_Abort
/// (in PMIx_server_finalize, between two threads of its own, all processes long dead): it is killed
/// then. What else takes so long is a fault of ours.
fn end_of(mpirun: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = mpirun.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > LONG {
            let at_work = processes_at_work(mpirun.id());
            mpirun.kill().unwrap();
            let status = mpirun.wait().unwrap();
            assert_eq!(at_work, 0, "processes hang");
            return status;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How many children of a process have not ended.
fn processes_at_work(parent: u32) -> usize {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let is_at_work = |child: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // After the name, which stands in brackets.
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    children.unwrap_or_default().split_whitespace().filter(is_at_work).count()
}

/// The files that are `wanted` in the folder `name`, with their bytes.
fn contents(folder: &Folder, name: &str, wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    let names = folder.names(name).into_iter().filter(|file| wanted(file));
    let read = |file: String| {
        let bytes = std::fs::read(folder.join(&format!("{name}/{file}"))).unwrap();
        (file, bytes)
    };
    names.map(read).collect()
}
