//! Within a crate no two concerns know each other: what one is made of can be read, tested and moved without
//! the other.
//!
//! A concern is a file or folder of `src`, of `stages` and `commands` one of theirs; what the files of a folder
//! know of each other is their own affair. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Concerns that may know each other, and why.
const ALLOWED: &[(&str, &[&str], &str)] = &[
    (
        "fitting",
        &["expr", "lm"],
        "a formula is evaluated in the numbers of the solver, which has a model that is a formula",
    ),
    (
        "image",
        &["format", "mif", "nifti", "write"],
        "the list of formats names each, and each says in the list's words what it is",
    ),
    (
        "life",
        &["deal", "encoding", "product", "renumber"],
        "an encoding is numbered and dealt by what its products read of it",
    ),
    (
        "life",
        &["entry", "listed_directions", "orientations", "trace"],
        "entries are of pieces of streamlines and of the directions that they count for",
    ),
    (
        "life",
        &["rounds", "weigh"],
        "one method of weighing is rounds of the others, with their options",
    ),
    (
        "pipeline",
        &["stages/crossing", "stages/gre", "stages/head", "stages/head_data_set"],
        "digital subjects share options, and a head has a scan and can be a data set",
    ),
    ("qsm", &["fourier", "variation"], "solvers share steps, norms and the operator in k-space"),
    (
        "streamlines",
        &["format", "stream", "tck", "trk", "trx"],
        "the list of formats names each, and each says in the list's words what it is",
    ),
    (
        "tracking",
        &["densities", "driver", "fast"],
        "what is tracked and what comes of it is said once, for all that track",
    ),
];

/// A path, in pieces.
type Parts = Vec<String>;

fn parts(path: &str) -> Parts {
    path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The modules of a crate below `folder`, with their texts but for comments and tests.
fn modules(folder: &Path, path: &Parts, found: &mut BTreeMap<Parts, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let name = entry.file_stem().unwrap().to_string_lossy().into_owned();
        if name == "tests" || name == "bin" {
            continue;
        }
        let mut below = path.clone();
        below.push(name.clone());
        if entry.is_dir() {
            modules(&entry, &below, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&entry).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code = code.lines().map(|line| line.split("//").next().unwrap());
            let code = code.collect::<Vec<_>>().join("\n");
            let is_of_folder = ["mod", "lib", "main"].contains(&name.as_str());
            found.insert(if is_of_folder { path.clone() } else { below }, code);
        }
    }
}

