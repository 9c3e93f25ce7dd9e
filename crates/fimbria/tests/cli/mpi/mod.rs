//! Commands on several processes, where there is an `mpirun` to start them.

mod fit;
mod life;
mod qsm;
mod sticks;
mod track;

use std::process::Command;

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
    match command.output() {
        Ok(output) => Some(Ran::of(&output)),
        Err(_) => {
            fimbria_testing::missing("mpirun");
            None
        }
    }
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
