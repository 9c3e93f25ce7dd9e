//! `fimbria completions`

use clap::Args;
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::console::Console;
use crate::failure::Failure;

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

const HELP: &str = "\
Outputs:
  The script, on standard output. For bash:
    fimbria completions bash > ~/.local/share/bash-completion/completions/fimbria";

impl Completions {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { shell } = self;
        let mut script = Vec::new();
        generate(shell, &mut Cli::described(), "fimbria", &mut script);
        Ok(console.print(&String::from_utf8_lossy(&script))?)
    }
}
