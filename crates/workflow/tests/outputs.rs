//! Outputs appear all at once or not at all.

use std::fs;
use std::path::Path;

use fimbria_compute::{Backend, Progress as _, Silent, Workers};
use fimbria_workflow::{Logbook, OutputError, OutputFolder, RunRecord, Session, Unfinished};
use serde_json::json;

fn record() -> RunRecord {
    let workers = Workers::new(1).unwrap();
    let session = Session {
        on: Backend::cpu(&workers),
        progress: &Silent,
        unfinished: &Unfinished::new(),
        command_line: &["fimbria".to_owned()],
    };
    Logbook::new(session).record("test", Vec::new(), json!({ "method": "wls" }))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes the files `files`, each holding its own name, and commits.
fn fill(root: &Path, files: &[&str], overwrite: bool) -> Result<RunRecord, OutputError> {
    let planned: Vec<String> = files.iter().map(|f| (*f).to_owned()).collect();
    let mut out = OutputFolder::create(root, &planned, overwrite, &Unfinished::new())?;
    for file in files {
        out.write(file, file.as_bytes())?;
    }
    out.commit(record())
}

#[test]
fn committed_folder_holds_the_files_and_a_record_that_lists_them() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("deep/out");
    fill(&root, &["FA.nii", "MD.nii"], false).unwrap();
    assert_eq!(names(&root), ["FA.nii", "MD.nii", "run.json"]);
    let record = RunRecord::read(&root.join("run.json")).unwrap();
    let listed: Vec<_> = record.outputs.iter().map(|o| (&*o.file, o.bytes)).collect();
    assert_eq!(listed, [("FA.nii", 6), ("MD.nii", 6)]);
    assert!(record.is_complete_in(&root));
}

#[test]
fn before_the_commit_nothing_has_its_name() {
    let root = tempfile::tempdir().unwrap();
    let mut out =
        OutputFolder::create(root.path(), &["a.nii".into()], false, &Unfinished::new()).unwrap();
    out.write("a.nii", b"half").unwrap();
    assert!(!root.path().join("a.nii").exists());
}

#[test]
fn dropped_folder_takes_away_what_it_made_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("mine"), "kept").unwrap();
    let root = parent.path().join("deep/out");
    let mut out = OutputFolder::create(&root, &[], false, &Unfinished::new()).unwrap();
    out.write("a", b"half").unwrap();
    drop(out);
    assert_eq!(names(parent.path()), ["mine"]);
}

#[test]
fn telling_the_list_to_remove_all_leaves_nothing_either() {
    let parent = tempfile::tempdir().unwrap();
    let unfinished = Unfinished::new();
    let mut out =
        OutputFolder::create(&parent.path().join("deep/out"), &[], false, &unfinished).unwrap();
    out.write("a", b"half").unwrap();
    unfinished.remove_all();
    assert!(names(parent.path()).is_empty());
}

#[test]
fn existing_outputs_are_refused_with_their_names() {
    let root = tempfile::tempdir().unwrap();
    fill(root.path(), &["FA", "MD"], false).unwrap();
    let error = fill(root.path(), &["MD", "V1"], false).unwrap_err();
    assert!(error.to_string().ends_with("already holds MD, run.json"), "{error}");
    assert_eq!(names(root.path()), ["FA", "MD", "run.json"]);
}

#[test]
fn overwriting_removes_what_only_the_earlier_run_wrote() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("notes.txt"), "mine").unwrap();
    fill(root.path(), &["FA", "MD"], false).unwrap();
    fill(root.path(), &["MD", "V1"], true).unwrap();
    assert_eq!(names(root.path()), ["MD", "V1", "notes.txt", "run.json"]);
}

#[test]
fn a_record_cannot_make_us_remove_files_elsewhere() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("out");
    let precious = parent.path().join("precious");
    fs::write(&precious, "kept").unwrap();
    fill(&root, &["FA"], false).unwrap();
    let record = fs::read_to_string(root.join("run.json")).unwrap();
    fs::write(root.join("run.json"), record.replace("\"FA\"", "\"../precious\"")).unwrap();
    fill(&root, &["MD"], true).unwrap();
    assert!(precious.exists());
}

#[test]
fn files_may_lie_in_subfolders() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("out");
    fill(&root, &["dwi", "truth/FA"], false).unwrap();
    assert_eq!(names(&root), ["dwi", "run.json", "truth"]);
    assert_eq!(names(&root.join("truth")), ["FA"]);

    let mut out =
        OutputFolder::create(&parent.path().join("other"), &[], false, &Unfinished::new()).unwrap();
    out.write("truth/FA", b"half").unwrap();
    drop(out);
    assert_eq!(names(parent.path()), ["out"]);
}

#[test]
fn failed_commit_leaves_no_new_file() {
    let root = tempfile::tempdir().unwrap();
    let mut out = OutputFolder::create(root.path(), &[], true, &Unfinished::new()).unwrap();
    out.write("a", b"whole").unwrap();
    out.write("b", b"whole").unwrap();
    // A folder where "b" should go.
    fs::create_dir(root.path().join("b")).unwrap();
    let error = out.commit(record()).unwrap_err();
    assert!(matches!(error, OutputError::NotAFile(_)), "{error}");
    assert_eq!(names(root.path()), ["b"]);
}

#[test]
fn a_single_file_has_its_record_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.mif");
    let mut out =
        OutputFolder::for_file(&path, &["out.mif".into()], false, &Unfinished::new()).unwrap();
    out.write("out.mif", b"image").unwrap();
    out.commit(record()).unwrap();
    assert_eq!(names(folder.path()), ["out.mif", "out.mif.run.json"]);
}

#[test]
fn a_file_where_the_folder_should_be_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = OutputFolder::create(file.path(), &[], true, &Unfinished::new()).unwrap_err();
    assert!(matches!(error, OutputError::NotAFolder(_)));
}

#[test]
fn steps_of_a_stage_are_timed_under_their_names() {
    let workers = Workers::new(1).unwrap();
    let unfinished = Unfinished::new();
    let session = Session {
        on: Backend::cpu(&workers),
        progress: &Silent,
        unfinished: &unfinished,
        command_line: &[],
    };
    let log = Logbook::new(session);
    log.stage("weigh", || {
        for step in ["read", "solve", "look", "solve"] {
            log.start(step, 0);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        Ok::<_, std::convert::Infallible>(())
    })
    .unwrap();
    log.stage("write", || Ok::<_, std::convert::Infallible>(())).unwrap();
    let record = log.record("test", Vec::new(), json!({}));
    let [weigh, write] = &record.stages[..] else { panic!("{:?}", record.stages) };
    let names: Vec<&str> = weigh.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["read", "solve", "look"]);
    // What comes again is added to what came before.
    assert!(weigh.steps[1].seconds >= 0.004);
    let all: f64 = weigh.steps.iter().map(|step| step.seconds).sum();
    assert!(all >= 0.008 && all <= weigh.seconds, "{all} of {}", weigh.seconds);
    assert!(write.steps.is_empty());
}
