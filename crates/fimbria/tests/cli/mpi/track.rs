use std::fs;

use fimbria_image::{WriteOptions, write_image};

use super::{contents, mpirun};
use crate::track::{voxels, with_densities, with_samples};
use crate::util::Folder;

/// Several rounds of blocks of samples, from two regions, with everything that is counted.
const TRACK: &str = "track bpx --seeds seed.nii.gz --seeds far.nii.gz --network \
                     --target beside.nii.gz --target far.nii.gz -n 20000 --step 1 --jitter 3 \
                     --tracks tck --threads 1 --force";

/// Every file but the record, with its bytes.
fn files(folder: &Folder, name: &str) -> Vec<(String, Vec<u8>)> {
    contents(folder, name, |file| file != "run.json")
}

/// One process and several make the same files of each of these lines.
fn same_of_several(folder: &Folder, lines: &[String], file: &str) {
    let counts =
        |name: &str| folder.json(&format!("{name}/run.json"))["stages"][1]["counts"].clone();
    for line in lines {
        folder.done(&format!("{line} -o single"));
        let expected = files(folder, "single");
        assert!(expected.iter().any(|(name, _)| name == file), "{line}");
        assert!(counts("single")["kept"].as_u64() > Some(1000), "{}", counts("single"));
        for processes in [1, 2, 4] {
            let Some(ran) = mpirun(folder, &[(processes, format!("{line} -o several"))]) else {
                return;
            };
            assert_eq!(ran.code, Some(0), "`{line}`, {processes} processes: {}", ran.stderr);
            let same = files(folder, "several") == expected;
            assert!(same, "`{line}`, {processes} processes: other files");
            assert_eq!(counts("several"), counts("single"), "`{line}`, {processes} processes");
            fs::remove_dir_all(folder.join("several")).unwrap();
        }
        fs::remove_dir_all(folder.join("single")).unwrap();
    }
}

#[test]
fn processes_share_the_samples_and_write_the_same_bytes() {
    let lines = ["tck", "trx", "none"].map(|tracks| TRACK.replace("tck", tracks));
    same_of_several(&with_samples(), &lines, "matrix_network.tsv");
}

#[test]
fn seeds_that_follow_the_misfit_are_those_of_one_process() {
    let line = "track hot.nii.gz --hot --seeds all.nii.gz --seeds-by dynamic --select 1500 \
                --min-length 4 --tracks tck --threads 1 --force";
    same_of_several(&with_densities(), &[line.to_owned()], "tracks.tck");
}

#[test]
fn a_process_that_fails_ends_all_with_one_message() {
    let folder = with_samples();
    let other = voxels(&[[3, 2, 2], [4, 2, 2]]);
    write_image(folder.join("other.nii.gz"), &other, &WriteOptions::default()).unwrap();
    let good = format!("{TRACK} -o out");
    let missing = good.replace("beside.nii.gz", "missing.nii.gz");
    let other = good.replace("seed.nii.gz", "other.nii.gz");
    for (parts, words) in [
        (vec![(2, missing.clone())], "missing.nii.gz"),
        (vec![(1, good.clone()), (1, missing)], "missing.nii.gz"),
        // Files and options that are not the first process's.
        (vec![(2, good.clone()), (1, other)], "process 2 found other inputs"),
        (vec![(1, good.clone()), (1, good.replace("tck", "none"))], "process 1 found other inputs"),
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
        assert!(!folder.join("out/tracks.tck").exists());
    }
}

#[test]
fn a_command_that_is_not_shared_is_refused_in_one_sentence() {
    let folder = with_samples();
    for line in ["run dwi.nii -o out", "peaks hot.nii -o out"] {
        let Some(ran) = mpirun(&folder, &[(2, line.to_owned())]) else { return };
        assert_ne!(ran.code, Some(0));
        let said = ran.stderr.matches("2 processes cannot share this work").count();
        assert_eq!(said, 1, "`{line}`: {}", ran.stderr);
        assert!(!folder.join("out").exists());
    }
}