/// Every path of a tree that `use` takes.
fn paths_of(tree: &str, before: &Parts, found: &mut Vec<Parts>) {
    let tree = tree.trim();
    let Some((start, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap();
        found.push([before.clone(), parts(path)].concat());
        return;
    };
    let before = [before.clone(), parts(start)].concat();
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut from) = (0, 0);
    for (at, letter) in inside.char_indices().chain([(inside.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[from..at].trim().is_empty() {
                    paths_of(&inside[from..at], &before, found);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// What a module takes from elsewhere in its crate, and which of it others find in it.
fn uses(text: &str) -> Vec<(bool, Parts)> {
    let mut all = Vec::new();
    for statement in text.split(';') {
        // The last line that begins so: what is before it ended without a semicolon.
        let is_start = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ")
        };
        let lines: Vec<&str> = statement.lines().collect();
        let Some(start) = lines.iter().rposition(is_start) else { continue };
        let statement = lines[start..].join(" ");
        let (who, tree) = statement.split_once("use ").unwrap();
        let mut paths = Vec::new();
        paths_of(tree, &Vec::new(), &mut paths);
        all.extend(paths.into_iter().map(|path| (who.contains("pub"), path)));
    }
    // Those that stand where they are needed.
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
            let path = &text[at..];
            let end = path.find(|letter| !is_part(letter)).unwrap_or(path.len());
            all.push((false, parts(&path[..end])));
        }
    }
    all
}

struct Crate {
    modules: BTreeMap<Parts, String>,
    /// What a module has from others, under its name there.
    exports: BTreeMap<Parts, BTreeMap<String, Parts>>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut modules_found = BTreeMap::new();
        modules(folder, &Vec::new(), &mut modules_found);
        let mut read = Self { modules: modules_found, exports: BTreeMap::new() };
        let mut exports: BTreeMap<Parts, BTreeMap<String, Parts>> = BTreeMap::new();
        for (module, text) in &read.modules {
            for (is_public, path) in uses(text) {
                if let Some(path) = read.absolute(module, &path).filter(|_| is_public)
                    && let Some(name) = path.last().cloned()
                {
                    exports.entry(module.clone()).or_default().insert(name, path);
                }
            }
        }
        read.exports = exports;
        read
    }

    /// A path from the root of the crate; `None` of what is another crate's.
    fn absolute(&self, module: &Parts, path: &Parts) -> Option<Parts> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let first = path.first()?;
        if first == "crate" {
            return Some(path[1..].to_vec());
        }
        let base = &module[..module.len().checked_sub(ups)?];
        let rest = &path[ups + usize::from(first == "self")..];
        let below = [base, rest].concat();
        let is_here = ups > 0 || first == "self";
        let is_child = || self.modules.contains_key(&[&module[..], &path[..1]].concat());
        (is_here || is_child()).then_some(below)
    }

    /// The module that has what is at a path, through those that only pass it on.
    fn home(&self, path: &Parts, depth: usize) -> Option<Parts> {
        let module = (0..=path.len()).rev().map(|n| path[..n].to_vec());
        let module = module.into_iter().find(|module| self.modules.contains_key(module))?;
        let passed = path.get(module.len()).and_then(|name| self.exports.get(&module)?.get(name));
        match passed {
            Some(from) if from != path && depth < 8 => {
                self.home(&[&from[..], &path[module.len() + 1..]].concat(), depth + 1)
            }
            _ => Some(module),
        }
    }

    /// What each concern knows.
    fn known(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, text) in &self.modules {
            let Some(here) = concern(module) else { continue };
            let paths = uses(text).into_iter().filter_map(|(_, path)| self.absolute(module, &path));
            let there = paths.filter_map(|path| concern(&self.home(&path, 0)?));
            // A folder and what is in it are one.
            let is_in =
                |a: &str, b: &str| a == b || a.strip_prefix(b).is_some_and(|a| a.starts_with('/'));
            let is_other = |there: &String| !is_in(there, &here) && !is_in(&here, there);
            known.entry(here.clone()).or_default().extend(there.filter(is_other));
        }
        known
    }
}

/// The concern that a module is of; `None` of the root, which knows all.
fn concern(module: &Parts) -> Option<String> {
    let has_own = |first: &String| first == "stages" || first == "commands";
    let depth = if module.first().is_some_and(has_own) { 2 } else { 1 };
    let concern = module[..depth.min(module.len())].join("/");
    (!concern.is_empty()).then_some(concern)
}

/// Sets of concerns each of which leads to all others of the set.
fn circles(known: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = known[from].iter().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next.clone()) {
                open.extend(known.get(next).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        known.keys().map(|from| (from, reached(from))).collect();
    let circle = |from: &String| {
        let back =
            reached[from].iter().filter(|to| reached.get(to).is_some_and(|r| r.contains(from)));
        back.cloned().collect::<BTreeSet<_>>()
    };
    known.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

#[test]
fn no_two_concerns_of_a_crate_know_each_other_but_those_with_a_reason() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut allowed: BTreeSet<(&str, BTreeSet<String>)> = ALLOWED
        .iter()
        .map(|(name, circle, _)| (*name, circle.iter().map(|part| (*part).to_owned()).collect()))
        .collect();
    let mut unsaid = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        // A program is a crate of its own beside its library.
        let roots = [folder.join("src"), folder.join("src/bin").join(&name)];
        let roots = roots.iter().filter(|root| root.exists());
        for circle in roots.flat_map(|root| circles(&Crate::read(root).known())) {
            let is_said =
                allowed.iter().find(|(of, parts)| *of == name && *parts == circle).cloned();
            match is_said {
                Some(said) => {
                    allowed.remove(&said);
                }
                None => unsaid.push(format!("{name}: {circle:?}")),
            }
        }
    }
    assert!(unsaid.is_empty(), "circles: {unsaid:#?}");
    assert!(allowed.is_empty(), "there is no such circle any more: {allowed:?}");
}

#[test]
fn a_circle_is_found_through_what_a_root_passes_on() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::{One, deep::Two};\n");
    write("a.rs", "use std::fmt;\nuse crate::{\n    b::{Three, Four as F},\n};\n");
    write("b.rs", "fn f() -> crate::One { todo!() }\n");
    write("c.rs", "// use crate::b;\nuse crate::b::Three;\n");
    let circles = circles(&Crate::read(folder.path()).known());
    assert_eq!(circles, BTreeSet::from([BTreeSet::from(["a", "b"].map(str::to_owned))]));
}
