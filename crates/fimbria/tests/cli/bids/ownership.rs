//! What is there stays: results of other options and presets, and what is somebody else's.

use std::collections::BTreeMap;
use std::fs;

use super::{PARTICIPANT, contents, data_set, with_data_set};
use crate::util::Folder;

/// One subject.
fn with_one() -> Folder {
    let folder = Folder::new();
    data_set(&folder, &[("sub-01", "sub-01")]);
    folder
}

const TRACKED: &str = "--preset connectome --set track.select=100";

/// Files of derivatives by name, but pages and what changes with each call.
fn results(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let mut all = contents(&folder.join("out"));
    all.retain(|name, _| name.starts_with("sub-01/dwi"));
    all
}

#[test]
fn what_another_preset_made_stays_and_stays_listed() {
    let folder = with_one();
    folder.done(&format!("{PARTICIPANT} {TRACKED}"));
    let tracked = results(&folder);
    assert!(tracked.keys().any(|name| name.contains("_tractogram.")));
    // All of it is there.
    let said = folder.done(&format!("{PARTICIPANT} --preset maps")).stderr;
    assert!(said.contains("0 of 1 done, 1 kept"), "{said}");
    assert!(results(&folder) == tracked);
    // Forced, it makes its own anew.
    let said = folder.done(&format!("{PARTICIPANT} --preset maps --force")).stderr;
    assert!(said.contains("1 of 1 done"), "{said}");
    assert!(results(&folder) == tracked);
    let record = fimbria_pipeline::RunRecord::read(&folder.join("out/sub-01/run.json")).unwrap();
    assert!(record.is_complete_in(&folder.join("out/sub-01")));
    assert!(record.outputs.iter().any(|output| output.file.contains("_tractogram.")));
    assert!(record.parameters["sub-01_space-ACPC"]["track"].is_object());
    let said = folder.done(&format!("{PARTICIPANT} {TRACKED}")).stderr;
    assert!(said.contains("1 kept"), "{said}");
}

#[test]
fn a_preset_adds_to_what_is_there() {
    let folder = with_one();
    folder.done(PARTICIPANT);
    let maps = results(&folder);
    let said = folder.done(&format!("{PARTICIPANT} {TRACKED}")).stderr;
    assert!(said.contains("1 of 1 done"), "{said}");
    let all = results(&folder);
    assert!(maps.iter().all(|(name, bytes)| all.get(name) == Some(bytes)));
    assert!(all.keys().any(|name| name.contains("_tractogram.")));
    assert_eq!(folder.names("out/sub-01"), ["dwi", "run.json"]);
    let said = folder.failed(&format!("{PARTICIPANT} {TRACKED}0"));
    assert!(said.contains("holds results of track") && said.contains("--force"), "{said}");
    assert!(results(&folder) == all);
}

#[test]
fn a_work_folder_takes_nothing_away_that_runs_did_not_leave_there() {
    let folder = with_one();
    let before = contents(&folder.join("in"));
    for work in ["in", "in/sub-01", ".", "out", "out/work", "out/sub-01"] {
        let said = folder.failed(&format!("{PARTICIPANT} -w {work}"));
        assert!(said.contains("cannot be worked in"), "{work}: {said}");
    }
    assert!(contents(&folder.join("in")) == before);
    assert!(!folder.join("out").exists());
    fs::create_dir_all(folder.join("scratch/sub-01")).unwrap();
    fs::write(folder.join("scratch/sub-01/notes"), "mine").unwrap();
    let said = folder.failed(&format!("{PARTICIPANT} -w scratch"));
    assert!(said.contains("scratch/sub-01 was not made by fimbria"), "{said}");
    assert_eq!(folder.names("scratch/sub-01"), ["notes"]);
    folder.done(&format!("{PARTICIPANT} -w elsewhere"));
    assert_eq!(folder.names("elsewhere"), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_link_is_no_work_folder_of_ours() {
    let folder = with_one();
    for name in ["out/.fimbria", "mine/sub-01"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::write(folder.join("mine/sub-01/notes"), "mine").unwrap();
    std::os::unix::fs::symlink(folder.join("mine"), folder.join("out/.fimbria/work")).unwrap();
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("work was not made by fimbria"), "{said}");
    assert_eq!(folder.names("mine/sub-01"), ["notes"]);
}

#[test]
fn files_of_somebody_else_in_the_derivatives_stay() {
    let folder = with_one();
    let mine = ["README", ".bidsignore", "logs/CITATION.md"];
    fs::create_dir_all(folder.join("out/logs")).unwrap();
    for name in mine {
        fs::write(folder.join("out").join(name), "mine").unwrap();
    }
    let page = folder.join("out/sub-01.html");
    fs::write(&page, "mine").unwrap();
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("already holds ../sub-01.html") && said.contains("--force"), "{said}");
    assert_eq!(fs::read(&page).unwrap(), b"mine");
    fs::remove_file(&page).unwrap();
    let said = folder.done(PARTICIPANT).stderr;
    for name in mine {
        assert_eq!(fs::read(folder.join("out").join(name)).unwrap(), b"mine");
        assert!(said.contains(&format!("{name} is not as fimbria wrote it")), "{said}");
    }
    // A map that somebody has changed is theirs, too.
    let map = "out/sub-01/dwi/sub-01_space-ACPC_model-tensor_param-fa_dwimap.nii.gz";
    fs::write(folder.join(map), "mine").unwrap();
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("already holds dwi/sub-01_space-ACPC_model-tensor_param-fa"), "{said}");
    assert_eq!(fs::read(folder.join(map)).unwrap(), b"mine");
    folder.done(&format!("{PARTICIPANT} --force"));
    assert!(folder.image(map).data.iter().any(|&fa| fa > 0.5));
    fs::write(folder.join("out/group_dwi.tsv"), "mine").unwrap();
    let said = folder.failed("bids in out group");
    assert!(said.contains("already holds group_dwi.tsv"), "{said}");
    folder.done("bids in out group --force");
}

