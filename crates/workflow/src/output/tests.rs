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

/// Writes a run, as far as faults let it; true where it says that it is done.
fn write(opened: Opened, text: &str) -> bool {
    let Ok(mut out) = opened else { return false };
    let written = NAMES.iter().try_for_each(|name| out.write(name, text.as_bytes()));
    written.is_ok() && out.commit(record()).is_ok()
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
        let met = faults::with(fault, n, || {
            write(open(root.path()), "later");
        });
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
    for fault in [Fault::Fails, Fault::Lies, Fault::Kills] {
        at_every_operation(fault, folder, no_change, |root, n| {
            let found = whole(root, "run.json");
            assert!(found.is_some(), "{fault:?} at operation {n}");
        });
    }
}

/// A server of files that does what it is told and whose answer is lost took the earlier maps away, or left
/// them and the exit code said that all was done.
#[test]
fn a_run_that_says_that_it_is_done_is_there_and_else_the_earlier_one() {
    let notes = |root: &Path| fs::write(root.join("out/notes.txt"), "mine").unwrap();
    let shapes = [
        (folder as Open, false, "run.json"),
        (folder, true, "run.json"),
        (file, false, "run.run.json"),
    ];
    for (open, has_notes, record) in shapes {
        for fault in [Fault::Fails, Fault::Lies] {
            for n in 0.. {
                let root = tempfile::tempdir().unwrap();
                write(open(root.path()), "earlier");
                if has_notes {
                    notes(root.path());
                }
                let mut is_done = false;
                let met = faults::with(fault, n, || is_done = write(open(root.path()), "later"));
                let expected = if is_done { "later" } else { "earlier" };
                let found = whole(root.path(), record);
                assert_eq!(found.as_deref(), Some(expected), "{fault:?} at operation {n}");
                if !met {
                    break;
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_nfs_no_folder_is_left_behind() {
    for open in [folder as Open, file] {
        let root = tempfile::tempdir().unwrap();
        faults::on_nfs(|| {
            assert!(write(open(root.path()), "earlier"));
            assert!(write(open(root.path()), "later"));
            drop(open(root.path()).unwrap());
        });
        let names = |folder: &Path| -> Vec<_> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names(root.path()), ["out"]);
        assert_eq!(names(&root.path().join("out")).len(), 3);
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_replaced_keeps_its_group_and_rights() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let root = tempfile::tempdir().unwrap();
    write(folder(root.path()), "earlier");
    let out = root.path().join("out");
    let groups = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let groups = groups.lines().find_map(|line| line.strip_prefix("Groups:"));
    let own = out.metadata().unwrap().gid();
    // Root may give it to any group, others to those that they are in.
    let mut candidates: Vec<u32> = vec![4242];
    candidates.extend(groups.unwrap_or_default().split_whitespace().flat_map(str::parse::<u32>));
    let other = candidates
        .into_iter()
        .find(|&group| group != own && chown(&out, None, Some(group)).is_ok());
    let Some(other) = other else {
        fimbria_testing::skipped("another group: this user is in one alone");
        return;
    };
    chown(out.join("sub"), None, Some(other)).unwrap();
    fs::set_permissions(out.join("sub"), fs::Permissions::from_mode(0o2770)).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o2770)).unwrap();
    assert!(write(folder(root.path()), "later"));
    assert_eq!(whole(root.path(), "run.json").as_deref(), Some("later"));
    for folder in [out.clone(), out.join("sub")] {
        let found = folder.metadata().unwrap();
        assert_eq!((found.gid(), found.mode() & 0o7777), (other, 0o2770), "{}", folder.display());
    }
}

#[test]
fn what_a_record_lists_is_removed_as_it_was_written_alone() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(folder(root.path()), "earlier");
    let mut listed = RunRecord::read(&out.join("run.json")).unwrap();
    let hash = |path: &Path| crate::hashing::hash_file(path).unwrap();
    for (name, text) in [("../precious.txt", "precious"), ("edited", "was"), ("left", "left")] {
        fs::write(out.join(name), text).unwrap();
        let (bytes, xxh3_128) = hash(&out.join(name));
        listed.outputs.push(crate::OutputEntry { file: name.to_owned(), bytes, xxh3_128 });
    }
    fs::write(out.join("run.json"), listed.to_json()).unwrap();
    fs::write(out.join("edited"), "now").unwrap();
    assert!(write(folder(root.path()), "later"));
    let there =
        ["precious.txt", "out/edited", "out/left"].map(|name| root.path().join(name).exists());
    assert_eq!(there, [true, true, false]);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_through_links() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let [out, mine] = ["out", "mine"].map(|name| root.path().join(name));
    for (folder, link) in [(&mine, out.join("sub")), (&mine.join("new"), out.join(".unfinished"))] {
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(mine.join("map.img"), "mine").unwrap();
        symlink(&mine, &link).unwrap();
        let opened = self::folder(root.path());
        let refused = opened.and_then(|mut out| out.write(NAMES[1], b"later")).unwrap_err();
        assert!(refused.to_string().contains(&link.display().to_string()), "{refused}");
        assert_eq!(fs::read(mine.join("map.img")).unwrap(), b"mine");
        assert!(mine.join("new").exists() || !link.ends_with(".unfinished"));
        fs::remove_file(link).unwrap();
    }
    // A folder of that name that holds what no run has made.
    fs::create_dir_all(out.join(".unfinished/new")).unwrap();
    fs::write(out.join(".unfinished/new/notes"), "mine").unwrap();
    let refused = folder(root.path()).unwrap_err().to_string();
    assert!(refused.contains(".unfinished was not made by fimbria"), "{refused}");
}

#[test]
fn what_is_added_leaves_the_rest_of_an_earlier_run_and_lists_it() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(folder(root.path()), "earlier");
    let update = || OutputFolder::update(&out, false, &Unfinished::new()).unwrap();
    let earlier = RunRecord::read(&out.join("run.json")).unwrap().outputs;
    let mut added = update();
    // Its own it may write again.
    added.write(NAMES[1], b"again").unwrap();
    added.keep([earlier[0].clone()]);
    added.commit(record()).unwrap();
    assert_eq!(read(root.path(), NAMES[0]).as_deref(), Some("earlier"));
    assert_eq!(read(root.path(), NAMES[1]).as_deref(), Some("again"));
    let listed = RunRecord::read(&out.join("run.json")).unwrap();
    assert!(listed.is_complete_in(&out) && listed.outputs.len() == 2);
    // What somebody has changed since it may not.
    fs::write(out.join(NAMES[1]), "mine").unwrap();
    let refused = update().write(NAMES[1], b"again").unwrap_err();
    assert!(matches!(refused, super::OutputError::Exists { .. }), "{refused}");
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
            let met = faults::with(Fault::Kills, n, || {
                write(open(root.path()), "first");
            });
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
fn what_interrupted_work_kept_goes_when_it_is_finished_and_that_of_other_work_stays() {
    const CHECKPOINT: &[u8] = b"fbkept\0\x02half";
    for (notes, others) in [(false, false), (true, false), (false, true)] {
        let root = tempfile::tempdir().unwrap();
        let kept = |task: &str| OutputFolder::kept(&root.path().join("out"), task);
        let keep = |task: &str| {
            fs::create_dir_all(kept(task)).unwrap();
            fs::write(kept(task).join("chunk-0"), CHECKPOINT).unwrap();
        };
        keep("test");
        if others {
            keep("qsm");
        }
        if notes {
            fs::write(root.path().join("out/notes.txt"), "mine").unwrap();
        }
        drop(folder(root.path()).unwrap());
        assert!(kept("test").exists());
        write(folder(root.path()), "whole");
        assert_eq!(whole(root.path(), "run.json").as_deref(), Some("whole"));
        assert!(!kept("test").exists());
        assert_eq!(kept("qsm").join("chunk-0").exists(), others);
        assert_eq!(kept("").exists(), others);
    }
}

#[cfg(unix)]
#[test]
fn a_device_is_not_replaced() {
    let error = OutputFolder::for_file(Path::new("/dev/null"), &[], true, &Unfinished::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("/dev/null is no regular file"), "{error}");
}
