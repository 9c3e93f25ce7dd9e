//! Every operation of a commit is let fail, and every one is made the last.

use std::fs;
use std::path::Path;

use fimbria_compute::{Backend, Silent, Workers};

use super::OutputFolder;
use super::disk::faults::{self, Fault};
use crate::{Logbook, RunRecord, Session, Unfinished};

fn record() -> RunRecord {
    let workers = Workers::new(1).unwrap();
    let session = Session {
        on: Backend::cpu(&workers),
        progress: &Silent,
        unfinished: &Unfinished::new(),
        command_line: &[],
    };
    Logbook::new(session).record("test", Vec::new(), serde_json::Value::Null)
}

/// Two runs write the same two files, of another text each.
const NAMES: [&str; 2] = ["map.hdr", "sub/map.img"];

type Opened = Result<OutputFolder, super::OutputError>;
type Open = fn(&Path) -> Opened;

fn folder(root: &Path) -> Opened {
    OutputFolder::create(&root.join("out"), &[], true, &Unfinished::new())
}

fn file(root: &Path) -> Opened {
    fs::create_dir_all(root.join("out")).unwrap();
    OutputFolder::for_file(&root.join("out/run"), &[], true, &Unfinished::new())
}

/// Writes a run, as far as faults let it.
fn write(opened: Opened, text: &str) {
    let Ok(mut out) = opened else { return };
    let written = NAMES.iter().try_for_each(|name| out.write(name, text.as_bytes()));
    if written.is_ok() {
        let _ = out.commit(record());
    }
}

fn read(root: &Path, name: &str) -> Option<String> {
    fs::read_to_string(root.join("out").join(name)).ok()
}

/// The run that is whole there, by its text, with a record that says so; `None` where there is none.
fn whole(root: &Path, record: &str) -> Option<String> {
    let found = RunRecord::read(&root.join("out").join(record)).ok()?;
    let texts: Option<Vec<_>> = NAMES.iter().map(|name| read(root, name)).collect();
    let [first, second] = texts?.try_into().ok()?;
    (first == second && found.is_complete_in(&root.join("out"))).then_some(first)
}

/// Lets a run that replaces another meet `fault` at every operation, and says which run is whole
/// afterwards: `after` sees the folder, the first time as it was left.
fn at_every_operation(
    fault: Fault,
    open: Open,
    prepare: impl Fn(&Path),
    after: impl Fn(&Path, usize),
) {
    for n in 0.. {
        let root = tempfile::tempdir().unwrap();
        write(open(root.path()), "earlier");
        prepare(root.path());
        let met = faults::with(fault, n, || write(open(root.path()), "later"));
        after(root.path(), n);
        if !met {
            assert!(n > 10, "a commit of three files is more than {n} operations");
            return;
        }
    }
}

fn no_change(_: &Path) {}

#[test]
fn a_folder_is_of_one_run_whatever_fails_and_whenever_it_is_killed() {
    for fault in [Fault::Fails, Fault::Kills] {
        at_every_operation(fault, folder, no_change, |root, n| {
            let found = whole(root, "run.json");
            assert!(found.is_some(), "{fault:?} at operation {n}");
        });
    }
}

#[test]
fn what_fails_leaves_nothing_of_its_own() {
    for open in [folder as Open, file] {
        at_every_operation(Fault::Fails, open, no_change, |root, n| {
            // What cannot be removed where removing fails is hidden, and goes with the next run.
            write(open(root), "next");
            let names = |folder: &Path| -> Vec<_> {
                fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect()
            };
            assert_eq!(names(root), ["out"], "operation {n}");
            assert_eq!(
                names(&root.join("out")).len(),
                3,
                "operation {n}: {:?}",
                names(&root.join("out"))
            );
        });
    }
}

#[test]
fn a_file_of_somebody_else_survives_and_the_folder_is_of_one_run() {
    let notes = |root: &Path| fs::write(root.join("out/notes.txt"), "mine").unwrap();
    at_every_operation(Fault::Fails, folder, notes, |root, n| {
        assert!(whole(root, "run.json").is_some(), "operation {n}");
        assert_eq!(read(root, "notes.txt").as_deref(), Some("mine"), "operation {n}");
    });
}

#[test]
fn what_a_kill_left_between_two_moves_is_undone_by_the_next_run() {
    let notes = |root: &Path| fs::write(root.join("out/notes.txt"), "mine").unwrap();
    for (open, record) in [(folder as Open, "run.json"), (file, "run.run.json")] {
        at_every_operation(Fault::Kills, open, notes, |root, n| {
            // The next run begins, and ends before it has written anything.
            drop(open(root).unwrap());
            assert!(whole(root, record).is_some(), "operation {n}");
            assert_eq!(read(root, "notes.txt").as_deref(), Some("mine"), "operation {n}");
        });
    }
}

#[test]
fn a_killed_first_run_is_in_nobodys_way() {
    let again: [fn(&Path) -> Opened; 2] = [
        |root| OutputFolder::create(&root.join("out"), &[], false, &Unfinished::new()),
        |root| OutputFolder::for_file(&root.join("out/run"), &[], false, &Unfinished::new()),
    ];
    for (open, again, record) in
        [(folder as Open, again[0], "run.json"), (file, again[1], "run.run.json")]
    {
        for n in 0.. {
            let root = tempfile::tempdir().unwrap();
            let met = faults::with(Fault::Kills, n, || write(open(root.path()), "first"));
            if whole(root.path(), record).is_none() {
                // Without --force: nothing that counts stands in the way.
                write(Ok(again(root.path()).unwrap()), "second");
                assert_eq!(whole(root.path(), record).as_deref(), Some("second"), "{n}");
            }
            if !met {
                break;
            }
        }
    }
}

#[test]
fn of_two_runs_at_once_the_second_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let first = folder(root.path()).unwrap();
    let error = folder(root.path()).unwrap_err().to_string();
    assert!(error.contains("another run is writing to"), "{error}");
    write(Ok(first), "first");
    assert_eq!(whole(root.path(), "run.json").as_deref(), Some("first"));
    write(folder(root.path()), "second");
    assert_eq!(whole(root.path(), "run.json").as_deref(), Some("second"));
}

#[test]
fn what_interrupted_work_kept_goes_when_it_is_finished() {
    for notes in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let kept = root.path().join("out").join(OutputFolder::KEPT);
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("chunk-0"), "half").unwrap();
        if notes {
            fs::write(root.path().join("out/notes.txt"), "mine").unwrap();
        }
        drop(folder(root.path()).unwrap());
        assert!(kept.exists());
        write(folder(root.path()), "whole");
        assert_eq!(whole(root.path(), "run.json").as_deref(), Some("whole"));
        assert!(!kept.exists());
    }
}

#[cfg(unix)]
#[test]
fn a_device_is_not_replaced() {
    let error = OutputFolder::for_file(Path::new("/dev/null"), &[], true, &Unfinished::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("/dev/null is no regular file"), "{error}");
}
