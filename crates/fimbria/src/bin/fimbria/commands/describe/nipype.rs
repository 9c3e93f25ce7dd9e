//! A module of interfaces for nipype (<https://nipype.readthedocs.io>), one for each command that writes something.

use super::engine::{Wrapped, module, python_patterns, quoted};
use super::method::{Kind, OptionAbout};

/// The text of the module.
pub(super) fn text(commands: &[Wrapped<'_>]) -> String {
    let mut text = module(include_str!("heads/nipype.py"), commands);
    for command in commands {
        let class = command.class();
        text += &format!("\n\nclass {class}InputSpec(CommandLineInputSpec):\n");
        for option in &command.method.options {
            text += &format!("    {} = {}\n", option.name, input(command, option));
        }
        let kind = if command.is_file { "file" } else { "folder" };
        text += &format!("\n\nclass {class}OutputSpec(TraitedSpec):\n");
        text += &format!("    written = traits.Str(desc=\"the {kind}\")\n");
        for file in &command.files {
            let (name, doc) = (&file.name, quoted(&file.doc));
            text += &match file.is_many {
                true => format!("    {name} = OutputMultiPath(traits.Str(), desc={doc})\n"),
                false => format!("    {name} = traits.Str(desc={doc})\n"),
            };
        }
        text += &format!("\n\nclass {class}(_Command):\n");
        text += &format!("    \"\"\"{}\"\"\"\n\n", command.docstring());
        text += &format!("    _cmd = \"fimbria {}\"\n", command.method.name);
        text += &format!("    _written = \"{}\"\n", command.written.name);
        if command.is_file {
            text += "    _is_file = True\n";
        }
        text +=
            &format!("    input_spec = {class}InputSpec\n    output_spec = {class}OutputSpec\n");
        text += "    _files = (\n";
        for file in &command.files {
            text += &format!("        (\"{}\", {}),\n", file.name, python_patterns(file));
        }
        text += "    )\n";
    }
    text
}

/// The trait of an option.
fn input(command: &Wrapped<'_>, option: &OptionAbout) -> String {
    let mut keywords = vec![format!("argstr={}", quoted(&argstr(option)))];
    if let Some(delimiter) = option.delimiter.filter(|_| option.is_list()) {
        keywords.push(format!("sep={}", quoted(&delimiter.to_string())));
    }
    if let Some(position) = command.position(option) {
        keywords.push(format!("position={position}"));
    }
    let folder = command.folder().filter(|_| option.name == command.written.name);
    if option.required && folder.is_none() {
        keywords.push("mandatory=True".to_owned());
    }
    keywords.push(format!("desc={}", quoted(&option.full_help())));
    let keywords = keywords.join(", ");
    if let Some(folder) = folder {
        return format!("traits.Str(\"{folder}\", usedefault=True, {keywords})");
    }
    let choices: Vec<_> = option.choices.iter().map(|choice| quoted(&choice.name)).collect();
    // A file or a folder: directions are either.
    let is_read = option.is_read();
    let (class, mut arguments) = match option.kind {
        _ if is_read => ("Either", vec!["File(exists=True), Directory(exists=True)".to_owned()]),
        Kind::Choice => ("Enum", choices),
        Kind::Number => ("Float", Vec::new()),
        Kind::Integer => ("Int", Vec::new()),
        Kind::Flag => ("Bool", Vec::new()),
        Kind::Path | Kind::Text => ("Str", Vec::new()),
    };
    if !option.is_list() {
        arguments.push(keywords);
        return format!("traits.{class}({})", arguments.join(", "));
    }
    let one = format!("traits.{class}({})", arguments.join(", "));
    match option.values {
        (least, Some(most)) if !option.repeatable => {
            format!("traits.List({one}, minlen={least}, maxlen={most}, {keywords})")
        }
        _ => format!("InputMultiObject({one}, {keywords})"),
    }
}

/// How the value stands in the words of the command.
fn argstr(option: &OptionAbout) -> String {
    let value = match option.kind {
        Kind::Number if !option.is_list() => "%.15g",
        Kind::Integer if !option.is_list() => "%d",
        _ => "%s",
    };
    let flag = option.flag();
    if option.has_optional_value() {
        format!("{flag}={value}")
    } else if option.kind == Kind::Flag {
        flag
    } else {
        let again = if option.repeats_its_name() { "..." } else { "" };
        format!("{flag} {value}{again}").trim_start().to_owned()
    }
}
