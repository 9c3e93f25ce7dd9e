//! A descriptor of Boutiques, schema 0.5 (<https://boutiques.github.io>).

use serde_json::{Map, Value, json};

use super::method::{Kind, Method, OptionAbout, Output};

/// The descriptor of a command.
pub(super) fn descriptor(method: &Method) -> Value {
    // What is said on a terminal is no input of a workflow.
    let options: Vec<_> = method
        .options
        .iter()
        .filter(|option| option.kind != Kind::Flag || option.long.is_some())
        .collect();
    let keys: Vec<_> = options.iter().map(|option| key(option)).collect();
    let command_line = format!("fimbria {} {}", method.name, keys.join(" "));
    let inputs: Vec<_> = options.iter().map(|option| input(option)).collect();
    let output = options.iter().find(|option| option.is_written());
    let mut descriptor = json!({
        "name": format!("fimbria {}", method.name),
        "description": format!("{}.", method.sentence),
        "tool-version": env!("CARGO_PKG_VERSION"),
        "schema-version": "0.5",
        "command-line": command_line,
        "inputs": inputs,
        "tags": { "domain": ["neuroinformatics", "mri"] },
    });
    if let Some(output) = output {
        let mut files: Vec<Value> = Vec::new();
        for (number, written) in method.outputs.iter().enumerate() {
            let file = output_file(number, written, &key(output));
            // A name that the user gives may be that of files of several kinds.
            if files.iter().all(|other| other["path-template"] != file["path-template"]) {
                files.push(file);
            }
        }
        if !files.is_empty() {
            descriptor["output-files"] = files.into();
        }
    }
    descriptor
}

/// A file below the folder that the option `key` names, or that file itself.
fn output_file(number: usize, output: &Output, key: &str) -> Value {
    let path = match output.file.strip_prefix("OUT") {
        Some(rest) => format!("{key}{rest}"),
        // In the format where none is named.
        None if output.is_image() => format!("{key}/{}.nii.gz", output.file),
        None => format!("{key}/{}", output.file),
    };
    json!({
        "id": format!("output_{number}"),
        "name": output.file,
        "description": output.doc(),
        "path-template": path,
        // Images have other names in other formats and layouts.
        "optional": output.only.is_some() || output.is_image(),
    })
}

fn key(option: &OptionAbout) -> String {
    format!("[{}]", option.name.to_uppercase())
}

/// The help, and what the file is that is taken.
fn description(option: &OptionAbout) -> String {
    let mut facts: Vec<String> = Vec::new();
    if !option.files.is_empty() {
        facts.push(option.files.join(" or "));
        facts.extend(option.unit.map(str::to_owned));
        facts.extend(option.frame.map(|frame| format!("axes: {frame}")));
    }
    match facts.is_empty() {
        true => option.help.clone(),
        false => format!("{} [{}]", option.help, facts.join(", ")),
    }
}

fn input(option: &OptionAbout) -> Value {
    let mut input = Map::new();
    let mut put = |key: &str, value: Value| {
        input.insert(key.to_owned(), value);
    };
    put("id", option.name.clone().into());
    put("name", option.name.replace('_', " ").into());
    put("description", description(option).into());
    put("value-key", key(option).into());
    put("optional", (!option.required).into());
    // What is written is not there before, and is no file to Boutiques.
    let kind = match option.kind {
        Kind::Flag => "Flag",
        Kind::Number | Kind::Integer => "Number",
        Kind::Path if !option.is_written() => "File",
        Kind::Path | Kind::Choice | Kind::Text => "String",
    };
    put("type", kind.into());
    if option.kind == Kind::Integer {
        put("integer", true.into());
    }
    if option.kind == Kind::Choice {
        let choices: Vec<_> = option.choices.iter().map(|choice| choice.name.clone()).collect();
        put("value-choices", choices.into());
    }
    if let Some(long) = &option.long {
        put("command-line-flag", format!("--{long}").into());
    }
    let most = option.values.1;
    if option.kind != Kind::Flag
        && (option.repeatable || option.delimiter.is_some() || most != Some(1))
    {
        put("list", true.into());
        match (option.delimiter, option.values) {
            (Some(delimiter), _) => put("list-separator", delimiter.to_string().into()),
            (None, (least, most)) if !option.repeatable => {
                put("min-list-entries", least.into());
                if let Some(most) = most {
                    put("max-list-entries", most.into());
                }
            }
            (None, _) => {
                // Each value after the option once more.
                let again = option.long.as_ref().map(|long| format!(" --{long} "));
                again.into_iter().for_each(|again| put("list-separator", again.into()));
            }
        }
    }
    Value::Object(input)
}
