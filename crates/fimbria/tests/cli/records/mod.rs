//! What a result depends on is in its record: every file that a command reads is an input with its hash,
//! and every option that it has changes its fingerprint. A line for each command; an option without a
//! row, or whose row changes no record, fails, and so does a file that the description does not say.

mod described;
mod files;
mod fits;
mod fixtures;
mod fsl;
mod ownership;
mod phantoms;
mod runs;
mod susceptibility;
mod tractography;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use self::described::Described;
use crate::help;
use crate::util::Folder;

/// How an option is given another value than that of the line.
#[derive(Clone, Copy)]
enum Vary {
    /// These words after the line.
    With(&'static str),
    /// This in place of the line.
    Line(&'static str),
    /// The second after the first, compared with the first.
    On(&'static str, &'static str),
    /// The second in place of the line, compared with the first.
    Two(&'static str, &'static str),
    /// The command refuses these words after the line: it would not use them.
    Refused(&'static str),
    /// Another name of something that has a row.
    Alias,
    /// A test of its own shows what it makes another: its name.
    Own(&'static str),
}

use Vary::{Alias, Line as Instead, On, Own, Refused, Two, With};

/// An option without its dashes, and how it varies.
type Row = (&'static str, Vary);

/// What is proven of a command.
struct Proof {
    /// Its words.
    command: &'static str,
    fixture: fn() -> Folder,
    /// What else it takes.
    line: &'static str,
    rows: &'static [&'static [Row]],
}

impl Proof {
    /// The whole line that writes to `out`, and the record there.
    fn line(&self, rest: &str, out: &str) -> (String, String) {
        let command = self.command;
        match command {
            "probtrackx2" => {
                (format!("{command} --dir={out} --forcedir {rest}"), format!("{out}/run.json"))
            }
            "bids" => {
                let rest = format!("in {out} participant {rest}");
                (format!("{command} {rest}"), format!("{out}/run.json"))
            }
            "eigen" => (format!("{command} -o {out}.json {rest}"), format!("{out}.json.run.json")),
            // Of a name with another extension only that is written which is in the line.
            "convert" | "response" | "tract edit" | "tract clean" | "tract map"
            | "tract sample" => {
                let (extension, rest) = rest.split_once(' ').unwrap();
                (
                    format!("{command} -o {out}{extension} {rest}"),
                    match extension {
                        "/" => format!("{out}/run.json"),
                        _ => format!("{out}{extension}.run.json"),
                    },
                )
            }
            _ => (format!("{command} -o {out} {rest}"), format!("{out}/run.json")),
        }
    }
}

/// Options that say where and how much is worked, told, kept and overwritten: no result depends on them.
const MACHINE: [&str; 25] = [
    "threads",
    "device",
    "device-memory",
    "memory",
    "scratch",
    "exchange",
    "checkpoint",
    "quiet",
    "verbose",
    "help",
    "version",
    "output",
    "force",
    "resume",
    "follow",
    // Those of probtrackx2 for the same.
    "dir",
    "forcedir",
    // Those of a BIDS app for the same.
    "work-dir",
    "digest",
    "report-output-level",
    "skip-bids-validation",
    "dry-run",
    "omp-nthreads",
    // Commands that write nothing new.
    "config",
    "title",
];

/// Of a series with its gradient table: `dwi.nii --mask mask.nii` in the line.
const TABLE: &[Row] = &[
    ("bval", With("--bval other.bval --bvec other.bvec")),
    ("bvec", With("--bval other.bval --bvec other.bvec")),
    ("fslgrad", With("--fslgrad other.bvec other.bval")),
    ("grad", With("--grad table.b")),
    ("bmatrix", With("--bmatrix matrix.txt")),
    ("bvec-frame", With("--bvec-frame scanner")),
    ("b0-threshold", With("--b0-threshold 60")),
    ("bvalue-scaling", With("--bvalue-scaling no")),
];

/// How maps are written.
const STYLE: &[Row] = &[("format", With("--format nii")), ("layout", With("--layout mrtrix"))];

/// Long before any test began.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

fn forget_reading(file: &Path) {
    // To be written to: other systems want that for changing times.
    let file = File::options().append(true).open(file).unwrap();
    file.set_times(FileTimes::new().set_accessed(long_ago())).unwrap();
}

fn was_read(file: &Path) -> bool {
    file.metadata().unwrap().accessed().unwrap() != long_ago()
}

/// Whether the file system notes that a file is read.
fn reading_is_noted(folder: &Path) -> bool {
    let file = folder.join("read");
    fs::write(&file, "x").unwrap();
    forget_reading(&file);
    fs::read(&file).unwrap();
    let noted = was_read(&file);
    fs::remove_file(file).unwrap();
    noted
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_in(&path)) } else { found.push(path) }
    }
    found
}

/// A command at work on copies of its own outputs.
struct Runs<'p> {
    proof: &'p Proof,
    folder: Folder,
    /// Fingerprints by what follows the command.
    fingerprints: BTreeMap<String, String>,
    /// The names of the files that its description says it writes.
    described: Vec<Described>,
    notes_reading: bool,
}

