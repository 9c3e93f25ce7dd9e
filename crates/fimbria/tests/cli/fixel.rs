//! `fimbria fixel`.

use std::fs;
use std::process::{Command, Stdio};

use fimbria_image::fixels::Fixels;
use fimbria_image::odx::Odx;
use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::Tractogram;
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
    fs::remove_file(folder.join("fixels/index.mif")).unwrap();
    let error = folder.failed("fixel fixels --tractogram a.trx -o out");
    assert!(error.contains("has no index"), "{error}");
    let error = folder.failed("fixel fod.nii --sh-basis mrtrix --least-peak 100 -o out");
    assert!(error.contains("no density has a lobe above 100"), "{error}");
}

/// Each voxel's fixels by direction, and the value of each, whatever their numbers.
fn by_voxel(fixels: &Fixels, values: &[f32]) -> Vec<Vec<([f32; 3], f32)>> {
    let of_voxel = |[first, count]: &[u32; 2]| {
        let own = (*first..first + count).map(|fixel| fixel as usize);
        own.map(|fixel| (fixels.dirs_ras[fixel], values[fixel])).collect()
    };
    fixels.of_voxel.iter().map(of_voxel).collect()
}

#[test]
fn an_odx_has_the_fixels_of_the_folder_and_the_densities() {
    let folder = with_crossings();
    folder.done("fixel fod.nii --sh-basis mrtrix --format nii -o images");
    folder.done("fixel fod.nii --sh-basis mrtrix --format odx -o one");
    assert_eq!(folder.names("one"), ["fixels.odx", "run.json"]);
    let (fixels, values) = read(&folder, "images", &["peak"]);
    let odx = Odx::read(&folder.join("one/fixels.odx")).unwrap();
    let names: Vec<_> = odx.per_fixel.iter().map(|column| &*column.kind.name).collect();
    assert_eq!(names, ["afd", "amplitude", "disp"]);
    let peaks: Vec<f32> = odx.per_fixel[1].values().map(|value| value as f32).collect();
    assert_eq!(by_voxel(&odx.fixels().unwrap(), &peaks), by_voxel(&fixels, &values[0]));
    // Taken apart again it is what the image is.
    folder.done("fixel one/fixels.odx --format nii -o again");
    assert_eq!(read(&folder, "again", &["peak"]), (fixels, values));
    // So are its peaks, and what runs through it.
    folder.done("peaks fod.nii --sh-basis mrtrix --format nii -o peaks");
    folder.done("peaks one/fixels.odx --format nii -o peaks_of_odx");
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("peaks/peaks.nii") == bytes("peaks_of_odx/peaks.nii"));
    let track = "--seeds labels.nii -n 3 --tracks tck";
    folder.done(&format!("track fod.nii --sh-basis mrtrix {track} -o lines"));
    folder.done(&format!("track one/fixels.odx {track} -o lines_of_odx"));
    let lines = |name: &str| Tractogram::read(folder.join(name)).unwrap().streamlines;
    assert_eq!(lines("lines/tracks.tck"), lines("lines_of_odx/tracks.tck"));
}

#[test]
fn harmonics_of_dipy_become_those_of_mrtrix_in_an_odx() {
    let folder = with_crossings();
    folder.done("fixel fod.nii --sh-basis dipy --frame scanner --format odx -o one");
    let odx = Odx::read(&folder.join("one/fixels.odx")).unwrap();
    let harmonics = odx.harmonics.unwrap();
    let fod = fimbria_image::read_image(folder.join("fod.nii")).unwrap();
    for (row, voxel) in harmonics.rows.chunks(harmonics.width).zip(&odx.voxels) {
        for (c, (place, sign)) in ShBasis::Dipy.in_mrtrix(8).into_iter().enumerate() {
            assert_eq!(row[place], fod.volume(c)[*voxel as usize] * sign as f32);
        }
    }
    // In axes of the voxels, which are turned here, they stay where they are.
    let ran = folder.done("fixel fod.nii --sh-basis dipy --format odx -o turned");
    assert!(ran.stderr.contains("densities in voxel axes"), "{}", ran.stderr);
    assert_eq!(Odx::read(&folder.join("turned/fixels.odx")).unwrap().harmonics, None);
}

#[test]
fn an_odx_of_fixels_goes_into_a_folder_and_streamlines_are_counted_along_it() {
    let folder = with_crossings();
    folder.done("fixel fod.nii --sh-basis mrtrix --tractogram a.trx --format nii -o images");
    let (fixels, values) = read(&folder, "images", &["tdi", "peak"]);
    let columns = [("amplitude", &*values[1]), ("qa", &*values[1])];
    Odx::from_fixels(&fixels, &columns).write(&folder.join("theirs.odx")).unwrap();
    folder.done("fixel theirs.odx --tractogram a.trx --format nii -o counted");
    let (given, counted) = read(&folder, "counted", &["tdi", "peak", "qa"]);
    assert_eq!(by_voxel(&given, &counted[0]), by_voxel(&fixels, &values[0]));
    assert_eq!(by_voxel(&given, &counted[2]), by_voxel(&fixels, &values[1]));
    assert_eq!(counted[1], counted[2]);
    folder.done("fixel images --format odx -o one");
    assert_eq!(Odx::read(&folder.join("one/fixels.odx")).unwrap().fixels().unwrap(), given);
    let error = folder.failed("peaks theirs.odx -o peaks");
    assert!(error.contains("has no densities"), "{error}");
}

#[test]
fn an_odx_whose_basis_is_not_the_one_asked_for_is_refused() {
    let folder = with_crossings();
    folder.done("fixel fod.nii --sh-basis mrtrix --format odx -o one");
    let error = folder.failed("peaks one/fixels.odx --sh-basis dipy -o peaks");
    assert!(error.contains("tournier07, not of dipy"), "{error}");
    // Of DIPY's two none is said.
    let mut odx = Odx::read(&folder.join("one/fixels.odx")).unwrap();
    let harmonics = odx.harmonics.as_mut().unwrap();
    (harmonics.basis, harmonics.legacy) = ("descoteaux07".to_owned(), None);
    odx.write(&folder.join("which.odx")).unwrap();
    let error = folder.failed("peaks which.odx -o peaks");
    assert!(error.contains("dipy or dipy-legacy"), "{error}");
    folder.done("peaks which.odx --sh-basis dipy-legacy -o peaks");
    for option in ["--hot", "--peaks"] {
        let ran = folder.run(&format!("track which.odx {option} --seeds labels.nii -o lines"));
        assert!(ran.stderr.contains("has no use"), "{option}: {}", ran.stderr);
    }
}
