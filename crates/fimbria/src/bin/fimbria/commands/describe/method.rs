//! What a command takes, gives and may be told, as data.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use fimbria_image::MapSpec;
use fimbria_pipeline::options::{Choice as _, InRun, Quantity, Takes, UsedBy, Usual};
use fimbria_pipeline::stages::fits::{Fit, fit_named};
use fimbria_pipeline::{FileKind, MapLayout, Writes, Written};
use serde::Serialize;

/// A command.
#[derive(Debug, Serialize)]
pub(super) struct Method {
    /// Its words ("fit dti").
    pub(super) name: String,
    /// What it does, in a line.
    pub(super) sentence: String,
    /// Arguments first, then options, in the order of the help.
    pub(super) options: Vec<OptionAbout>,
    /// What it writes.
    pub(super) outputs: Vec<Output>,
    /// What its help says after the options, but for outputs, references and examples.
    pub(super) notes: String,
    pub(super) references: Vec<String>,
    pub(super) examples: Vec<String>,
}

/// An option or argument.
#[derive(Debug, Serialize)]
pub(super) struct OptionAbout {
    /// Its name in TOML, records and Python.
    pub(super) name: String,
    pub(super) long: Option<String>,
    pub(super) short: Option<char>,
    pub(super) aliases: Vec<String>,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    /// What stands for its value in the help.
    pub(super) value: Option<String>,
    pub(super) help: String,
    /// The heading that the help has it under.
    pub(super) group: Option<String>,
    pub(super) choices: Vec<Value>,
    pub(super) default: Option<String>,
    /// What it is in a run where nothing is said, if that differs.
    pub(super) default_in_run: Option<&'static str>,
    /// The choices of another option that use it, if not all do.
    pub(super) used_by: Option<String>,
    /// What the file is that it takes: one of these.
    pub(super) files: Vec<&'static str>,
    /// The unit of the number, or of the file's values.
    pub(super) unit: Option<&'static str>,
    /// The axes of what the file has of directions and positions.
    pub(super) frame: Option<&'static str>,
    pub(super) range: Option<String>,
    pub(super) required: bool,
    /// It may be given more than once.
    pub(super) repeatable: bool,
    /// How many values it takes at a time: least and most, no most where there is no limit.
    pub(super) values: (usize, Option<usize>),
    /// Values are separated by this.
    pub(super) delimiter: Option<char>,
    pub(super) conflicts: Vec<String>,
}

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Flag,
    Choice,
    Number,
    Integer,
    Path,
    Text,
}

/// A value that an option may have.
#[derive(Debug, Serialize)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) help: Option<String>,
}

/// A file that is written.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    /// Its name in the folder, of an image without extension; `*` and `NAME` are what data and
    /// options decide, `OUT` is the name that the user gives.
    pub(super) file: String,
    pub(super) holds: String,
    /// What the file is: image, surface, tractogram, table, text, json, page, binary or folder.
    #[serde(rename = "type")]
    pub(super) kind_of_file: String,
    /// Of images: what their volumes are.
    pub(super) kind: Option<String>,
    /// The unit of its values; empty for pure numbers, and where each column has its own.
    pub(super) unit: String,
    /// Of images; 0 where the data or options decide.
    pub(super) volumes: Option<usize>,
    /// What makes it be written, where it is not always.
    pub(super) only: Option<&'static str>,
    /// Of maps: their files by layout.
    pub(super) files: BTreeMap<&'static str, String>,
}

impl Method {
    /// The command whose words are `path`; `global` are the options of the whole program.
    pub(super) fn new(path: &str, command: &Command, global: &[Arg]) -> Self {
        let shown =
            |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version";
        let is_own = |arg: &&Arg| !arg.is_global_set();
        let own = command.get_arguments().filter(shown).filter(is_own);
        let mut options: Vec<_> =
            own.chain(global).map(|arg| OptionAbout::new(arg, command)).collect();
        options.sort_by_key(|option| option.long.is_some());
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let sections = sections(&help);
        let is = |title: &str, of: &str| title.starts_with(of);
        let section = |of: &str| sections.iter().find(|(title, _)| is(title, of));
        let lines = |of: &str| -> Vec<String> {
            let text = section(of).map(|(_, text)| *text).unwrap_or_default();
            text.lines().skip(1).map(|line| line.trim().to_owned()).collect()
        };
        let outputs = match path.strip_prefix("fit ").and_then(fit_named) {
            Some(fit) => {
                let maps = fit.maps();
                let maps = maps.iter().map(|map| Output::from_map(fit, map));
                maps.chain(written(&fit.others())).collect()
            }
            None => Vec::new(),
        };
        let own = command.get::<Writes>().map_or(&[][..], |writes| writes.0);
        let taken = ["Outputs", "References", "Examples"];
        let notes: Vec<_> = sections
            .iter()
            .filter(|(title, _)| !taken.iter().any(|taken| is(title, taken)))
            .map(|(_, text)| *text)
            .collect();
        Self {
            name: path.to_owned(),
            sentence: command.get_about().map(ToString::to_string).unwrap_or_default(),
            options,
            outputs: outputs.into_iter().chain(written(own)).collect(),
            notes: notes.join("\n\n"),
            references: lines("References"),
            examples: lines("Examples"),
        }
    }
}

