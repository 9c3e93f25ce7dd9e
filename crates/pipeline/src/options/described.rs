//! What an option says of itself besides what clap knows: unit and range, defaults in words,
//! what a file is, defaults of a run, and which choices use it.

use std::borrow::Cow;
use std::fmt::{self, Debug, Display};
use std::str::FromStr;

use clap::builder::ArgExt;
use clap::{Arg, Command};

use super::choice::Choice;
use super::number::{Number, Quantity};
use super::takes::Takes;
use super::ways::{Way, Ways};
use crate::Writes;

/// The default, in words, of an option whose default depends on other options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usual(pub Cow<'static, str>);

impl ArgExt for Usual {}

/// What an option is in a run where nothing is said, when that differs from its command: as a file
/// would say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRun(pub &'static str);

impl ArgExt for InRun {}

/// Only some choices of another option use this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedBy {
    /// The other option.
    pub option: &'static str,
    /// The names of those choices.
    pub choices: Vec<&'static str>,
}

impl ArgExt for UsedBy {}

impl Display for UsedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} {}", self.option, self.choices.join(", "))
    }
}

/// What clap's attributes of an option may say besides its own.
pub trait Described: Sized {
    /// The option takes such a number.
    #[must_use]
    fn number<T>(self, number: Number<T>) -> Self
    where
        T: FromStr + PartialOrd + Display + Debug + Copy + Send + Sync + 'static;

    /// The option takes such files.
    #[must_use]
    fn takes(self, files: Takes) -> Self;

    /// What it is where nothing is said, in words.
    #[must_use]
    fn usually(self, default: impl Into<Cow<'static, str>>) -> Self;

    /// What it is in a run where nothing is said.
    #[must_use]
    fn in_run(self, default: &'static str) -> Self;

    /// Only these choices of another option use it; [`refuse_unused`](super::refuse_unused) refuses
    /// it with others.
    #[must_use]
    fn used_by<T: Choice>(self, option: &'static str, choices: &[T]) -> Self;

    /// Only some ways of the job use it; which do, and its default with each, they say themselves.
    #[must_use]
    fn by<W: Way>(self, ways: Ways<W>) -> Self;
}

impl Described for Arg {
    fn number<T>(self, number: Number<T>) -> Self
    where
        T: FromStr + PartialOrd + Display + Debug + Copy + Send + Sync + 'static,
    {
        self.add(Quantity { unit: number.unit(), range: number.range() })
            .value_parser(move |text: &str| number.parse(text))
    }

    fn takes(self, files: Takes) -> Self {
        self.add(files)
    }

    fn usually(self, default: impl Into<Cow<'static, str>>) -> Self {
        self.add(Usual(default.into()))
    }

    fn in_run(self, default: &'static str) -> Self {
        self.add(InRun(default))
    }

    fn used_by<T: Choice>(self, option: &'static str, choices: &[T]) -> Self {
        self.add(UsedBy { option, choices: choices.iter().map(|choice| choice.name()).collect() })
    }

    fn by<W: Way>(self, ways: Ways<W>) -> Self {
        ways.describe(self)
    }
}

/// `command` with what it and its options are described with in their help: what it writes; units,
/// ranges, defaults in words.
pub fn complete(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let said = said(&arg);
        if said.is_empty() {
            return arg;
        }
        let help = arg.get_help().map(ToString::to_string);
        let long_help = arg.get_long_help().map(ToString::to_string);
        let arg = match help {
            Some(help) => arg.help(help + &said),
            None => arg,
        };
        match long_help {
            Some(help) => arg.long_help(help + &said),
            None => arg,
        }
    });
    let command = match command.get::<Writes>().copied() {
        Some(writes) => writes.complete(command),
        None => command,
    };
    command.mut_subcommands(complete)
}

/// What follows the help of an option.
fn said(arg: &Arg) -> String {
    let mut said = String::new();
    if let Some(users) = arg.get::<UsedBy>() {
        said += &format!(" [with {users}]");
    }
    if let Some(Quantity { unit, range }) = arg.get::<Quantity>() {
        let parts: Vec<_> =
            [range.as_str(), unit].into_iter().filter(|part| !part.is_empty()).collect();
        if !parts.is_empty() {
            said += &format!(" [{}]", parts.join(", "));
        }
    }
    if let Some(Usual(default)) = arg.get::<Usual>() {
        said += &format!(" [default: {default}]");
    }
    if let Some(InRun(default)) = arg.get::<InRun>() {
        said += &format!(" [in a run: {default}]");
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::above;

    #[test]
    fn help_tells_unit_range_and_default() {
        let arg = Arg::new("b").long("b").help("Largest b").number(above(0.0, "s/mm²"));
        let arg = arg.usually("all").in_run("1500");
        let command = complete(Command::new("x").arg(arg));
        let help = command.get_arguments().next().unwrap().get_help().unwrap().to_string();
        assert_eq!(help, "Largest b [above 0, s/mm²] [default: all] [in a run: 1500]");
    }
}
