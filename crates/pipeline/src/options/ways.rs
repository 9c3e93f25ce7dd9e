//! Options whose defaults are those of the way that another option chooses.
//!
//! Each of several ways to do one job says which options it uses and what they are by default; which ways
//! use an option, and its defaults in words, follow from that.

use std::fmt::Debug;
use std::marker::PhantomData;

use clap::Arg;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::choice::Choice;
use super::described::{UsedBy, Usual};
use super::resolved::Place;
use super::values::{Options, Values};

/// A way to do a job.
pub trait Way: Choice {
    /// The options of the job: whatever any way uses.
    type Options: Options + Default + Debug + DeserializeOwned;

    /// The option that chooses the way.
    const OPTION: &'static str;

    /// What other options change defaults, in words.
    const VARIANTS: &'static [Variant<Self::Options>] = &[];

    /// The options that this way uses, where only some do, with their defaults; null where there is none.
    fn defaults(self, given: &Self::Options, place: Place) -> Values;
}

/// Options that change the defaults of others: what they are called, and how they are set.
pub type Variant<T> = (&'static str, fn(&mut T));

/// `given` with the defaults of `way`.
pub fn with_defaults_of<W: Way>(way: W, given: &W::Options, place: Place) -> W::Options {
    let mut values = values_of(given);
    for (option, default) in way.defaults(given, place) {
        if values.get(&option).is_none_or(Value::is_null) {
            values.insert(option, default);
        }
    }
    serde_json::from_value(Value::Object(values))
        .unwrap_or_else(|error| unreachable!("the defaults of {}: {error}", way.name()))
}

/// The values of options, by name.
///
/// # Panics
/// Where `options` are no struct, or have a path that is no text.
pub fn values_of<T: Serialize>(options: &T) -> Values {
    match serde_json::to_value(options) {
        Ok(Value::Object(values)) => values,
        other => unreachable!("no values: {other:?}"),
    }
}

/// An option that some ways of `W` use, in clap's attributes: `#[arg(by = Ways::<METHOD>::NEW)]`.
pub struct Ways<W> {
    none: &'static str,
    ways: PhantomData<fn() -> W>,
}

impl<W: Way> Ways<W> {
    /// One whose users and defaults the ways know.
    pub const NEW: Self = Self { none: "", ways: PhantomData };

    /// The same; what it is in words where a way has no number for it.
    #[must_use]
    pub const fn or(self, none: &'static str) -> Self {
        Self { none, ..self }
    }

    /// `arg` with its users and its defaults in words.
    pub(super) fn describe(self, arg: Arg) -> Arg {
        let option = arg.get_id().to_string();
        let usual = W::Options::default();
        let of_command = self.defaults(&option, &usual, Place::Command);
        let users = of_command.iter().map(|(way, _)| way.name()).collect();
        let mut words = Vec::new();
        for (index, (default, names)) in grouped(&of_command).into_iter().enumerate() {
            words.push(if index == 0 { default } else { format!("{default} of {names}") });
        }
        let given = |set: fn(&mut W::Options)| {
            let mut given = W::Options::default();
            set(&mut given);
            given
        };
        let in_run = ("in a run", self.defaults(&option, &usual, Place::Run));
        let variants = W::VARIANTS.iter().map(|(words, set)| (*words, given(*set)));
        // What the variant sets itself is no default.
        let variants = variants.filter(|(_, given)| values_of(given)[&option].is_null());
        let variants =
            variants.map(|(words, given)| (words, self.defaults(&option, &given, Place::Command)));
        for (circumstance, defaults) in std::iter::once(in_run).chain(variants) {
            let changed: Vec<_> =
                defaults.into_iter().filter(|d| !of_command.contains(d)).collect();
            let is_all = changed.len() == of_command.len();
            for (default, names) in grouped(&changed) {
                let of = if is_all || W::VARIANTS.iter().any(|(v, _)| *v == circumstance) {
                    String::new()
                } else {
                    format!(" of {names}")
                };
                words.push(format!("{default}{of} {circumstance}"));
            }
        }
        let arg = arg.add(UsedBy { option: W::OPTION, choices: users });
        match words.join("; ") {
            words if words.is_empty() => arg,
            words => arg.add(Usual(words.into())),
        }
    }

    /// Every way that uses the option, with its default in words.
    fn defaults(&self, option: &str, given: &W::Options, place: Place) -> Vec<(W, String)> {
        let ways = W::CHOICES.iter().map(|(way, ..)| *way);
        let default = |way: W| {
            let values = way.defaults(given, place);
            Some((way, in_words(values.get(option)?, self.none)))
        };
        ways.filter_map(default).collect()
    }
}

/// The defaults with the ways that have them, in the order in which they come first.
fn grouped<W: Way>(defaults: &[(W, String)]) -> Vec<(String, String)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (way, default) in defaults.iter().filter(|(_, default)| !default.is_empty()) {
        match groups.iter_mut().find(|(other, _)| other == default) {
            Some((_, names)) => names.push(way.name()),
            None => groups.push((default.clone(), vec![way.name()])),
        }
    }
    groups.into_iter().map(|(default, names)| (default, list(&names))).collect()
}

