//! The tests that docs/promises.md names are there.

use std::fs;
use std::path::{Path, PathBuf};

/// Every source under `folder`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_promise_names_tests_that_are_there() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join("../../docs/promises.md")).unwrap();
    let of_program = |file: &str| {
        let folder = here.join("tests/cli");
        let of_one = fs::read_to_string(folder.join(format!("{file}.rs")));
        of_one.or_else(|_| fs::read_to_string(folder.join(file).join("mod.rs")))
    };
    let mut n_tests = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let tests = row.trim_end_matches('|').rsplit_once('|').unwrap().1;
        // A list of tests of a crate begins with its name: `crate`: `test`, `test`; `file::test`
        for list in tests.split(';') {
            let crate_name = list.split_once("`: `");
            let crate_name = crate_name.and_then(|(name, _)| name.trim().strip_prefix('`'));
            let names = quoted(list).skip(usize::from(crate_name.is_some()));
            let mut texts = String::new();
            if let Some(name) = crate_name {
                let mut files = Vec::new();
                sources(&here.join("..").join(name), &mut files);
                files.iter().for_each(|file| texts += &fs::read_to_string(file).unwrap());
            }
            for name in names {
                let is_there = match (crate_name, name.split_once("::")) {
                    (Some(_), _) => texts.contains(&format!("fn {name}(")),
                    (None, Some((file, "*"))) => of_program(file).is_ok(),
                    (None, Some((file, test))) => {
                        of_program(file).unwrap().contains(&format!("fn {test}("))
                    }
                    (None, None) => false,
                };
                assert!(is_there, "no test `{name}`: {row}");
                n_tests += 1;
            }
        }
    }
    assert!(n_tests >= 50, "{n_tests}: the table is not read as it is written");
}
