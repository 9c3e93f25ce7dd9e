//! How much is said.

use clap::Args;
use fimbria_pipeline::options::{Described as _, at_least};

/// How much the program says on standard error.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
pub(crate) struct Verbosity {
    /// Say nothing but warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Say more; 0 as usual
    #[arg(short, long, global = true, value_name = "LEVEL", num_args = 0..=1)]
    #[arg(require_equals = true, default_value_t = 0, default_missing_value = "1")]
    #[arg(hide_default_value = true)]
    #[arg(number = at_least(0_u8, ""))]
    verbose: u8,
}

impl Verbosity {
    /// -1 quiet, 0 as usual, 1 verbose.
    pub(crate) fn level(&self) -> i8 {
        let Self { quiet, verbose } = self;
        i8::from(*verbose > 0) - i8::from(*quiet)
    }
}
