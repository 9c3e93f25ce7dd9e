//! `fimbria fit ... --follow`: maps while volumes arrive.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::util::{Folder, Ran};

/// A phantom of the paper's protocol, 305 volumes, uncompressed.
fn phantom() -> Folder {
    let folder = Folder::new();
    folder.done("phantom protocol --size 12,12,3 --voxel 5,5,4 --snr 300 --format nii -o p");
    folder
}

const MODEL: &str =
    "--mask p/mask.nii --bval p/dwi.bval --bvec p/dwi.bvec --bmax 8000 --device cpu";

fn start(folder: &Folder, line: &str) -> Child {
    let mut command = folder.command(line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Ran {
    Ran::of(&child.wait_with_output().unwrap())
}

/// Waits until the record of `out` counts so many volumes.
fn wait_for(folder: &Folder, volumes: usize) {
    let begun = Instant::now();
    let counted = format!("\"volumes\": {volumes}");
    loop {
        let record = fs::read_to_string(folder.join("out/run.json")).unwrap_or_default();
        if record.contains(&counted) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no maps of {volumes} volumes: {record}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The largest distance of MK from that of a fit of everything at once.
fn distance(folder: &Folder, model: &str) -> f32 {
    folder.done(&format!("fit {model} p/dwi.nii {MODEL} -o all"));
    let (found, all) = (folder.image("out/MK.nii.gz"), folder.image("all/MK.nii.gz"));
    found.data.iter().zip(&all.data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Both come to rest within their tolerance of the minimum, from other starts.
const TOLERANCE: f32 = 1e-3;

#[test]
fn a_growing_file_is_fitted_as_it_grows() {
    let folder = phantom();
    let whole = fs::read(folder.join("p/dwi.nii")).unwrap();
    let of_volume = (whole.len() - 352) / 305;
    let until = |volumes: usize| 352 + volumes * of_volume;
    let mut file = File::create(folder.join("growing.nii")).unwrap();
    let mut grow = |from: usize, to: usize| {
        file.write_all(&whole[from..to]).unwrap();
        file.flush().unwrap();
    };
    let following = start(&folder, &format!("fit dki1d growing.nii --follow {MODEL} -o out"));
    // Too few for the model; then with half a volume more than there are maps of.
    grow(0, until(60));
    grow(until(60), until(185) + of_volume / 2);
    wait_for(&folder, 185);
    assert!(folder.join("out/MK.nii.gz").exists());
    grow(until(185) + of_volume / 2, until(305));
    let done = end(following);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("305 of 305 volumes: maps "), "{}", done.stderr);
    let distance = distance(&folder, "dki1d");
    assert!(distance < TOLERANCE, "{distance}");
}

#[test]
fn tensors_of_a_growing_file_are_those_of_all_volumes_at_once() {
    let folder = phantom();
    let whole = fs::read(folder.join("p/dwi.nii")).unwrap();
    let (early, late) = whole.split_at(352 + (whole.len() - 352) / 305 * 200);
    let mut file = File::create(folder.join("growing.nii")).unwrap();
    file.write_all(early).unwrap();
    let following = start(&folder, &format!("fit dki growing.nii --follow {MODEL} -o out"));
    wait_for(&folder, 200);
    file.write_all(late).unwrap();
    let done = end(following);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    // Least squares of logarithms do not depend on where they start.
    assert_eq!(distance(&folder, "dki"), 0.0);
}

#[test]
fn a_folder_is_fitted_as_volumes_come() {
    let folder = phantom();
    let whole = fs::read(folder.join("p/dwi.nii")).unwrap();
    let of_volume = (whole.len() - 352) / 305;
    let mut header = whole[..352].to_vec();
    // dim: 3 dimensions, one volume.
    header[40..42].copy_from_slice(&3_i16.to_le_bytes());
    header[48..50].copy_from_slice(&1_i16.to_le_bytes());
    fs::create_dir(folder.join("incoming")).unwrap();
    let put = |volume: usize| {
        let data = &whole[352 + volume * of_volume..][..of_volume];
        let (part, file) = (folder.join("part"), folder.join(&format!("incoming/v{volume}.nii")));
        fs::write(&part, [&header[..], data].concat()).unwrap();
        fs::rename(&part, &file).unwrap();
    };
    (0..185).for_each(put);
    let following = start(&folder, &format!("fit dki1d incoming --follow {MODEL} -o out"));
    wait_for(&folder, 185);
    (185..305).for_each(put);
    let done = end(following);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let distance = distance(&folder, "dki1d");
    assert!(distance < TOLERANCE, "{distance}");
}

#[test]
fn without_a_mask_the_one_that_was_made_is_written_with_its_mean() {
    let folder = Folder::with_subject();
    folder.done("fit dti dwi.nii --bvec-frame scanner --format nii -o whole");
    folder.done("fit dti dwi.nii --bvec-frame scanner --format nii --follow -o out");
    for name in ["mask.nii", "mean_b0.nii"] {
        let [found, whole] = ["out", "whole"].map(|out| fs::read(folder.join(out).join(name)));
        assert!(found.unwrap() == whole.unwrap(), "{name}");
    }
}

#[test]
fn more_volumes_than_the_table_has_are_refused() {
    let folder = phantom();
    let bvals = fs::read_to_string(folder.join("p/dwi.bval")).unwrap();
    let fewer = |text: &str| -> String {
        let line = |line: &str| line.split_whitespace().take(304).collect::<Vec<_>>().join(" ");
        text.lines().map(|l| line(l) + "\n").collect()
    };
    fs::write(folder.join("p/dwi.bval"), fewer(&bvals)).unwrap();
    let bvecs = fs::read_to_string(folder.join("p/dwi.bvec")).unwrap();
    fs::write(folder.join("p/dwi.bvec"), fewer(&bvecs)).unwrap();
    let error = folder.failed(&format!("fit dki1d p/dwi.nii --follow {MODEL} -o out"));
    assert!(error.contains("305 volumes") && error.contains("304"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn ctrl_c_ends_it_with_the_maps_so_far() {
    let folder = phantom();
    let whole = fs::read(folder.join("p/dwi.nii")).unwrap();
    let of_volume = (whole.len() - 352) / 305;
    fs::write(folder.join("part.nii"), &whole[..352 + 200 * of_volume]).unwrap();
    let following = start(&folder, &format!("fit dki1d part.nii --follow {MODEL} -o out"));
    wait_for(&folder, 200);
    // SAFETY: a signal to a child that has not been waited for yet.
    unsafe { libc::kill(i32::try_from(following.id()).unwrap(), libc::SIGINT) };
    let done = end(following);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(folder.join("out/MK.nii.gz").exists() && folder.join("out/run.json").exists());
}

#[test]
fn a_table_that_never_supports_the_model_is_refused_at_the_first_volumes() {
    let folder = phantom();
    let whole = fs::read(folder.join("p/dwi.nii")).unwrap();
    let some = 352 + (whole.len() - 352) / 305 * 20;
    fs::write(folder.join("some.nii"), &whole[..some]).unwrap();
    let files = "--mask p/mask.nii --bval p/dwi.bval --bvec p/dwi.bvec --device cpu";
    for model in ["dki --bmax 120", "dki1d --bmax 120", "stremi --bmax 120", "mono --bmax 20"] {
        let error = folder.failed(&format!("fit {model} some.nii --follow {files} -o out"));
        assert!(error.contains("needs"), "{error}");
        assert!(!folder.join("out").exists());
    }
}
