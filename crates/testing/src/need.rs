//! What a test needs that may not be there.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Set to 1 where every tool is installed, as in `.ci/run`.
const REQUIRE_TOOLS: &str = "FIMBRIA_REQUIRE_TOOLS";

/// Says that a test cannot run without what no installation brings: reference data, another
/// processor.
#[allow(clippy::print_stderr)]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// Says that a test cannot run without `tool`, or fails it where `FIMBRIA_REQUIRE_TOOLS=1` says that
/// all tools are there.
#[track_caller]
pub fn missing(tool: &str) {
    let required = std::env::var_os(REQUIRE_TOOLS).is_some_and(|value| value == "1");
    assert!(!required, "{tool} not found, and {REQUIRE_TOOLS}=1 lets no test go without");
    skipped(&format!("{tool} not found"));
}

/// The folder `name` of the reference data; `None`, said aloud, where there are none.
pub fn refdata(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("FIMBRIA_REFDATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/refdata"),
        PathBuf::from,
    );
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&format!("reference data not found ({})", folder.display()));
    None
}

/// python3, where it has `module`; else `None`, as [`missing`] says it.
#[track_caller]
pub fn python(module: &str) -> Option<Command> {
    let asked = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    if asked.is_ok_and(|output| output.status.success()) {
        return Some(Command::new("python3"));
    }
    missing(&format!("python3 with {module}"));
    None
}