#[test]
fn a_record_that_names_files_elsewhere_takes_none_away() {
    let folder = with_one();
    folder.done(PARTICIPANT);
    fs::write(folder.join("precious.txt"), "mine").unwrap();
    let mut record = folder.json("out/sub-01/run.json");
    let (bytes, hash) = fimbria_pipeline::hash_file(&folder.join("precious.txt")).unwrap();
    let entry =
        serde_json::json!({ "file": "../../precious.txt", "bytes": bytes, "xxh3_128": hash });
    record["outputs"].as_array_mut().unwrap().push(entry);
    fs::write(folder.join("out/sub-01/run.json"), record.to_string()).unwrap();
    folder.done(&format!("{PARTICIPANT} --set dti.method=ols --force"));
    assert_eq!(fs::read(folder.join("precious.txt")).unwrap(), b"mine");
    let listed = &folder.json("out/sub-01/run.json")["outputs"];
    assert!(!listed.to_string().contains("precious"), "{listed}");
}

#[test]
fn a_digest_is_of_the_files_that_are_there() {
    let folder = with_one();
    folder.done(PARTICIPANT);
    let digest = || folder.done("bids in out group --digest");
    let whole = digest();
    let map = folder.join("out/sub-01/dwi/sub-01_space-ACPC_model-tensor_param-fa_dwimap.nii.gz");
    let mut bytes = fs::read(&map).unwrap();
    bytes[100] ^= 1;
    fs::write(&map, bytes).unwrap();
    let harmed = digest();
    fs::remove_file(&map).unwrap();
    let gone = digest();
    for ran in [&harmed, &gone] {
        assert_ne!(ran.stdout, whole.stdout);
        assert!(ran.stderr.contains("param-fa_dwimap.nii.gz is not as its record says"));
    }
    assert_ne!(harmed.stdout, gone.stdout);
    assert!(!whole.stderr.contains("is not as its record says"));
}

#[test]
fn a_series_outside_the_sessions_of_its_subject_has_the_page_of_its_name() {
    let folder = Folder::new();
    data_set(&folder, &[("sub-01", "sub-01"), ("sub-01/ses-1", "sub-01_ses-1")]);
    let page = || fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    folder.done(PARTICIPANT);
    let whole = page();
    assert!(!whole.contains("of its sessions by fimbria bids"));
    // Whoever comes first, and what is killed in between: its record was gone and the page replaced.
    fs::remove_file(folder.join("out/sub-01/run.json")).unwrap();
    let session = folder.done(&format!("{PARTICIPANT} --force --session-label 1")).stderr;
    assert!(session.contains("1 of 1 done"), "{session}");
    assert_eq!(page(), whole);
    assert!(folder.join("out/sub-01_ses-1.html").exists());
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_one_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use crate::util::Ran;
    let folder = with_one();
    let foreign = OsStr::from_bytes(b"o\xff");
    let failed = |words: [&OsStr; 3]| {
        let mut command = folder.command("bids");
        let ran = Ran::of(&command.args(words).output().unwrap());
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("is no text that URIs and tables can hold"), "{}", ran.stderr);
    };
    failed(["in".as_ref(), foreign, "participant".as_ref()]);
    fs::rename(folder.join("in"), folder.path().join(foreign)).unwrap();
    failed([foreign, "out".as_ref(), "participant".as_ref()]);
    assert!(!folder.join("out").exists());
    fs::rename(folder.path().join(foreign), folder.join("in")).unwrap();
    // A tab would make two columns of a subject.
    fs::rename(folder.join("in/sub-01"), folder.join("in/sub-0\t1")).unwrap();
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("is no text that URIs and tables can hold"), "{said}");
}

#[test]
fn a_series_of_another_preprocessing_alone_is_named() {
    let folder = with_one();
    let dwi = folder.join("in/sub-01/dwi");
    for name in folder.names("in/sub-01/dwi") {
        fs::rename(dwi.join(&name), dwi.join(name.replace("preproc", "designer"))).unwrap();
    }
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("desc-designer") && said.contains("desc-preproc"), "{said}");
}

#[test]
fn two_subjects_stay_apart_where_one_is_refused() {
    let folder = with_data_set();
    folder.done(PARTICIPANT);
    fs::remove_dir_all(folder.join("out/sub-03")).unwrap();
    let said = folder.failed(&format!("{PARTICIPANT} --set dti.method=ols"));
    assert!(said.contains("3 of 4 failed") && said.contains("1 of 4 done"), "{said}");
}
