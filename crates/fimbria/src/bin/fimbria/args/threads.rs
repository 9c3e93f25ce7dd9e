//! How many threads work.

use clap::Args;
use fimbria_compute::{Workers, WorkersError};
use fimbria_pipeline::options::{Described as _, within};

/// How many threads work.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct ThreadArgs {
    /// Threads to work with; 0 for one per core. Results do not depend on it
    #[arg(long, visible_aliases = ["nthreads", "nprocs"], value_name = "N", default_value_t = 0)]
    #[arg(aliases = ["n_cpus", "n-cpus"], number = within(0_u16, 4096, ""))]
    threads: u16,
}

impl ThreadArgs {
    /// Starts the threads.
    pub(crate) fn start(&self) -> Result<Workers, WorkersError> {
        let Self { threads } = self;
        Workers::new(usize::from(*threads))
    }
}
