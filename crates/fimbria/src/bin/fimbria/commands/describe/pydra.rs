//! A module of tasks for pydra 1 (<https://nipype.github.io/pydra>), one for each command that writes something.

use super::engine::{Wrapped, module, python_bool, python_patterns, quoted};
use super::method::{Kind, OptionAbout};

/// The text of the module.
pub(super) fn text(commands: &[Wrapped<'_>]) -> String {
    let mut text = module(include_str!("heads/pydra.py"), commands);
    for command in commands {
        let (class, written) = (command.class(), &command.written.name);
        let is_file = python_bool(command.is_file);
        text += &format!("\n\n@shell.define\nclass {class}(shell.Task[\"{class}.Outputs\"]):\n");
        text += &format!("    \"\"\"{}\"\"\"\n\n", command.docstring());
        let words = command.method.name.split(' ').map(|word| format!(", \"{word}\""));
        text += &format!("    executable = [\"fimbria\"{}]\n", words.collect::<String>());
        for option in &command.method.options {
            text += &format!("    {}: {}\n", option.name, field(command, option));
        }
        let kind = if command.is_file { "file" } else { "folder" };
        text += "\n    class Outputs(shell.Outputs):\n";
        text += &format!(
            "        written: str = shell.out(help=\"the {kind}\", callable=_written(\"{written}\", {is_file}))\n"
        );
        for file in &command.files {
            let kind = if file.is_many { "list[FsObject]" } else { "FsObject" };
            text += &format!(
                "        {}: {kind} | None = shell.out(help={}, callable=_written(\"{written}\", {is_file}, {}))\n",
                file.name,
                quoted(&file.doc),
                python_patterns(file),
            );
        }
    }
    text
}

/// The type and the argument of an option.
fn field(command: &Wrapped<'_>, option: &OptionAbout) -> String {
    let (flag, help) = (option.flag(), format!("help={}", quoted(&option.full_help())));
    if option.kind == Kind::Flag {
        return format!("bool = shell.arg({help}, argstr=\"{flag}\", default=False)");
    }
    let mut keywords = vec![help];
    let mut kind = match option.kind {
        _ if option.is_read() => "FsObject",
        Kind::Number => "float",
        Kind::Integer => "int",
        _ => "str",
    }
    .to_owned();
    if option.is_list() {
        kind = format!("list[{kind}]");
    } else if option.kind == Kind::Choice {
        let names: Vec<_> = option.choices.iter().map(|choice| quoted(&choice.name)).collect();
        keywords.push(format!("allowed_values=[{}]", names.join(", ")));
    }
    let argstr = match (option.has_optional_value(), option.repeats_its_name()) {
        (true, _) => format!("{flag}={{{}}}", option.name),
        (false, true) => format!("{flag} ..."),
        (false, false) => flag,
    };
    keywords.push(format!("argstr={}", quoted(&argstr)));
    if let Some(delimiter) = option.delimiter {
        keywords.push(format!("sep={}", quoted(&delimiter.to_string())));
    }
    if let Some(position) = command.position(option) {
        keywords.push(format!("position={}", position + 1));
    }
    match command.folder().filter(|_| option.name == command.written.name) {
        Some(folder) => keywords.push(format!("default=\"{folder}\"")),
        None if !option.required => {
            kind += " | None";
            keywords.push("default=None".to_owned());
        }
        None => {}
    }
    format!("{kind} = shell.arg({})", keywords.join(", "))
}
