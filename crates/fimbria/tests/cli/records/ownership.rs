//! Whose files are whose, the same for every command: what somebody else has put beside outputs, what a record
//! has been made to say, and what links lead to stays; the folder stays who it belongs to.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Proof, all_proofs};
use crate::bids::contents;
use crate::util::Folder;

/// A group other than that of `folder` that it can be given to.
fn give_to_another_group(folder: &Path) -> Option<u32> {
    let own = folder.metadata().unwrap().gid();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:"));
    // Root may give it to any, others to those that they are in.
    let mut all = vec![4242];
    all.extend(groups.unwrap_or_default().split_whitespace().flat_map(str::parse::<u32>));
    all.into_iter().find(|&group| group != own && chown(folder, None, Some(group)).is_ok())
}

/// Lists `name`, as it is from the folder of the record, among the outputs of a record.
fn list(record: &Path, name: &str) {
    let mut said: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let (bytes, xxh3_128) =
        fimbria_pipeline::hash_file(&record.parent().unwrap().join(name)).unwrap();
    let entry = json!({ "file": name, "bytes": bytes, "xxh3_128": xxh3_128 });
    said["outputs"].as_array_mut().unwrap().push(entry);
    fs::write(record, said.to_string()).unwrap();
}

/// The files of the user, and what is in them.
fn users(all: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&String, &Vec<u8>> {
    all.iter().filter(|(name, _)| name.contains("mine")).collect()
}

/// The records that `proof` has left: of a command that is made of others theirs, too.
fn records(proof: &Proof, folder: &Folder, record: &str) -> Vec<PathBuf> {
    match proof.command {
        "bids" | "run" => super::files_in(&folder.join(OUT))
            .into_iter()
            .filter(|file| file.ends_with("run.json"))
            .collect(),
        _ => vec![folder.join(record)],
    }
}

const OUT: &str = "deep/out";

/// The line that overwrites what is there.
fn forced(proof: &Proof, line: &str) -> String {
    match proof.command {
        // Its line says it already, in FSL's word.
        "probtrackx2" => line.to_owned(),
        command => line.replacen(command, &format!("{command} --force"), 1),
    }
}

/// A folder that is made anew stays whose it was.
fn keeps_its_group(proof: &Proof, folder: &Folder, record: &str, forced: &str) {
    const MODE: u32 = 0o2775;
    let records = records(proof, folder, record).into_iter();
    let folders = records.filter(|file| file.ends_with("run.json"));
    let folders: Vec<_> = folders.map(|file| file.parent().unwrap().to_owned()).collect();
    let give = |at: &PathBuf| {
        let group = give_to_another_group(at);
        fs::set_permissions(at, fs::Permissions::from_mode(MODE)).unwrap();
        group
    };
    let groups: Vec<_> = folders.iter().map(give).collect();
    folder.done(forced);
    for (at, group) in folders.iter().zip(groups) {
        let found = at.metadata().unwrap();
        assert_eq!(found.mode() & 0o7777, MODE, "`{forced}`: {}", at.display());
        match group {
            Some(group) => assert_eq!(found.gid(), group, "`{forced}`: {}", at.display()),
            None => fimbria_testing::skipped("another group: this user is in one alone"),
        }
    }
}

/// Puts what is the user's beside a record, and makes the record say that it is ours.
fn add_what_is_the_users(folder: &Folder, record: &Path) {
    let at = record.parent().unwrap();
    fs::write(at.join("mine.txt"), "mine").unwrap();
    // What a record says is data: names that lead elsewhere, by themselves or through links, and files
    // that somebody has changed since.
    let up = at.strip_prefix(folder.path()).unwrap().components().count();
    let outside = format!("{}mine/map", "../".repeat(up));
    symlink(folder.join("mine"), at.join("linked")).unwrap();
    fs::write(at.join("edited-mine.txt"), "ours").unwrap();
    for name in [outside.as_str(), "linked/map", "edited-mine.txt"] {
        list(record, name);
    }
    fs::write(at.join("edited-mine.txt"), "mine").unwrap();
}

fn owns_what_it_wrote(proof: &Proof) {
    let folder = (proof.fixture)();
    let (line, record) = proof.line(proof.line, OUT);
    let forced = forced(proof, &line);
    folder.done(&line);
    keeps_its_group(proof, &folder, &record, &forced);
    fs::create_dir(folder.join("mine")).unwrap();
    fs::write(folder.join("mine/map"), "mine").unwrap();
    let records = records(proof, &folder, &record);
    records.iter().for_each(|record| add_what_is_the_users(&folder, record));
    let before = contents(folder.path());
    match proof.command {
        // What is there is kept, or its line says to overwrite it.
        "bids" | "probtrackx2" => {}
        _ => {
            let said = folder.failed(&line);
            assert!(said.contains("already holds"), "`{line}`: {said}");
            assert!(contents(folder.path()) == before, "`{line}` changed something");
        }
    }
    folder.done(&forced);
    assert_eq!(
        users(&contents(folder.path())),
        users(&before),
        "`{forced}` took what is somebody else's"
    );
    for record in &records {
        let link = record.with_file_name("linked");
        assert!(link.is_symlink(), "`{forced}` took {}", link.display());
    }
    // A folder of ours that is a link.
    let hidden = match (proof.command, record.strip_suffix(".run.json")) {
        ("bids", _) => format!("{OUT}/.fimbria"),
        (_, Some(file)) => file.replacen("deep/", "deep/.unfinished-", 1),
        (_, None) => format!("{OUT}/.unfinished"),
    };
    let _ = fs::remove_dir_all(folder.join(&hidden));
    fs::create_dir_all(folder.join("mine/new")).unwrap();
    fs::write(folder.join("mine/new/map"), "mine").unwrap();
    symlink(folder.join("mine"), folder.join(&hidden)).unwrap();
    let before = contents(&folder.join("mine"));
    let said = folder.failed(&forced);
    assert!(said.contains("was not made by fimbria"), "`{forced}`: {said}");
    assert!(contents(&folder.join("mine")) == before, "`{forced}` went through a link");
}

#[test]
fn every_command_replaces_and_removes_only_what_it_wrote() {
    let all = all_proofs();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        while let Some(proof) = all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            owns_what_it_wrote(proof);
        }
    };
    std::thread::scope(|scope| {
        let both = [scope.spawn(work), scope.spawn(work)];
        for one in both {
            one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}
