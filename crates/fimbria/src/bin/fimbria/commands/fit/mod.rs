//! `fimbria fit`: the models and their options are those of [`FITS`].

mod fit_args;
pub(crate) mod short_forms;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use fimbria_pipeline::stages::fits::{FITS, Fit as Model, fit_named};

use self::fit_args::FitArgs;
use crate::console::Console;
use crate::failure::Failure;

const ABOUT: &str = "Fit a signal model in every voxel and write its maps";

const LONG_ABOUT: &str = "\
Fit a signal model in every voxel and write its maps

In place of MODEL there may stand several, `fimbria fit dti,dki,noddi DWI -o OUT`, which is short for \
`fimbria maps`; or a TOML file with the table of one, as in a run's file and as `fit expr` leaves it: \
`fimbria fit model.toml DWI -o OUT`. What stands on the line counts before what the file says.

Built with --features mpi, `mpirun -n 4 fimbria fit ...` deals the voxels out to processes; the first \
one writes, and maps have the bits of one process.";

/// A model, and what its command line says.
#[derive(Debug)]
pub(crate) struct Fit {
    model: &'static str,
    matches: ArgMatches,
}

impl Args for Fit {
    fn augment_args(command: Command) -> Command {
        let fits = FITS.iter().map(|fit| described(*fit));
        command
            .about(ABOUT)
            .long_about(LONG_ABOUT)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(fits)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The command of one model.
fn described(fit: &dyn Model) -> Command {
    let command = FitArgs::augment_args(fit.options(Command::new(fit.name())));
    // The words of a group of options would stand for the command's.
    command.about(fit.text().sentence).long_about(None).after_long_help(fit.help())
}

impl FromArgMatches for Fit {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (model, matches) = matches.subcommand().ok_or_else(missing)?;
        let fit = fit_named(model).ok_or_else(missing)?;
        Ok(Self { model: fit.name(), matches: matches.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Fit {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let args = FitArgs::from_arg_matches(&self.matches).map_err(Failure::Usage)?;
        let fit = fit_named(self.model).ok_or_else(|| Failure::usage("there is no such model"))?;
        args.run(fit, &self.matches, console)
    }
}
