//! The command line as a whole.

use std::ffi::OsString;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use fimbria_pipeline::options;

use crate::args::{MemoryArgs, Verbosity};
use crate::commands::Command;
use crate::commands::fit::short_forms;
use crate::failure::Failure;
use crate::pipes::{self, Piped};
use crate::{examples, foreign, single_dash, version};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Diffusion MRI from scanner files to maps, fast on any machine.
///
/// Every command writes its outputs to a new folder (or file) given by -o, all at once at the end,
/// with a run.json that says what was done. `fimbria COMMAND --help` names the outputs of a
/// command with their units, order and frame. Long options may be written with one dash, as in
/// MRtrix3.
#[derive(Debug, Parser)]
#[command(name = "fimbria", version, styles = STYLES, max_term_width = 100)]
#[command(infer_long_args = false, arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

impl Cli {
    /// The command line's description, with examples and complete with what clap adds by itself.
    pub(crate) fn described() -> clap::Command {
        let mut command = options::complete(examples::added_to(Self::command(), ""));
        command.build();
        command
    }

    /// What a command line asks for, the program's name first, and what came through a pipe for it.
    ///
    /// # Errors
    /// [`Failure::Usage`], also for help.
    pub(crate) fn of_words(words: Vec<OsString>) -> Result<(Self, Piped), Failure> {
        let (words, piped) = pipes::taken(short_forms::in_full(words)?)?;
        let mut command = Self::described();
        let words = single_dash::with_two_dashes(&command, words);
        if version::more_is_asked(words.iter().filter_map(|word| word.to_str())) {
            command = command.version(version::VERSION.as_str());
        }
        let asks_help = words.get(1).is_some_and(|word| word == "help");
        let matches = command.try_get_matches_from_mut(words);
        let answered = |error| Failure::Usage(foreign::answered(error, asks_help));
        let matches = matches.map_err(answered)?;
        let cli = Self::from_arg_matches(&matches);
        Ok((cli.map_err(|error| Failure::Usage(error.format(&mut command)))?, piped))
    }
}