impl Runs<'_> {
    /// The records below `out`: of a command that is made of others theirs, too.
    fn records(&self, out: &str, record: &str) -> Vec<PathBuf> {
        match self.proof.command {
            "run" | "maps" | "bids" => {
                let mut all = files_in(&self.folder.join(out));
                all.retain(|file| file.ends_with("run.json"));
                all.sort();
                all
            }
            _ => vec![self.folder.join(record)],
        }
    }

    /// The fingerprint with `rest` after the command; all files that are read must be inputs.
    fn fingerprint(&mut self, rest: &str) -> String {
        if let Some(known) = self.fingerprints.get(rest) {
            return known.clone();
        }
        let out = format!("out{}", self.fingerprints.len());
        let (line, record) = self.proof.line(rest, &out);
        let files = files_in(self.folder.path());
        files.iter().for_each(|file| forget_reading(file));
        self.folder.done(&line);
        let read: BTreeSet<PathBuf> = files.into_iter().filter(|file| was_read(file)).collect();
        let mut hashed = BTreeSet::new();
        let mut fingerprints = Vec::new();
        for path in self.records(&out, &record) {
            let record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let inputs = record["inputs"].as_array().unwrap();
            let input = |input: &Value| self.folder.join(input["path"].as_str().unwrap());
            hashed.extend(inputs.iter().map(|of| input(of).canonicalize().unwrap()));
            fingerprints.extend(record["fingerprint"].as_str().map(str::to_owned));
            for output in record["outputs"].as_array().unwrap() {
                let file = output["file"].as_str().unwrap();
                let file = within(&self.folder.join(&out), &path, file);
                let is_said = self.described.iter().any(|described| described.is(&file));
                assert!(is_said, "`{line}` wrote {file}, which its description does not say");
            }
        }
        let read: BTreeSet<PathBuf> = read
            .into_iter()
            .filter(|file| self.proof.command != "bids" || !is_only_passed_on(file))
            .map(|file| file.canonicalize().unwrap())
            .collect();
        if self.notes_reading {
            let unsaid: Vec<_> = read.difference(&hashed).collect();
            assert!(unsaid.is_empty(), "`{line}` read {unsaid:?}, which are no inputs");
        }
        assert!(!fingerprints.is_empty(), "`{line}` has no fingerprint");
        let fingerprint = fingerprints.join(" ");
        self.fingerprints.insert(rest.to_owned(), fingerprint.clone());
        fingerprint
    }
}

/// Whether nothing is computed of a file: what a data set and its series say of themselves is passed on into
/// what is written of them.
fn is_only_passed_on(file: &Path) -> bool {
    let name = file.file_name().unwrap().to_string_lossy();
    name == "dataset_description.json" || name.ends_with("_dwi.json")
}

/// The name in the folder `out` of a file beside a record in it or below it; of a single file's record the
/// file's own.
fn within(out: &Path, record: &Path, file: &str) -> String {
    let Ok(beside) = record.parent().unwrap().strip_prefix(out) else { return file.to_owned() };
    let mut name = PathBuf::new();
    for part in beside.join(file).components() {
        match part {
            Component::ParentDir => {
                name.pop();
            }
            part => name.push(part),
        }
    }
    name.display().to_string()
}

/// Whether the tests of commands or stages have one of this name.
fn is_a_test(name: &str) -> bool {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = files_in(&here.join("tests/cli"));
    tests.extend(files_in(&here.join("../pipeline/src/stages")));
    let is_there = |file: &PathBuf| {
        fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {name}()")))
    };
    tests.iter().any(is_there)
}

