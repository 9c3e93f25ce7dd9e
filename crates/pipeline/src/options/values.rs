//! Options from the values of files and records.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Command};
use serde::Serialize;
use serde_json::{Map, Value};

use super::NamedFile;
use super::described::{InRun, UsedBy};

/// Values by the names of options, with `_` for `-`: a table of `run`'s TOML, or the parameters of
/// a method in run.json.
pub type Values = Map<String, Value>;

/// The options of a method.
pub trait Options: Args + Serialize + Send + Sync + 'static {}

impl<T: Args + Serialize + Send + Sync + 'static> Options for T {}

/// Values that are no options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("`{key}` is none of {known}")]
    Unknown {
        /// The key.
        key: String,
        /// The keys there are.
        known: String,
    },
    /// The value is of a kind that no option takes.
    #[error("`{key}` cannot be {value}")]
    Kind {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// An option that another one's choice makes no use of.
    #[error("`{key}` is not used by the {option} {chosen}, only by {users}")]
    Unused {
        /// The option.
        key: String,
        /// The other one.
        option: &'static str,
        /// Its choice.
        chosen: String,
        /// The choices that use it.
        users: String,
    },
    /// The value, or the values together, cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// Puts the numbers of a file that JSON does not have (`nan`, `inf`) as the words that a command line has for
/// them, so that the parser of their option judges these too.
pub fn in_words(value: &mut toml::Value) {
    match value {
        toml::Value::Float(number) if !number.is_finite() => {
            *value = toml::Value::String(number.to_string());
        }
        toml::Value::Array(values) => values.iter_mut().for_each(in_words),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, value)| in_words(value)),
        _ => {}
    }
}

/// The options with these values, all others being as if nothing was said.
///
/// # Errors
/// [`OptionError`].
pub fn from_values<T: Options>(values: &Values) -> Result<T, OptionError> {
    let mut command = T::augment_args(Command::new("options").no_binary_name(true));
    let words = words_of_values(&command, values)?;
    let matches = command.try_get_matches_from_mut(words).map_err(|error| unusable(&error))?;
    T::from_arg_matches(&matches).map_err(|error| unusable(&error))
}

/// The words that give a command's options these values.
///
/// # Errors
/// [`OptionError`] for what is none of its options, and values that no words give.
pub fn words_of_values(command: &Command, values: &Values) -> Result<Vec<String>, OptionError> {
    let (mut words, mut positional) = (Vec::new(), Vec::new());
    for (key, value) in values {
        let Some(arg) = command.get_arguments().find(|arg| arg.get_id() == key.as_str()) else {
            let known = command.get_arguments().map(|arg| arg.get_id().as_str());
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(OptionError::Unknown { key: key.clone(), known });
        };
        let unlike = || OptionError::Kind { key: key.clone(), value: value.to_string() };
        let to = if arg.is_positional() { &mut positional } else { &mut words };
        to.extend(words_of(arg, value).ok_or_else(unlike)?);
    }
    if !positional.is_empty() {
        words.push("--".to_owned());
        words.append(&mut positional);
    }
    Ok(words)
}

/// The same for a run, in which the defaults of some options differ ([`InRun`]).
///
/// # Errors
/// [`OptionError`].
pub fn in_run<T: Options>(values: &Values) -> Result<T, OptionError> {
    let command = T::augment_args(Command::new("options"));
    let mut all = values.clone();
    for arg in command.get_arguments() {
        if let Some(InRun(default)) = arg.get::<InRun>() {
            let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
            let default = || if is_flag { Value::Bool(true) } else { (*default).into() };
            all.entry(arg.get_id().as_str()).or_insert_with(default);
        }
    }
    from_values(&all)
}

