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
fn a_run_says_that_finished_stages_are_kept() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 40,48,40 -o head");
    let mut command =
        folder.command("run head/dwi.nii.gz --mask head/mask.nii.gz -o out --threads 1");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a finished stage", || folder.join("out/dti/run.json").exists());
    interrupt(&child);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted: --resume goes on from out\n"), "{}", ran.stderr);
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

/// A file is read and written in one go, which does not look up.
#[test]
fn once_is_enough_where_the_work_cannot_be_stopped_half_way() {
    let folder = Folder::new();
    // Forty gigabytes of zeros that take no place: more than half a minute of work.
    let dims = [400_u16, 400, 250, 250];
    let mut header = vec![0_u8; 352];
    header[0..4].copy_from_slice(&348_u32.to_le_bytes());
    for (k, number) in [4, dims[0], dims[1], dims[2], dims[3], 1, 1, 1].iter().enumerate() {
        header[40 + 2 * k..][..2].copy_from_slice(&number.to_le_bytes());
    }
    // Float32, one millimetre, an affine.
    (header[70], header[72]) = (16, 32);
    for k in 0..4 {
        header[76 + 4 * k..][..4].copy_from_slice(&1_f32.to_le_bytes());
    }
    header[108..112].copy_from_slice(&352_f32.to_le_bytes());
    header[254] = 1;
    for at in [280, 300, 320] {
        header[at..][..4].copy_from_slice(&1_f32.to_le_bytes());
    }
    header[344..347].copy_from_slice(b"n+1");
    let path = folder.join("zeros.nii");
    std::fs::write(&path, &header).unwrap();
    let bytes = 352 + 4 * dims.iter().map(|&n| u64::from(n)).product::<u64>();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();

    let mut command = folder.command("convert zeros.nii -o deep/out.nii.gz");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let asked = Instant::now();
    interrupt(&child);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    assert_eq!(folder.names("."), ["zeros.nii"]);
}