impl OptionAbout {
    fn new(arg: &Arg, command: &Command) -> Self {
        let quantity = arg.get::<Quantity>();
        let files = arg.get::<Takes>();
        let part = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        let choices: Vec<_> = arg
            .get_possible_values()
            .iter()
            .map(|value| Value {
                name: value.get_name().to_owned(),
                help: value.get_help().map(ToString::to_string),
            })
            .collect();
        let is_flag = !arg.get_action().takes_values();
        let defaults: Vec<_> =
            arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        let default = match arg.get::<Usual>() {
            Some(Usual(words)) => Some(words.to_string()),
            None if is_flag => None,
            None => part(&defaults.join(" ")),
        };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let range = arg.get_num_args().unwrap_or_else(|| usize::from(!is_flag).into());
        Self {
            name: arg.get_id().to_string(),
            long: arg.get_long().map(str::to_owned),
            short: arg.get_short(),
            aliases: arg
                .get_visible_aliases()
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            kind: Kind::from_arg(arg, &choices),
            value: arg.get_value_names().filter(|_| !is_flag).map(|names| names.join(" ")),
            help: help.split(" [").next().unwrap_or(&help).to_owned(),
            group: arg.get_help_heading().map(str::to_owned),
            choices: if is_flag { Vec::new() } else { choices },
            default,
            default_in_run: arg.get::<InRun>().map(|InRun(default)| *default),
            used_by: arg.get::<UsedBy>().map(ToString::to_string),
            files: files.iter().flat_map(|takes| takes.types).map(|kind| kind.name()).collect(),
            unit: quantity
                .map(|quantity| quantity.unit)
                .or(files.map(|takes| takes.unit))
                .filter(|unit| !unit.is_empty()),
            frame: files.map(|takes| takes.frame).filter(|frame| !frame.is_empty()),
            range: quantity.and_then(|quantity| part(&quantity.range)),
            required: arg.is_required_set(),
            // What takes three numbers at a time is given once.
            repeatable: range.min_values() <= 1
                && matches!(arg.get_action(), ArgAction::Append | ArgAction::Count),
            values: (
                range.min_values(),
                (range.max_values() < usize::MAX).then(|| range.max_values()),
            ),
            delimiter: arg.get_value_delimiter(),
            conflicts: command
                .get_arg_conflicts_with(arg)
                .iter()
                .map(|arg| arg.get_id().to_string())
                .collect(),
        }
    }
}

impl Kind {
    fn from_arg(arg: &Arg, choices: &[Value]) -> Self {
        let parsed = arg.get_value_parser().type_id();
        let is = |types: &[TypeId]| types.iter().any(|of| parsed == *of);
        if !arg.get_action().takes_values() {
            Self::Flag
        } else if !choices.is_empty() {
            Self::Choice
        } else if is(&[TypeId::of::<PathBuf>()]) {
            Self::Path
        } else if is(&[TypeId::of::<f64>(), TypeId::of::<f32>()]) {
            Self::Number
        } else if is(&[
            TypeId::of::<usize>(),
            TypeId::of::<u64>(),
            TypeId::of::<u32>(),
            TypeId::of::<u16>(),
            TypeId::of::<u8>(),
            TypeId::of::<i64>(),
            TypeId::of::<i8>(),
        ]) {
            Self::Integer
        } else {
            Self::Text
        }
    }
}

/// Files as their lines say them.
fn written(files: &[Written]) -> Vec<Output> {
    let output = |file: &Written| {
        let (kind_of_file, kind) = match file.kind {
            FileKind::Image(kind) => ("image".to_owned(), Some(format!("{kind:?}").to_lowercase())),
            other => (format!("{other:?}").to_lowercase(), None),
        };
        Output {
            file: file.file.to_owned(),
            holds: file.holds.to_owned(),
            kind_of_file,
            volumes: kind.is_some().then_some(file.volumes),
            kind,
            unit: file.unit.to_owned(),
            only: file.only,
            files: BTreeMap::new(),
        }
    };
    files.iter().map(output).collect()
}

impl Output {
    pub(super) fn from_map(fit: &dyn Fit, map: &MapSpec) -> Self {
        let layouts = MapLayout::CHOICES.iter();
        Self {
            files: layouts.map(|&(layout, name, _)| (name, fit.file_of(map, layout))).collect(),
            file: map.name.clone().into_owned(),
            holds: map.description.clone().into_owned(),
            kind_of_file: "image".to_owned(),
            kind: Some(format!("{:?}", map.kind).to_lowercase()),
            unit: map.unit.clone().into_owned(),
            volumes: Some(map.n_volumes),
            only: None,
        }
    }

    /// When it is written, what it holds, and its unit.
    pub(super) fn doc(&self) -> String {
        let only = self.only.map(|only| format!("{only}: ")).unwrap_or_default();
        let unit = match self.unit.as_str() {
            "" => String::new(),
            unit => format!(" [{unit}]"),
        };
        format!("{only}{}{unit}", self.holds)
    }

    /// True of an image, whose format the user chooses.
    pub(super) fn is_image(&self) -> bool {
        self.kind.is_some()
    }
}

/// The sections of a help's text: heading and whole text of each.
fn sections(help: &str) -> Vec<(&str, &str)> {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(
        help.match_indices("\n\n")
            .map(|(at, _)| at + 2)
            .filter(|&at| help[at..].starts_with(|first: char| !first.is_whitespace())),
    );
    let ends = starts.iter().skip(1).copied().chain([help.len()]);
    let texts = starts.iter().zip(ends).map(|(&start, end)| help[start..end].trim_end());
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(|text| (text.lines().next().unwrap_or_default(), text)).collect()
}