/// Refuses options that are given although `chosen`, which `option` says, makes no use of them.
///
/// # Errors
/// [`OptionError::Unused`].
pub fn refuse_unused<T: Options>(
    options: &T,
    option: &'static str,
    chosen: &str,
) -> Result<(), OptionError> {
    let command = T::augment_args(Command::new("options"));
    let given = serde_json::to_value(options).unwrap_or_default();
    let is_given = |arg: &Arg| match &given[arg.get_id().as_str()] {
        Value::Null | Value::Bool(false) => false,
        Value::Array(values) => !values.is_empty(),
        _ => true,
    };
    for arg in command.get_arguments() {
        let Some(users) = arg.get::<UsedBy>().filter(|users| users.option == option) else {
            continue;
        };
        if !users.choices.contains(&chosen) && is_given(arg) {
            return Err(OptionError::Unused {
                key: arg.get_long().unwrap_or_default().to_owned(),
                option,
                chosen: chosen.to_owned(),
                users: users.choices.join(", "),
            });
        }
    }
    Ok(())
}

/// Takes the files among the values of options as relative to `folder`.
pub fn paths_beside<T: Options>(folder: &Path, values: &mut Values) {
    let command = T::augment_args(Command::new("options"));
    for arg in command.get_arguments() {
        let type_id = arg.get_value_parser().type_id();
        let is_named = type_id == TypeId::of::<NamedFile>();
        if !is_named && type_id != TypeId::of::<PathBuf>() {
            continue;
        }
        let paths = match values.get_mut(arg.get_id().as_str()) {
            Some(Value::Array(paths)) => &mut paths[..],
            Some(path) => std::slice::from_mut(path),
            None => &mut [],
        };
        for path in paths {
            let Value::String(path) = path else { continue };
            *path = match path.split_once('=').filter(|_| is_named) {
                Some((name, file)) => format!("{name}={}", folder.join(file).display()),
                None => folder.join(&*path).display().to_string(),
            };
        }
    }
}

/// The options where nothing is said: their defaults.
///
/// # Panics
/// Where an option must be given; a method with such options has no default, and a test of each
/// method says whether it has.
pub fn usual<T: Options>() -> T {
    from_values(&Values::new()).unwrap_or_else(|error| unreachable!("no default: {error}"))
}

