//! Help teaches: outputs, units, order and frame of every command.

use std::fs;
use std::path::Path;

use crate::util::Folder;

/// Every command with its words, groups of commands left out.
pub(crate) fn commands(folder: &Folder) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        let help = folder.done(&format!("{command} -h")).stdout;
        let listed: Vec<_> = help
            .lines()
            .skip_while(|line| *line != "Commands:")
            .skip(1)
            .take_while(|line| line.starts_with("  "))
            .filter(|line| !line.starts_with("   "))
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help")
            .collect();
        if listed.is_empty() {
            found.push(command.trim().to_owned());
        }
        open.extend(listed.iter().map(|name| format!("{command} {name}")));
    }
    found
}

/// Help is a result, as all that goes to standard output.
#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_one_error() {
    let folder = Folder::new();
    for line in ["--help", "run --help", "--version", "help fit dti"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = folder.command(line).stdout(full).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{line}: {said}");
        assert_eq!(said.matches("error: cannot print the result").count(), 1, "{line}: {said}");
    }
}

#[test]
fn every_command_names_its_outputs_and_those_that_write_units_and_order() {
    let folder = Folder::new();
    let commands = commands(&folder);
    assert!(commands.iter().any(|command| command == "fit dti"), "{commands:?}");
    for command in commands {
        let help = folder.done(&format!("{command} --help")).stdout;
        let writes = help.contains("--output");
        for part in ["Outputs", "Units:", "Order and frame:"] {
            let needed = writes || part == "Outputs";
            assert!(!needed || help.contains(part), "`{command} --help` has no `{part}`");
        }
    }
}

#[test]
fn short_help_is_short() {
    let folder = Folder::new();
    let short = folder.done("fit dti -h").stdout;
    let long = folder.done("fit dti --help").stdout;
    assert!(short.lines().count() < long.lines().count());
    assert!(!short.contains("References"));
}

#[test]
fn the_version_says_build_simd_and_features_where_more_is_asked() {
    let folder = Folder::new();
    let plain = folder.done("--version").stdout;
    assert_eq!(plain, format!("fimbria {}\n", env!("CARGO_PKG_VERSION")));
    for line in ["--version -v", "-v --version", "-Vv", "-version -verbose=1", "--verbose -V"] {
        let more = folder.done(line).stdout;
        assert!(more.starts_with(&plain), "{line}: {more}");
        let starts: Vec<_> = more.lines().skip(1).filter_map(|l| l.split(' ').next()).collect();
        assert_eq!(starts, ["build", "simd", "features"], "{line}");
        assert!(more.contains(std::env::consts::ARCH), "{more}");
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.done(&format!("completions {shell}")).stdout.contains("bvec-frame"));
    }
}

#[test]
fn descriptions_overwrite_nothing_unless_they_are_told_to() {
    let folder = Folder::new();
    folder.done("describe fit dti --format json -o out");
    let page = folder.join("out/fimbria-fit-dti.json");
    fs::write(&page, "mine").unwrap();
    let said = folder.failed("describe fit --format json -o out");
    assert!(said.contains("fimbria-fit-dti.json"), "{said}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    assert!(!folder.join("out/fimbria-fit-dki.json").exists());
    folder.done("describe fit dti --format json -o out --force");
    assert_ne!(fs::read_to_string(&page).unwrap(), "mine");
}

/// What is out of range is refused by its option, with the range; a number that may be anything says so.
#[test]
fn every_option_that_takes_a_number_says_its_range() {
    let text = Folder::new().done("describe --format json").stdout;
    let methods: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut numbers = 0;
    for method in methods.as_array().unwrap() {
        for option in method["options"].as_array().unwrap() {
            if option["type"] == "number" || option["type"] == "integer" {
                numbers += 1;
                assert!(option["range"].is_string(), "{}: {option}", method["name"]);
            }
        }
    }
    assert!(numbers > 100, "{numbers}");
}

/// A default that is typed into the help is one that nothing else knows: `usually` says it.
#[test]
fn no_help_has_a_default_typed_by_hand() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = ["fimbria", "workflow", "pipeline", "bench"]
        .map(|name| crates.join(name).join("src"))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let mut comments = text.lines().filter(|line| line.trim_start().starts_with("///"));
            let typed = comments.find(|line| line.contains("[default"));
            assert!(typed.is_none(), "{}: {}", path.display(), typed.unwrap_or_default());
        }
    }
}

/// A path is to a file of some kind: an image, a table, a folder.
#[test]
fn every_option_that_takes_a_file_says_what_it_is() {
    let text = Folder::new().done("describe --format json").stdout;
    let methods: serde_json::Value = serde_json::from_str(&text).unwrap();
    let written = ["output", "dir", "out"];
    for method in methods.as_array().unwrap() {
        for option in method["options"].as_array().unwrap() {
            let is_read = !written.contains(&option["name"].as_str().unwrap());
            if option["type"] == "path" && is_read {
                let files = option["files"].as_array().unwrap();
                assert!(!files.is_empty(), "{}: {option}", method["name"]);
            }
        }
    }
}
