//! How much memory is taken.

use clap::Args;
use fimbria_pipeline::ByteSize;
use fimbria_pipeline::options::Described as _;

use crate::failure::Failure;
use crate::memory;

/// How much memory the program takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MemoryArgs {
    /// Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
    /// third, are worked on from disk; where the rest does not fit, that is one error. Pages of files
    /// that are read in place do not count: the system takes them back when it needs them
    #[arg(long, visible_alias = "mem", global = true, value_name = "SIZE")]
    #[arg(usually = "no limit")]
    memory: Option<ByteSize>,
}

impl MemoryArgs {
    /// Keeps the program to it.
    pub(crate) fn apply(&self) -> Result<(), Failure> {
        let Self { memory } = self;
        memory.map_or(Ok(()), memory::limit_to).map_err(Failure::usage)
    }
}