/// Names as a sentence has them.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A value as a command line has it, small numbers as powers of ten.
fn in_words(value: &Value, none: &str) -> String {
    match value {
        Value::Null => none.to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(x) if x != 0.0 && x.abs() < 0.01 => format!("{x:e}"),
            Some(x) => x.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::options::Described as _;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    enum How {
        #[default]
        Slow,
        Fast,
        Not,
    }

    impl Choice for How {
        const CHOICES: &'static [(Self, &'static str, &'static str)] =
            &[(Self::Slow, "slow", ""), (Self::Fast, "fast", ""), (Self::Not, "not", "")];
    }

    #[derive(Args, Serialize, Deserialize, Debug, Default, PartialEq)]
    struct Sample {
        /// Rounds
        #[arg(long, by = Ways::<How>::NEW)]
        rounds: Option<u32>,

        /// A step
        #[arg(long, by = Ways::<How>::NEW.or("a safe one"))]
        step: Option<f64>,

        /// As another program
        #[arg(long)]
        old: bool,
    }

    impl Way for How {
        type Options = Sample;
        const OPTION: &'static str = "how";
        const VARIANTS: &'static [Variant<Sample>] = &[("with --old", |given| given.old = true)];

        fn defaults(self, given: &Sample, place: Place) -> Values {
            let step = given.old.then_some(2e-3);
            let values = match self {
                Self::Slow => json!({ "rounds": 9, "step": step }),
                Self::Fast if place == Place::Run => json!({ "rounds": 2 }),
                Self::Fast => json!({ "rounds": 3 }),
                Self::Not => json!({}),
            };
            values_of(&values)
        }
    }

    #[test]
    fn help_has_users_and_defaults_from_the_ways() {
        let command = Sample::augment_args(Command::new("x"));
        let arg = |id: &str| command.get_arguments().find(|arg| arg.get_id() == id).unwrap();
        assert_eq!(arg("rounds").get::<UsedBy>().unwrap().choices, ["slow", "fast"]);
        let rounds = &arg("rounds").get::<Usual>().unwrap().0;
        assert_eq!(rounds, "9; 3 of fast; 2 of fast in a run");
        let step = &arg("step").get::<Usual>().unwrap().0;
        assert_eq!(step, "a safe one; 2e-3 with --old");
    }

    #[test]
    fn only_what_is_not_given_gets_the_default_of_its_way() {
        let given = Sample { rounds: Some(5), ..Sample::default() };
        let slow = with_defaults_of(How::Slow, &Sample { old: true, ..given }, Place::Command);
        assert_eq!(slow, Sample { rounds: Some(5), step: Some(2e-3), old: true });
        let fast = with_defaults_of(How::Fast, &Sample::default(), Place::Run);
        assert_eq!(fast, Sample { rounds: Some(2), step: None, old: false });
    }
}
