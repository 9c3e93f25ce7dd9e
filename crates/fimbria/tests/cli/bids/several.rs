//! Several processes at work on one folder.
#![cfg(unix)]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{PARTICIPANT, SERIES, data_set, with_data_set};
use crate::util::{Folder, Ran};

fn start(folder: &Folder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The digest of `out`, after nothing more was to be done.
fn digest(folder: &Folder, out: &str) -> String {
    let ran = folder.done(&format!("bids in {out} participant --device cpu --digest"));
    assert!(ran.stderr.contains("0 of"), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn two_processes_share_the_sessions() {
    let folder = with_data_set();
    let both = [(); 2].map(|()| start(&folder, PARTICIPANT));
    let said = both.map(|child| Ran::of(&child.wait_with_output().unwrap()));
    for ran in &said {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    folder.done("bids in alone participant --device cpu");
    assert_eq!(digest(&folder, "out"), digest(&folder, "alone"));
    assert_eq!(folder.names("out/.fimbria/claims"), [""; 0]);
}

/// How many threads had the run of each session.
fn threads(folder: &Folder, out: &str) -> Vec<u64> {
    let of = |(at, _): &(&str, &str)| {
        folder.json(&format!("{out}/{at}/run.json"))["machine"]["threads"].as_u64().unwrap()
    };
    SERIES.iter().map(of).collect()
}

#[test]
fn sessions_beside_each_other_are_those_that_are_made_one_by_one() {
    let folder = with_data_set();
    folder.done("bids in alone participant --device cpu --nprocs 4");
    assert_eq!(threads(&folder, "alone"), [4; 4], "without a limit one has all");
    let said = folder.done("bids in out participant --device cpu --nprocs 4 --mem 4G").stderr;
    assert_eq!(threads(&folder, "out"), [1; 4], "{said}");
    assert!(said.contains("with 1 thread and 1.0 GiB") && said.contains("4 of 4 done"), "{said}");
    assert_eq!(digest(&folder, "out"), digest(&folder, "alone"));
    assert_eq!(folder.names("out/.fimbria/claims"), [""; 0]);
    assert_eq!(folder.names("out/.fimbria/work"), [""; 0]);
    // Memory for one alone.
    folder.done("bids in one participant --device cpu --nprocs 4 --mem 128M");
    assert_eq!(threads(&folder, "one"), [4; 4]);
}

#[test]
fn one_of_several_at_once_that_fails_is_named_and_the_others_are_made() {
    let folder = with_data_set();
    let broken = "in/sub-02/ses-1/dwi/sub-02_ses-1_space-ACPC_desc-preproc_dwi.nii.gz";
    let bytes = std::fs::read(folder.join(broken)).unwrap();
    std::fs::write(folder.join(broken), &bytes[..bytes.len() / 2]).unwrap();
    let said = folder.failed("bids in out participant --device cpu --nprocs 4 --mem 4G");
    assert!(said.contains("1 of 4 failed:\n  sub-02_ses-1: "), "{said}");
    assert!(said.contains("3 of 4 done"), "{said}");
}

#[test]
fn a_run_has_enough_with_the_memory_that_it_is_said_to_need() {
    let folder = Folder::new();
    let shells = "--shells 1000:30,2000:30 --b0s 3";
    folder.done(&format!("phantom crossing --size 24,24,14 --voxel 6 {shells} -o p"));
    for preset in ["maps", "fibres", "connectome"] {
        let settings = [format!("run.preset={preset}"), "track.select=1000".to_owned()];
        let mut config = fimbria_pipeline::RunConfig::default();
        config.input.dwi = folder.join("p/dwi.nii.gz");
        let needed = config.with_settings(&settings).unwrap().memory_needed().unwrap().unwrap();
        let [preset, select] = settings;
        let run = format!("run p/dwi.nii.gz --mask p/mask.nii.gz --set {preset} --set {select}");
        folder.done(&format!("{run} --device cpu --mem {} -o {preset}", needed.0));
    }
    let needed = |settings: &[&str]| {
        let mut config = fimbria_pipeline::RunConfig::default();
        config.input.dwi = folder.join("p/dwi.nii.gz");
        let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        config.with_settings(&settings).unwrap().memory_needed().unwrap()
    };
    assert_eq!(needed(&["run.preset=everything"]), None);
    // Harmonics of order 8 are 45, of order 4 15; their maps are held as made and as written.
    let of_order = |order: &str| needed(&["run.preset=fibres", order]).unwrap().0;
    let more = of_order("fod.order=8") - of_order("fod.order=4");
    assert!(more >= 2 * (45 - 15) * 4 * 24 * 24 * 14, "{more}");
}

/// A count of the environment, which the soak sets to more.
fn count(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// `FIMBRIA_SUBJECTS` (12) worked on by `FIMBRIA_TASKS` (3) processes at a time, one of which is killed
/// again and again.
#[test]
fn tasks_killed_at_random_end_with_every_session_once_and_complete() {
    let (subjects, at_once) = (count("FIMBRIA_SUBJECTS", 12), count("FIMBRIA_TASKS", 3));
    let folder = Folder::new();
    let digits = subjects.to_string().len().max(2);
    let names: Vec<String> = (1..=subjects).map(|n| format!("sub-{n:0digits$}")).collect();
    let series: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &**name)).collect();
    data_set(&folder, &series);
    let began = Instant::now();
    folder.done("bids in alone participant --device cpu");
    // On any machine the tasks are killed many times before all sessions are made.
    let most_ms = (began.elapsed().as_millis() as u64 / 12).max(20);
    // Moments that are spread, and the same each time.
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let is_made = |name: &String| folder.join(&format!("out/{name}/run.json")).exists();
    let mut tasks: Vec<Child> = Vec::new();
    let mut kills = 0;
    let began = Instant::now();
    while kills < 36.max(subjects / 2) && !names.iter().all(is_made) {
        tasks.retain_mut(|task| task.try_wait().unwrap().is_none());
        while tasks.len() < at_once {
            let mut task = folder.command(PARTICIPANT);
            tasks.push(task.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        }
        std::thread::sleep(Duration::from_millis(random() % most_ms));
        let chosen = random() as usize % tasks.len();
        let mut task = tasks.swap_remove(chosen);
        if task.try_wait().unwrap().is_none() {
            task.kill().unwrap();
            kills += 1;
        }
        task.wait().unwrap();
    }
    let made = names.iter().filter(|name| is_made(name)).count();
    for mut task in tasks {
        let _ = task.kill();
        task.wait().unwrap();
    }
    let seconds = began.elapsed().as_secs();
    assert!(kills > at_once, "{kills} killed, {made} of {subjects} made in {seconds} s");
    let said = folder.done(PARTICIPANT).stderr;
    assert!(said.contains(&format!("of {subjects} done")), "{said}");
    assert_eq!(digest(&folder, "out"), digest(&folder, "alone"));
    for name in names {
        let record =
            fimbria_pipeline::RunRecord::read(&folder.join(&format!("out/{name}/run.json")));
        assert!(record.unwrap().is_complete_in(&folder.join(&format!("out/{name}"))), "{name}");
        let files = folder.names(&format!("out/{name}"));
        assert_eq!(files, ["dwi", "run.json"], "{name} has what is unfinished");
    }
    assert_eq!(folder.names("out/.fimbria/work"), [""; 0]);
    let hidden: Vec<_> =
        folder.names("out").into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, [".bidsignore", ".fimbria"]);
}

#[test]
fn a_session_in_work_elsewhere_is_left_alone() {
    let folder = with_data_set();
    let claims = folder.join("out/.fimbria/claims");
    std::fs::create_dir_all(&claims).unwrap();
    let claim = std::fs::File::create(claims.join("sub-02_ses-1")).unwrap();
    claim.lock().unwrap();
    let said = folder.done(PARTICIPANT).stderr;
    assert!(said.contains("3 of 4 done, at work in other processes: sub-02_ses-1"), "{said}");
    drop(claim);
    let said = folder.done(PARTICIPANT).stderr;
    assert!(said.contains("1 of 4 done, 3 kept from before"), "{said}");
    assert_eq!(SERIES.len(), 4);
}