/// The long options in the help of a command.
fn options(folder: &Folder, command: &str) -> BTreeSet<String> {
    let help = folder.done(&format!("{command} --help")).stdout;
    let option = |line: &str| {
        let line = line.trim_start();
        let long = match line.strip_prefix('-')?.strip_prefix('-') {
            Some(long) => long,
            None => line.split_once(", --")?.1,
        };
        let end = long.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        Some(long[..end.unwrap_or(long.len())].to_owned())
    };
    // What is told under them is indented more.
    let listed = help.lines().filter(|line| {
        let indent = line.len() - line.trim_start().len();
        (2..=6).contains(&indent) && line.trim_start().starts_with('-')
    });
    listed.filter_map(option).collect()
}

fn prove(proof: &Proof) {
    let folder = (proof.fixture)();
    // What an image says of itself may stand beside it.
    for image in files_in(folder.path()) {
        let name = image.display().to_string();
        let stem = [".nii", ".nii.gz"].iter().find_map(|extension| name.strip_suffix(extension));
        let sidecar = stem.map(|stem| PathBuf::from(format!("{stem}.json")));
        if let Some(sidecar) = sidecar.filter(|sidecar| !sidecar.exists()) {
            fs::write(sidecar, "{}").unwrap();
        }
    }
    let notes_reading = reading_is_noted(folder.path());
    if !notes_reading {
        fimbria_testing::skipped("what is read: the file system does not note it");
    }
    let rows: BTreeMap<&str, Vary> = proof.rows.iter().copied().flatten().copied().collect();
    let options = options(&folder, proof.command);
    let all = options.iter().filter(|name| !MACHINE.contains(&name.as_str()));
    let without: Vec<_> = all.filter(|name| !rows.contains_key(name.as_str())).collect();
    assert!(without.is_empty(), "`{}` has options without a row: {without:?}", proof.command);
    let gone: Vec<_> = rows.keys().filter(|name| !options.contains(**name)).collect();
    assert!(gone.is_empty(), "`{}` has no options {gone:?}", proof.command);
    let described = Described::of(&folder, proof.command);
    let mut runs = Runs { proof, folder, fingerprints: BTreeMap::new(), described, notes_reading };
    let mut unsaid = Vec::new();
    for (option, vary) in rows {
        let (usual, other) = match vary {
            With(words) => (proof.line, format!("{} {words}", proof.line)),
            Instead(line) => (proof.line, line.to_owned()),
            On(line, words) => (line, format!("{line} {words}")),
            Two(line, other) => (line, other.to_owned()),
            Refused(words) => {
                let (line, _) = proof.line(&format!("{} {words}", proof.line), "refused");
                assert_ne!(runs.folder.run(&line).code, Some(0), "`{line}` is not refused");
                continue;
            }
            Alias => continue,
            Own(test) => {
                assert!(is_a_test(test), "there is no test {test}, which shows --{option}");
                continue;
            }
        };
        if runs.fingerprint(usual) == runs.fingerprint(&other) {
            unsaid.push(option);
        }
    }
    assert!(unsaid.is_empty(), "options of `{}` in no record: {unsaid:?}", proof.command);
}

fn all_proofs() -> Vec<&'static Proof> {
    let proofs = [
        files::PROOFS,
        fits::PROOFS,
        fsl::PROOFS,
        phantoms::PROOFS,
        runs::PROOFS,
        susceptibility::PROOFS,
        tractography::PROOFS,
    ];
    proofs.concat()
}

/// Every command has its proof.
#[test]
fn every_command_that_writes_is_proven() {
    let folder = Folder::new();
    let proven: BTreeSet<&str> = all_proofs().iter().map(|proof| proof.command).collect();
    // Those made of others, whose stages are proven with these, and those that read no data.
    let of_others = ["demo", "report", "describe"];
    for command in help::commands(&folder) {
        let has_output = options(&folder, &command).contains("output") || command == "bids";
        let writes = has_output && !command.starts_with("bench");
        let is_proven = proven.contains(command.as_str()) || of_others.contains(&command.as_str());
        assert!(!writes || is_proven, "`{command}` has no proof of its records");
    }
}
