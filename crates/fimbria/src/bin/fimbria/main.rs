//! The fimbria program: it reads command lines, calls the crates that do the work, and shows what
//! they say.
//!
//! * `cli`, `args`: what may be written on a command line; [`single_dash`] also takes `-force`,
//!   [`pipes`] takes `-` from MRtrix3; [`foreign`] knows words of other programs; [`examples`] of every command, for its help;
//! * [`version`]: what `--version -v` says;
//! * `commands`: one file per command, wiring only;
//! * `console`: progress, notes and warnings on standard error; [`failure`]: the one error that
//!   ends a command, and its exit code; `interrupt`: Ctrl-C; `memory`: where there is not enough.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Standard output carries results
//! only.

mod args;
mod cli;
mod commands;
mod console;
mod examples;
mod exit_code;
mod failure;
mod foreign;
mod interrupt;
mod memory;
mod pipes;
mod printable;
mod single_dash;
mod version;

use std::process::ExitCode;

use crate::cli::Cli;
use crate::console::Console;
use crate::failure::Failure;

fn main() -> ExitCode {
    // Taken away at the end.
    let (cli, _piped) = match Cli::of_words(std::env::args_os().collect()) {
        Ok(read) => read,
        Err(failure) => return failure.report(),
    };
    let console = Console::new(cli.verbosity.level());
    if let Err(error) = interrupt::install(&console) {
        return Failure::from(error).report();
    }
    memory::clean_up_where_refused(console.unfinished());
    let done = cli.memory.apply().and_then(|()| commands::run(cli.command, &console));
    // What ran on rayon's own threads did not obey `--threads`; its pool exists then.
    debug_assert!(
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().is_ok(),
        "work was done outside the threads of the command"
    );
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.said_to_user_of(&console).report(),
    }
}
