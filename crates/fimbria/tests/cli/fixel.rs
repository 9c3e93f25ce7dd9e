//! `fimbria fixel`.

use std::process::{Command, Stdio};

use fimbria_image::fixels::Fixels;
use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_tensors::sh::{ShBasis, evaluate, sh_count};

use crate::tractogram::with_tractogram;
use crate::util::{Folder, grid};

/// Runs a program of MRtrix3 in the folder; false, said aloud, where it is missing.
fn mrtrix(folder: &Folder, line: &str) -> bool {
    let mut words = line.split(' ');
    let mut program = Command::new(words.next().unwrap());
    program.args(words).arg("-quiet").current_dir(folder.path()).stderr(Stdio::null());
    let Ok(status) = program.status() else {
        fimbria_testing::missing("fod2fixel and tck2fixel (MRtrix3)");
        return false;
    };
    assert!(status.success(), "{line}");
    true
}

/// A tractogram along the first axis of the grid, with fod.nii: two fibres in each voxel, in the plane of
/// the grid's first two axes, at an angle and in proportions that differ from voxel to voxel.
fn with_crossings() -> Folder {
    let folder = with_tractogram();
    let mut fod = Image::zeros(grid(), sh_count(8));
    for voxel in 0..grid().len() {
        let part = 0.35 + 0.3 * (voxel as f64 * 0.618).fract();
        // The first axis of the grid is at 30°.
        let first = (30.0 + 8.0 * (voxel as f64 * 0.755).fract()).to_radians();
        for (amount, angle) in [(part, first), (1.0 - part, first + 1.4)] {
            // Rounded as densities are: a delta cut at degree 8 has rings.
            let values = evaluate(ShBasis::Mrtrix, 8, [angle.cos(), angle.sin(), 0.0]);
            for (c, value) in values.iter().enumerate() {
                let degree = (0..=8).step_by(2).find(|l| c < sh_count(*l)).unwrap() as f64;
                let smooth = (-degree * (degree + 1.0) / 40.0).exp();
                fod.volume_mut(c)[voxel] += (amount * value * smooth) as f32;
            }
        }
    }
    write_image(folder.join("fod.nii"), &fod, &WriteOptions::default()).unwrap();
    folder
}

/// Fixels of a folder with the values of these names, all in .nii.
fn read(folder: &Folder, name: &str, values: &[&str]) -> (Fixels, Vec<Vec<f32>>) {
    let fixels = Fixels::read(&folder.join(name)).unwrap();
    let path = |value: &str| folder.join(&format!("{name}/{value}.nii"));
    let values = values.iter().map(|value| fixels.read_values(&path(value)).unwrap()).collect();
    (fixels, values)
}

#[test]
fn lobes_are_those_of_fod2fixel() {
    let folder = with_crossings();
    if !mrtrix(
        &folder,
        "fod2fixel fod.nii theirs -nii -afd afd.nii -peak_amp peak.nii -disp disp.nii",
    ) {
        return;
    }
    folder.done("fixel fod.nii --sh-basis mrtrix --format nii -o ours");
    let names = ["afd", "peak", "disp"];
    let (ours, values) = read(&folder, "ours", &names);
    let (theirs, their_values) = read(&folder, "theirs", &names);
    assert_eq!(ours.len(), theirs.len());
    for voxel in 0..grid().len() as u32 {
        let [first, count] = ours.of_voxel[voxel as usize];
        assert_eq!(count, theirs.of_voxel[voxel as usize][1], "{voxel}");
        for fixel in first..first + count {
            let dir = ours.dirs_ras[fixel as usize].map(f64::from);
            // Lobes end between directions, 5° apart here.
            let same = theirs.along(voxel, dir, 3.0_f64.to_radians().cos()).expect("a fixel");
            for (k, tolerance) in [(0, 0.05), (1, 1e-3), (2, 0.05)] {
                let [a, b] = [values[k][fixel as usize], their_values[k][same as usize]];
                assert!((a - b).abs() < tolerance * b, "{voxel} {}: {a} {b}", names[k]);
            }
        }
    }
}

#[test]
fn streamlines_are_counted_as_tck2fixel_counts_them_along_fixels_of_either() {
    let folder = with_crossings();
    folder.done("convert a.trx -o a.tck");
    folder.done("fixel fod.nii --sh-basis mrtrix --tractogram a.trx --format nii -o ours");
    let (ours, values) = read(&folder, "ours", &["tdi"]);
    let along = ours.along(0, grid().ras_from_vox.rotation().map(|row| row[0]), 0.0).unwrap();
    assert_eq!(values[0][along as usize], 3.0);
    // Two whole ones, and the third where it goes: where it turns back it has no direction.
    let passed: f32 = values[0].iter().sum();
    assert_eq!(passed, 4.0 + 4.0 + 1.0);
    // Their fixels, counted by us.
    if mrtrix(&folder, "tck2fixel a.tck ours theirs tdi.nii") {
        folder.done("fixel theirs --tractogram a.tck --format nii -o again");
        let [theirs, again] = ["theirs", "again"].map(|name| read(&folder, name, &["tdi"]));
        assert_eq!(theirs.0, again.0);
        // Where the third turns back within a voxel it has a direction in tck2fixel.
        let apart = theirs.1[0].iter().zip(&again.1[0]).map(|(a, b)| a - b);
        let apart: Vec<f32> = apart.filter(|apart| *apart != 0.0).collect();
        assert_eq!(apart, [1.0]);
    }
}

#[test]
fn of_a_folder_of_fixels_only_streamlines_are_counted() {
    let folder = with_crossings();
    folder.done("fixel fod.nii --sh-basis mrtrix -o fixels");
    let ran = folder.run("fixel fixels -o out");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("--tractogram"), "{}", ran.stderr);
    std::fs::remove_file(folder.join("fixels/index.mif")).unwrap();
    let error = folder.failed("fixel fixels --tractogram a.trx -o out");
    assert!(error.contains("has no index"), "{error}");
    let error = folder.failed("fixel fod.nii --sh-basis mrtrix --least-peak 100 -o out");
    assert!(error.contains("no density has a lobe above 100"), "{error}");
}
