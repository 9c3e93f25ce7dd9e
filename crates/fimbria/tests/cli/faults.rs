//! Bad files and bad luck: one clear error, no output, nothing that looks finished.

use std::fs;

use fimbria_image::WriteOptions;

use crate::util::{Folder, subject};

/// Runs the fit with `bytes` as the series and returns the error.
fn error_of_series(name: &str, bytes: &[u8]) -> String {
    let folder = Folder::with_subject();
    fs::write(folder.join(name), bytes).unwrap();
    let line =
        format!("fit dti {name} --bval dwi.bval --bvec dwi.bvec --bvec-frame scanner -o out");
    let error = folder.failed(&line);
    assert!(!folder.join("out").exists(), "an output was left");
    error
}

fn series_gz() -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.join("dwi.nii.gz");
    fimbria_image::write_image(&path, &subject().dwi, &WriteOptions::default()).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn a_truncated_gz_is_one_error() {
    let whole = series_gz();
    let error = error_of_series("cut.nii.gz", &whole[..whole.len() / 2]);
    assert!(error.contains("cut.nii.gz"), "{error}");
}

#[test]
fn a_damaged_gz_is_one_error() {
    let mut bytes = series_gz();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let error = error_of_series("bad.nii.gz", &bytes);
    assert!(error.contains("bad.nii.gz"), "{error}");
}

#[test]
fn garbage_is_no_image() {
    let error = error_of_series("noise.nii", &[7; 1000]);
    assert!(error.contains("neither a NIfTI nor an MRtrix image"), "{error}");
}

#[test]
fn an_empty_file_is_no_image() {
    error_of_series("empty.nii.gz", b"");
}

#[test]
fn a_missing_series_is_named() {
    let error = Folder::new().failed("fit dti nowhere.nii -o out");
    assert!(error.contains("nowhere.nii"), "{error}");
}

#[test]
fn a_missing_file_is_said_before_anything_else() {
    let folder = Folder::with_subject();
    let error = folder.failed("fit dti dwi.nii --bvec-frame scanner --grad-dev nowhere.nii -o out");
    assert!(error.contains("nowhere.nii") && !error.contains("no mask given"), "{error}");
}

#[test]
fn a_mask_without_voxels_is_an_error() {
    let folder = Folder::with_subject();
    let mut mask = folder.image("mask.nii");
    mask.data.fill(0.0);
    fimbria_image::write_image(folder.join("none.nii"), &mask, &WriteOptions::default()).unwrap();
    let error = folder.failed("fit dti dwi.nii --bvec-frame scanner --mask none.nii -o out");
    assert!(error.contains("no voxel above zero"), "{error}");
}

/// A limit on the size of files stands in for the full disk: writes fail in the same way. (MPI does
/// not start under it.)
#[cfg(all(target_os = "linux", not(feature = "mpi")))]
#[test]
fn a_full_disk_is_one_error_and_leaves_nothing() {
    use std::process::Command;

    use crate::util::{FIT, Ran};
    let folder = Folder::with_subject();
    let program = assert_cmd::cargo::cargo_bin!("fimbria");
    // Blocks of 512 bytes: the maps fit, the tensor does not.
    let line = format!("ulimit -f 2; exec {} {FIT} -o out --format nii", program.display());
    let output =
        Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    let ran = Ran::of(&output);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write") && ran.stderr.contains("full"), "{}", ran.stderr);
    assert!(!folder.join("out").exists(), "{:?}", folder.names("out"));
}

#[cfg(unix)]
#[test]
fn a_description_that_does_not_fit_leaves_no_folder() {
    use std::process::Command;

    use crate::util::Ran;
    let folder = Folder::new();
    let program = assert_cmd::cargo::cargo_bin!("fimbria");
    // Pages of commands are larger than 1 KB.
    let line = format!("ulimit -f 2; exec {} describe fit -o pages", program.display());
    let output =
        Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    let ran = Ran::of(&output);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("pages") && ran.stderr.contains("full"), "{}", ran.stderr);
    assert!(!folder.join("pages").exists(), "{:?}", folder.names("pages"));
}
