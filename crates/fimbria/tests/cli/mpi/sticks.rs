use std::fs;
use std::time::Duration;

use fimbria_image::{WriteOptions, write_image};

use super::{contents, mpirun};
use crate::util::Folder;

/// A short sampling of some 7500 voxels: two chunks, of which the second is not full.
const STICKS: &str = "sticks p/dwi.nii.gz --mask p/mask.nii.gz --fibres 1 --model 1 --burn-in 40 \
                      --jumps 60 --sample-every 10 --device cpu --threads 1 --force";

fn with_phantom() -> Folder {
    let folder = Folder::new();
    folder.done("phantom crossing --voxel 6 --size 25,30,23 --shells 1000:20 --b0s 2 -o p");
    folder
}

/// Every image of a folder, with its bytes.
fn images(folder: &Folder, name: &str) -> Vec<(String, Vec<u8>)> {
    contents(folder, name, |file| file.ends_with(".nii.gz"))
}

#[test]
fn processes_share_the_voxels_and_write_the_same_images() {
    let folder = with_phantom();
    folder.done(&format!("{STICKS} -o single"));
    let expected = images(&folder, "single");
    assert!(expected.iter().any(|(name, _)| name == "merged_th1samples.nii.gz"));
    let sampled = |name: &str| {
        folder.json(&format!("{name}/run.json"))["stages"][1]["counts"]["sampled"].clone()
    };
    assert!(sampled("single").as_u64() > Some(4096), "one chunk: {}", sampled("single"));
    for processes in [1, 2, 4] {
        let Some(ran) = mpirun(&folder, &[(processes, format!("{STICKS} -o several"))]) else {
            return;
        };
        assert_eq!(ran.code, Some(0), "{processes} processes: {}", ran.stderr);
        assert!(images(&folder, "several") == expected, "{processes} processes: other images");
        assert_eq!(sampled("several"), sampled("single"), "{processes} processes");
        assert!(!folder.join("several/.resume").exists());
        fs::remove_dir_all(folder.join("several")).unwrap();
    }
}

#[test]
fn processes_take_up_what_one_has_left() {
    let folder = with_phantom();
    folder.done(&format!("{STICKS} -o whole"));
    let line = format!("{STICKS} -o out");
    let mut child = folder.started(&line, "out/.resume/sticks/chunk-0", Duration::from_secs(60));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.join("out/run.json").exists(), "it was to end before its end");
    let Some(ran) = mpirun(&folder, &[(2, format!("{line} --resume"))]) else { return };
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(images(&folder, "out") == images(&folder, "whole"));
}

#[test]
fn a_process_that_fails_or_samples_something_else_ends_all_with_one_message() {
    let folder = Folder::with_subject();
    let mut other = folder.image("dwi.nii");
    other.data[1000] += 1.0;
    write_image(folder.join("other.nii"), &other, &WriteOptions::default()).unwrap();
    let good = "sticks dwi.nii --bval dwi.bval --bvec dwi.bvec --mask mask.nii --fibres 2 -o out";
    let missing = good.replace("mask.nii", "missing.nii");
    for (parts, words) in [
        (vec![(2, missing.clone())], "missing.nii"),
        (vec![(1, good.to_owned()), (1, missing)], "missing.nii"),
        // A series and a parameter that are not the first process's.
        (vec![(2, good.to_owned()), (1, good.replace("dwi.nii", "other.nii"))], "process 2 found"),
        (vec![(1, good.to_owned()), (1, format!("{good} --rng-seed 1"))], "process 1 found"),
    ] {
        let Some(ran) = mpirun(&folder, &parts) else { return };
        assert_ne!(ran.code, Some(0));
        assert_eq!(
            ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(),
            1,
            "not one error: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(!folder.join("out/run.json").exists());
    }
}
