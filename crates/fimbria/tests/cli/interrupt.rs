//! Ctrl-C.
#![cfg(unix)]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::util::{Folder, Ran};

/// Starts a phantom that takes some seconds on any machine.
fn long_work(folder: &Folder) -> Child {
    let line =
        "phantom crossing --size 120,120,100 --voxel 1.5 --shells 1000:60,2000:60 -o deep/out";
    let mut command = folder.command(line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let id = i32::try_from(child.id()).unwrap();
    // SAFETY: a signal to a child that has not been waited for yet.
    unsafe { libc::kill(id, libc::SIGINT) };
}

fn wait_until(what: &str, reached: impl Fn() -> bool) {
    let begun = Instant::now();
    while !reached() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn once_it_stops_the_work_and_leaves_nothing() {
    let folder = Folder::new();
    let child = long_work(&folder);
    wait_until("the output folder", || folder.join("deep/out").exists());
    // Time to be in the midst of the work.
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
    assert!(folder.names(".").is_empty(), "left: {:?}", folder.names("."));
}

#[test]
fn twice_it_leaves_at_once_and_still_leaves_nothing() {
    let folder = Folder::new();
    let child = long_work(&folder);
    wait_until("the output folder", || folder.join("deep/out").exists());
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(50));
    interrupt(&child);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(folder.names(".").is_empty(), "left: {:?}", folder.names("."));
}
