//! What users and scripts see stays as it was, until somebody says otherwise: the help of every
//! command, and which entries run.json has. `FIMBRIA_BLESS=1` writes the snapshots anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fimbria_testing::hold_to;
use serde_json::Value;

#[cfg(not(feature = "mpi"))]
use crate::help::commands;
use crate::util::Folder;

/// Holds the snapshots in `folder` to `texts`.
fn hold(folder: &str, texts: &BTreeMap<String, String>) {
    let snapshots = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"));
    hold_to(&snapshots.join(folder), texts);
}

// With MPI some commands have an option more.
#[cfg(not(feature = "mpi"))]
#[test]
fn help_says_what_it_said() {
    let folder = Folder::new();
    let help = |command: &String| folder.done(&format!("{command} --help")).stdout;
    let name = |command: &String| format!("{}.txt", command.replace(' ', "-"));
    hold("help", &commands(&folder).iter().map(|line| (name(line), help(line))).collect());
}

/// Adds to `lines` the paths of all entries of `value`, and what stands there.
fn shape(path: &str, value: &Value, lines: &mut BTreeSet<String>) {
    let what = match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                shape(&format!("{path}.{key}"), value, lines);
            }
            return;
        }
        Value::Array(values) => {
            for value in values {
                shape(&format!("{path}[]"), value, lines);
            }
            return;
        }
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
    };
    lines.insert(format!("{}: {what}", path.trim_start_matches('.')));
}

#[test]
fn records_have_the_entries_they_had() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 24,28,22 --voxel 6.5 --format nii -o head");
    folder.done("phantom gre --size 24,28,22 --voxel 6.5 -o gre");
    let head = "head/dwi.nii --mask head/mask.nii --device cpu";
    let sampled = format!("sticks {head} --fibres 1 --burn-in 5 --jumps 10 --sample-every 5");
    let lines = [
        ("fit-dti", format!("fit dti {head}")),
        ("fit-fod", format!("fit fod {head}")),
        ("peaks", "peaks fit-fod/fod.nii.gz --device cpu".to_owned()),
        ("sticks", sampled),
        ("track", "track peaks/peaks.nii.gz --seeds head/mask.nii -n 1 --device cpu".to_owned()),
        ("life", "life track/tracks.trx --dwi head/dwi.nii --max-iterations 2 --device cpu".into()),
        ("connectome", "connectome track/tracks.trx head/mask.nii".to_owned()),
        ("sift2", "sift2 track/tracks.trx fit-fod/fod.nii.gz".to_owned()),
        ("field", "field gre/phase.nii.gz --mask gre/mask.nii.gz".to_owned()),
        (
            "qsm",
            "qsm field/local_field.nii.gz --method dqsm --mask field/mask.nii.gz --iterations 2 --device cpu"
                .to_owned(),
        ),
        ("run", format!("run {head} --set run.fits=[]")),
    ];
    let mut texts = BTreeMap::new();
    for (name, line) in lines {
        folder.done(&format!("{line} -o {name}"));
        let mut entries = BTreeSet::new();
        shape("", &folder.json(&format!("{name}/run.json")), &mut entries);
        let entries: Vec<String> = entries.into_iter().collect();
        texts.insert(format!("{name}.txt"), entries.join("\n") + "\n");
    }
    hold("records", &texts);
}
