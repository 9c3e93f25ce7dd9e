//! `fimbria life`: evaluate a tractogram, and `fimbria life query`: find streamlines in it.

mod evaluate;
mod query;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::Failure;

/// Weigh every streamline of a tractogram by what it explains of the signal (LiFE)
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_long_help = evaluate::HELP)]
pub(crate) struct Life {
    #[command(subcommand)]
    task: Option<Task>,

    #[command(flatten)]
    evaluate: Option<evaluate::Evaluate>,
}

/// What else there is to do with a tractogram and a series.
#[derive(Debug, Subcommand)]
enum Task {
    Query(query::QueryCommand),
}

impl Life {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { task, evaluate } = self;
        match (task, evaluate) {
            (Some(Task::Query(query)), _) => query.run(console),
            (None, Some(evaluate)) => evaluate.run(console),
            (None, None) => Err(Failure::usage("a tractogram is missing: see `fimbria life -h`")),
        }
    }
}
