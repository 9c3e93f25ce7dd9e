//! `fimbria life`: evaluate a tractogram, and `fimbria life query`: find streamlines in it.

mod evaluate;
mod query;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use fimbria_pipeline::options::Described as _;

use crate::console::Console;
use crate::failure::Failure;

/// Either the evaluation itself, or what else there is to do with a tractogram and a series.
#[derive(Debug)]
pub(crate) enum Life {
    Evaluate(Box<evaluate::Evaluate>),
    Task(Task),
}

/// What else there is to do with a tractogram and a series.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    Query(query::QueryCommand),
}

impl Life {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self {
            Self::Evaluate(evaluate) => evaluate.run(console),
            Self::Task(Task::Query(query)) => query.run(console),
        }
    }
}

// By hand: the options of the evaluation are required, but only where there is no subcommand.
impl FromArgMatches for Life {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if matches.subcommand().is_some() {
            Task::from_arg_matches(matches).map(Self::Task)
        } else {
            let evaluate = evaluate::Evaluate::from_arg_matches(matches)?;
            Ok(Self::Evaluate(Box::new(evaluate)))
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Life {
    fn augment_args(command: Command) -> Command {
        let command = evaluate::Evaluate::augment_args(command);
        // Streamlines say where to look: no brain mask is made.
        let command = command.mut_arg("mask", |mask| {
            mask.help(
                "Voxels to work on: a 3-D image on the grid of the series, inside where above zero",
            )
            .usually("all")
        });
        // What it is about is the evaluation, not what else there is to do.
        let about = command.get_about().cloned().unwrap_or_default();
        Task::augment_subcommands(command)
            .about(about)
            .subcommand_required(false)
            .arg_required_else_help(false)
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