/// The words that give a value to an option; `None` where no words do.
fn words_of(arg: &Arg, value: &Value) -> Option<Vec<String>> {
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
    let texts = match value {
        Value::Null => return Some(Vec::new()),
        Value::Bool(false) if is_flag => return Some(Vec::new()),
        Value::Bool(true) if is_flag => return Some(vec![format!("--{}", arg.get_long()?)]),
        _ if is_flag => return None,
        Value::Array(values) => values.iter().map(text_of).collect::<Option<Vec<_>>>()?,
        value => vec![text_of(value)?],
    };
    let Some(long) = arg.get_long() else { return Some(texts) };
    Some(match arg.get_value_delimiter() {
        Some(delimiter) if !texts.is_empty() => {
            vec![format!("--{long}={}", texts.join(&delimiter.to_string()))]
        }
        _ if arg.get_num_args().is_some_and(|n| n.min_values() > 1) => {
            std::iter::once(format!("--{long}")).chain(texts).collect()
        }
        _ => texts.iter().map(|text| format!("--{long}={text}")).collect(),
    })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        // Of options that take the words true and false.
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// clap's message in one line, in words of files rather than command lines.
fn unusable(error: &clap::Error) -> OptionError {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let text = lines.join(" ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    OptionError::Unusable(text.split(" For more information").next().unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::{Choice, Described as _, above};

    #[derive(Clone, Copy, PartialEq)]
    enum How {
        Slow,
    }

    impl Choice for How {
        const CHOICES: &'static [(Self, &'static str, &'static str)] = &[(Self::Slow, "slow", "")];
    }

    #[derive(Args, Serialize, Debug, PartialEq)]
    struct Sample {
        /// A number
        #[arg(long, number = above(0.0, "s/mm²"), default_value_t = 3000.0)]
        largest_b: f64,

        /// A list
        #[arg(long, value_delimiter = ',')]
        shells: Option<Vec<f64>>,

        /// Three numbers
        #[arg(long, num_args = 3, allow_negative_numbers = true)]
        axis: Option<Vec<f64>>,

        /// A flag
        #[arg(long)]
        positive: bool,

        /// Several
        #[arg(long, allow_hyphen_values = true)]
        param: Vec<String>,

        /// Of one method only
        #[arg(long, used_by("method", &[How::Slow]), in_run = "3")]
        rounds: Option<u32>,

        /// Files under names
        #[arg(long)]
        map: Vec<NamedFile>,

        /// No option
        file: Vec<PathBuf>,
    }

    fn sample(values: Value) -> Result<Sample, OptionError> {
        let Value::Object(values) = values else { panic!("no table") };
        from_values(&values)
    }

    #[test]
    fn values_are_what_the_same_words_are() {
        let all = json!({
            "largest_b": 1e-3, "shells": [1000, 2000.5], "axis": [0, -1, 0.5], "positive": true,
            "param": ["D=1,0,5", "-"], "file": ["a", "-b"],
        });
        let options = sample(all).unwrap();
        assert_eq!(options.largest_b, 1e-3);
        assert_eq!(options.shells, Some(vec![1000.0, 2000.5]));
        assert_eq!(options.axis, Some(vec![0.0, -1.0, 0.5]));
        assert!(options.positive);
        assert_eq!(options.param, ["D=1,0,5", "-"]);
        assert_eq!(options.file, ["a", "-b"].map(PathBuf::from));
    }

    #[test]
    fn options_come_back_from_their_values() {
        for values in [json!({}), json!({ "shells": [1e3], "axis": [1, 2, 3], "positive": true })] {
            let options = sample(values).unwrap();
            let values = serde_json::to_value(&options).unwrap();
            assert_eq!(sample(values), Ok(options));
        }
        assert_eq!(usual::<Sample>().largest_b, 3000.0);
    }

    #[test]
    fn what_is_no_option_is_refused_by_name() {
        let said = |values| sample(values).unwrap_err().to_string();
        let unknown = said(json!({ "larges_b": 1 }));
        assert_eq!(
            unknown,
            "`larges_b` is none of largest_b, shells, axis, positive, param, rounds, map, file"
        );
        let below = said(json!({ "largest_b": -1 }));
        assert!(below.contains("must be a number above 0, in s/mm²"), "{below}");
        assert_eq!(said(json!({ "positive": 3 })), "`positive` cannot be 3");
        assert!(
            said(json!({ "axis": [1, 2] })).contains("3 values"),
            "{}",
            said(json!({ "axis": [1, 2] }))
        );
    }

    #[test]
    fn a_run_has_defaults_of_its_own() {
        let given = |values: Value| in_run::<Sample>(values.as_object().unwrap()).unwrap().rounds;
        assert_eq!(given(json!({})), Some(3));
        assert_eq!(given(json!({ "rounds": 5 })), Some(5));
        assert_eq!(usual::<Sample>().rounds, None);
    }

    #[test]
    fn what_a_choice_does_not_use_is_refused_where_it_is_given() {
        let given = sample(json!({ "rounds": 5 })).unwrap();
        refuse_unused(&given, "method", "slow").unwrap();
        let said = refuse_unused(&given, "method", "fast").unwrap_err().to_string();
        assert_eq!(said, "`rounds` is not used by the method fast, only by slow");
        refuse_unused(&usual::<Sample>(), "method", "fast").unwrap();
    }

    #[test]
    fn files_are_beside_the_file_that_names_them() {
        let given = json!({ "file": ["a", "/b"], "param": ["c"], "map": ["d=e", "f=/g"] });
        let Value::Object(mut values) = given else { unreachable!() };
        paths_beside::<Sample>(Path::new("folder"), &mut values);
        let expected =
            json!({ "file": ["folder/a", "/b"], "param": ["c"], "map": ["d=folder/e", "f=/g"] });
        assert_eq!(json!(values), expected);
    }
}
