//! What was done, with what, to what: `run.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hashing::{InputEntry, hash_file};

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputEntry {
    /// Its name, relative to the folder of the record.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Its XXH3 hash of 128 bits, in hexadecimal; empty in records of earlier versions.
    #[serde(default)]
    pub xxh3_128: String,
}

impl OutputEntry {
    /// True where the file is in the folder of its record as it was written, or a link leads to such a file.
    pub fn is_whole_in(&self, folder: &Path) -> bool {
        let path = folder.join(&self.file);
        path.metadata().is_ok_and(|found| found.len() == self.bytes)
            && hash_file(&path).is_ok_and(|(_, hash)| hash == self.xxh3_128)
    }
}

/// What one step of a stage took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEntry {
    /// What progress called it ("encoding streamlines").
    pub name: String,
    /// Seconds of wall-clock time, each time until another step or the end of the stage.
    pub seconds: f64,
}

/// What one stage took and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageEntry {
    /// Name of the stage ("load", "dti").
    pub name: String,
    /// Seconds of wall-clock time.
    pub seconds: f64,
    /// Its steps in order, as progress showed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepEntry>,
    /// What it counted ("voxels", "not_converged").
    pub counts: BTreeMap<String, u64>,
    /// True where an earlier run had done it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
}

/// Where the work ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and processor family ("linux x86_64").
    pub system: String,
    /// Processes that shared it.
    #[serde(default = "one")]
    pub processes: usize,
    /// Worker threads of each.
    pub threads: usize,
    /// SIMD level of the CPU kernels.
    pub simd: String,
    /// Devices used, by name; empty for the CPU alone.
    pub devices: Vec<String>,
}

/// Of records that do not say.
fn one() -> usize {
    1
}

/// The record of one run, written last as `run.json`: a folder without it is unfinished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// "fimbria".
    pub program: String,
    /// Its version.
    pub version: String,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// What was done: the command or stage.
    pub task: String,
    /// Files read.
    pub inputs: Vec<InputEntry>,
    /// Every parameter in effect, defaults included.
    pub parameters: Value,
    /// Identifies inputs, parameters and version together; equal fingerprints mean equal results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Where it ran.
    pub machine: Machine,
    /// What the work came to, in numbers, by name ("objective").
    #[serde(flatten)]
    pub results: BTreeMap<String, Value>,
    /// Time and counts per stage.
    pub stages: Vec<StageEntry>,
    /// What the user was warned of.
    pub warnings: Vec<String>,
    /// Files written.
    pub outputs: Vec<OutputEntry>,
    /// When the work began (UTC).
    pub started: Timestamp,
    /// When the record was written (UTC).
    pub finished: Timestamp,
}

impl RunRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// Where there is none, or it is not one.
    pub fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fimbria_image::read_regular(path)?).map_err(io::Error::from)
    }

    /// The record as the text of `run.json`.
    pub fn to_json(&self) -> String {
        // Strings, numbers and maps with string keys: nothing here can fail to serialize.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The parameters of one stage: a stage's own record has nothing else, that of a command or a
    /// run has those of all its stages by their names.
    pub fn parameters_of(&self, stage: &str) -> Option<&Value> {
        match &self.stages[..] {
            [only] if only.name == stage => Some(&self.parameters),
            _ => self.parameters.get(stage),
        }
    }

    /// What it lists, by names from the folder above `folder`, which is its own.
    pub(crate) fn outputs_below(&self, folder: &str) -> impl Iterator<Item = OutputEntry> {
        self.outputs.iter().map(move |output| OutputEntry {
            file: format!("{folder}/{}", output.file),
            ..output.clone()
        })
    }

    /// True where every file that this record lists is still beside it, as it was written.
    pub fn is_complete_in(&self, folder: &Path) -> bool {
        self.outputs.iter().all(|output| output.is_whole_in(folder))
    }
}
