//! How much is said.

use clap::Args;

/// How much the program says on standard error.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
pub(crate) struct Verbosity {
    /// Say nothing but warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Say more
    #[arg(short, long, global = true)]
    verbose: bool,
}

impl Verbosity {
    /// -1 quiet, 0 as usual, 1 verbose.
    pub(crate) fn level(&self) -> i8 {
        let Self { quiet, verbose } = self;
        i8::from(*verbose) - i8::from(*quiet)
    }
}
