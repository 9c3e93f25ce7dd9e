//! A page of the manual.

use std::fmt::Write as _;

use super::method::{Method, OptionAbout};

/// The page of a command.
pub(super) fn page(method: &Method) -> String {
    let Method { name, sentence, options, outputs, notes, references, examples } = method;
    let mut page = format!("# fimbria {name}\n\n{sentence}.\n");
    let mut line = |text: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(page, "{text}");
    };
    if !examples.is_empty() {
        line("\n```");
        examples.iter().for_each(|example| line(example));
        line("```");
    }
    let mut groups: Vec<&str> = Vec::new();
    for option in options {
        let group = heading(option);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for group in groups {
        line(&format!("\n## {group}\n"));
        for option in options.iter().filter(|option| heading(option) == group) {
            line(&of_option(option));
        }
    }
    if !outputs.is_empty() {
        line("\n## Outputs\n\n| file | unit | holds |\n|---|---|---|");
        for output in outputs {
            let only = output.only.map(|only| format!("{only}: ")).unwrap_or_default();
            let holds = escaped(&format!("{only}{}", output.holds));
            line(&format!("| `{}` | {} | {holds} |", output.file, output.unit));
        }
    }
    if !notes.is_empty() {
        line("\n## Notes\n\n```text");
        line(notes);
        line("```");
    }
    if !references.is_empty() {
        line("\n## References\n");
        references.iter().for_each(|reference| line(&format!("- {reference}")));
    }
    page
}

fn heading(option: &OptionAbout) -> &str {
    match (&option.group, &option.long) {
        (Some(group), _) => group,
        (None, Some(_)) => "Options",
        (None, None) => "Arguments",
    }
}

fn of_option(option: &OptionAbout) -> String {
    let value = option.value.as_deref().unwrap_or_default();
    let mut words = Vec::new();
    words.extend(option.short.map(|short| format!("-{short}")));
    words.extend(option.long.iter().map(|long| format!("--{long}")));
    words.extend(option.aliases.iter().map(|alias| format!("--{alias}")));
    let words = words.join(", ");
    let mut text = format!("- `{}`: {}", format!("{words} {value}").trim(), escaped(&option.help));
    let mut facts = Vec::new();
    facts.extend(option.used_by.as_ref().map(|users| format!("with {users}")));
    if !option.files.is_empty() {
        facts.push(option.files.join(" or "));
    }
    facts.extend(option.range.clone());
    facts.extend(option.unit.map(str::to_owned));
    facts.extend(option.frame.map(|frame| format!("axes: {frame}")));
    facts.extend(option.default.as_ref().map(|default| format!("default: {default}")));
    facts.extend(option.default_in_run.map(|default| format!("in a run: {default}")));
    if option.required {
        facts.push("required".to_owned());
    }
    if option.repeatable {
        facts.push("may be repeated".to_owned());
    }
    if !facts.is_empty() {
        text += &format!(" ({})", facts.join("; "));
    }
    for choice in &option.choices {
        let help = choice.help.as_ref().map(|help| format!(": {}", escaped(help)));
        text += &format!("\n  - `{}`{}", choice.name, help.unwrap_or_default());
    }
    text
}

/// Text whose marks are not taken for markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;")
}
