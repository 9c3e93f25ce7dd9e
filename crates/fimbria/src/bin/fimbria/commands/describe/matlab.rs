//! A package of functions for MATLAB and Octave, `+fimbria`, one for each command that writes something.

use super::engine::Wrapped;
use super::method::{Kind, OptionAbout};

/// What every function calls.
const RUN: &str = include_str!("heads/run.m");
/// Columns of a comment.
const WIDTH: usize = 108;

/// Path and text of each file of the package.
pub(super) fn files(commands: &[Wrapped<'_>]) -> Vec<(String, String)> {
    let own = commands.iter().map(|command| {
        let name = command.method.name.replace(' ', "_");
        (format!("+fimbria/{name}.m"), function(&name, command))
    });
    own.chain([("+fimbria/+internal/run.m".to_owned(), RUN.to_owned())]).collect()
}

/// A function: arguments without a name first, then pairs of name and value.
fn function(name: &str, command: &Wrapped<'_>) -> String {
    let options = &command.method.options;
    let (given, named): (Vec<_>, Vec<_>) = options.iter().partition(|option| option.long.is_none());
    let upper = name.to_uppercase();
    let needed: String = given.iter().map(|option| option.name.to_uppercase() + ", ").collect();
    let mut text = format!(
        "function files = {name}(varargin)\n%{upper}  {}.\n%   FILES = FIMBRIA.{upper}({needed}NAME, VALUE, ...)\n\
         %\n%   FILES says where each file is that was written. A list is a cell array or a vector.\n",
        command.method.sentence
    );
    for (heading, options) in [("Given", given), ("Named", named)] {
        if !options.is_empty() {
            text += &format!("%\n%   {heading}:\n");
        }
        let lines = options.iter().map(|option| format!("{}: {}", option.name, option.full_help()));
        text.extend(lines.map(|line| comment(&line)));
    }
    text += "%\n%   Written:\n";
    text.extend(command.files.iter().map(|file| comment(&format!("{}: {}", file.name, file.doc))));
    text += &format!(
        "%\n%   Written by `fimbria describe --format matlab` of fimbria {}: not to be edited.\n\n  \
         % name, option, what stands between its values\n  options = {{\n",
        env!("CARGO_PKG_VERSION")
    );
    for option in options {
        text += &format!("    '{}', '{}', '{}'\n", option.name, option.flag(), separator(option));
    }
    text += "  };\n  % name, patterns, are there many\n  written = {\n";
    for file in &command.files {
        let patterns: Vec<_> = file.patterns.iter().map(|name| format!("'{name}'")).collect();
        text += &format!("    '{}', {{{}}}, {}\n", file.name, patterns.join(", "), file.is_many);
    }
    text += &format!(
        "  }};\n  files = fimbria.internal.run('{}', options, written, '{}', '{}', {}, varargin);\nend\n",
        command.method.name,
        command.written.name,
        command.folder().unwrap_or_default(),
        command.is_file
    );
    text
}

/// What stands between the values of an option, or how it is written otherwise.
fn separator(option: &OptionAbout) -> String {
    if option.kind == Kind::Flag {
        return "flag".to_owned();
    }
    match (option.has_optional_value(), option.repeats_its_name(), option.delimiter) {
        (true, ..) => "=".to_owned(),
        (_, true, _) => "again".to_owned(),
        (.., Some(delimiter)) => delimiter.to_string(),
        _ if option.is_list() => " ".to_owned(),
        _ => ",".to_owned(),
    }
}

/// Words as lines of a comment.
fn comment(words: &str) -> String {
    const INDENT: &str = "%    ";
    let mut text = INDENT.to_owned();
    let mut column = text.len();
    for word in words.split_whitespace() {
        let length = word.chars().count() + 1;
        if column + length > WIDTH && column > INDENT.len() {
            text += &format!("\n{INDENT}");
            column = INDENT.len();
        }
        text += &format!(" {word}");
        column += length;
    }
    text + "\n"
}
