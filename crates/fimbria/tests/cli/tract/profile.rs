//! `fimbria tract profile`.

use std::fs;

use fimbria_image::{Affine, Grid};
use fimbria_streamlines::{
    Column, Header, Streamlines, Tractogram, WriteOptions as LineOptions, arc_length_mm,
};

use super::voxels;
use crate::util::Folder;

/// Lines from x = 0 to 60 mm, parallel, some backwards, in a cross about y = 20, z = 30; ramp.nii, which is 0.01 x and
/// 0 beyond 50 mm a voxel on; weights 1 to 3.
pub(super) fn with_bundle() -> Folder {
    let folder = Folder::new();
    let mut lines = Streamlines::default();
    for i in 0..40 {
        let off = f32::from(i as u8 / 4) * 0.3 + 0.3;
        let (y, z) = [(off, 0.0), (-off, 0.0), (0.0, off), (0.0, -off)][i % 4];
        let mut line: Vec<[f32; 3]> =
            (0..=120).map(|k| [0.5 * k as f32, 20.0 + y, 30.0 + z]).collect();
        if i % 3 == 1 {
            line.reverse();
        }
        lines.push(&line);
    }
    let weights: Vec<f32> = (0..40).map(|i| 1.0 + (i % 3) as f32).collect();
    lines.add_per_streamline(Column::from_f32("weight", 1, &weights));
    let ras_from_vox = Affine([[-2., 0., 0., 70.], [0., 2., 0., 0.], [0., 0., 2., 0.]]);
    let grid = Grid { dims: [38, 25, 30], ras_from_vox };
    let tractogram = Tractogram::new(Header::on(grid), lines);
    tractogram.write(folder.join("bundle.trx"), &LineOptions::default()).unwrap();
    voxels(&folder, "ramp.nii", grid, |p| 0.01 * p[0] as f32);
    let slab = Grid { dims: [11, 25, 30], ..grid };
    voxels(&folder, "end.nii.gz", slab, |p| 1.0 + p[1] as f32);
    voxels(&folder, "start.nii", grid, |p| f32::from(u8::from(p[0] > 55.0)));
    folder
}

/// The columns of a profile by name.
fn column(folder: &Folder, name: &str, column: &str) -> Vec<f64> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|head| *head == column).unwrap();
    lines.map(|row| row[at].parse().unwrap_or(f64::NAN)).collect()
}

#[test]
fn a_ramp_along_a_straight_bundle_is_that_ramp() {
    let folder = with_bundle();
    folder.done("tract profile bundle.trx --map ramp.nii end.nii.gz -o p");
    let mean = column(&folder, "p/profile.tsv", "ramp_mean");
    assert_eq!(mean.len(), 100);
    for (k, mean) in mean.iter().enumerate() {
        let x = 60.0 * k as f64 / 99.0;
        // Values and coordinates are single precision.
        assert!((mean - 0.01 * x).abs() < 1e-6, "{k}: {mean}");
    }
    let sd = column(&folder, "p/profile.tsv", "ramp_sd");
    assert!(sd.iter().all(|sd| *sd < 1e-6));
    assert_eq!(column(&folder, "p/profile.tsv", "ramp_n"), vec![40.0; 100]);
    let core = ["y_mm", "z_mm"].map(|axis| column(&folder, "p/profile.tsv", axis));
    assert!(core[0].iter().all(|y| (y - 20.0).abs() < 1e-3));
    assert!(core[1].iter().all(|z| (z - 30.0).abs() < 1e-3));
    // The slab is 22 mm thick, from 49 mm on: before it there is no value.
    let n = column(&folder, "p/profile.tsv", "end_n");
    let first = n.iter().position(|n| *n > 0.0).unwrap();
    assert_eq!(first, (49.0 / 60.0 * 99.0f64).ceil() as usize);
    assert!(n[first..].iter().all(|n| *n == 40.0));
    let end = column(&folder, "p/profile.tsv", "end_mean");
    assert!(end[0].is_nan() && (end[99] - 21.0).abs() < 1e-4, "{}", end[99]);
}

#[test]
fn a_start_turns_the_profile_and_points_are_those_asked_for() {
    let folder = with_bundle();
    for (start, out) in [("70,20,30", "point"), ("start.nii", "mask"), ("start.nii:1", "label")] {
        folder.done(&format!(
            "tract profile bundle.trx --map ramp.nii --points 7 --start {start} -o {out}"
        ));
        let mean = column(&folder, &format!("{out}/profile.tsv"), "ramp_mean");
        for (k, mean) in mean.iter().enumerate() {
            assert!((mean - 0.1 * (6 - k) as f64).abs() < 1e-6, "{out}: {mean:?}");
        }
    }
}

#[test]
fn whole_weights_are_what_as_many_streamlines_are() {
    let folder = with_bundle();
    let bundle = Tractogram::read(folder.join("bundle.trx")).unwrap();
    let mut repeated = Streamlines::default();
    let mut weights = String::new();
    for (i, line) in bundle.streamlines.iter().enumerate() {
        (0..=i % 3).for_each(|_| repeated.push(line));
        weights += &format!("{}\n", 1 + i % 3);
    }
    assert!(repeated.iter().map(arc_length_mm).all(|length| length > 59.0));
    fs::write(folder.join("w.txt"), weights).unwrap();
    let repeated = Tractogram::new(bundle.header.clone(), repeated);
    repeated.write(folder.join("repeated.trx"), &LineOptions::default()).unwrap();
    let of = |line: &str, out: &str| {
        folder.done(&format!("tract profile {line} --map end.nii.gz -o {out}"));
        ["end_mean", "end_sd"].map(|name| column(&folder, &format!("{out}/profile.tsv"), name))
    };
    let listed = of("bundle.trx --weights w.txt", "listed");
    let own = of("bundle.trx --weights weight", "own");
    let repeated = of("repeated.trx", "repeated");
    let plain = of("bundle.trx", "plain");
    for k in 90..100 {
        for what in 0..2 {
            assert_eq!(listed[what][k], own[what][k]);
            // The same numbers added in another grouping.
            assert!((listed[what][k] - repeated[what][k]).abs() < 1e-6);
        }
        assert!((listed[1][k] - plain[1][k]).abs() > 1e-4, "weights count");
    }
}

#[test]
fn threads_do_not_change_a_profile_and_a_folder_of_it_has_a_page() {
    let folder = with_bundle();
    let line = "tract profile bundle.trx --map ramp.nii end.nii.gz";
    folder.done(&format!("{line} --threads 1 -o one"));
    folder.done(&format!("{line} --threads 2 -o two"));
    let of = |out: &str| fs::read(folder.join(&format!("{out}/profile.tsv"))).unwrap();
    assert!(of("one") == of("two"));
    folder.done("report one -o one.html");
    let page = fs::read_to_string(folder.join("one.html")).unwrap();
    for part in ["Along the bundle", "point along the bundle", "mean + 1 sd", ">ramp<", ">end<"] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
}

#[test]
fn what_cannot_be_measured_is_one_error() {
    let folder = with_bundle();
    Tractogram::default().write(folder.join("none.tck"), &LineOptions::default()).unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    fs::copy(folder.join("ramp.nii"), folder.join("sub/ramp.nii")).unwrap();
    fs::write(folder.join("zero.txt"), "0\n".repeat(40)).unwrap();
    for (line, said) in [
        ("none.tck --map ramp.nii", "none.tck: no streamline has points"),
        ("bundle.trx --map ramp.nii --weights zero.txt", "no streamline has points and a weight"),
        ("bundle.trx --map ramp.nii sub/ramp.nii", "two maps are named ramp"),
        ("bundle.trx --map bundle.trx", "bundle.trx"),
        ("bundle.trx --map ramp.nii --start start.nii:5", "start.nii:5 has no voxel inside"),
    ] {
        let error = folder.failed(&format!("tract profile {line} -o p"));
        assert!(error.contains(said), "{line}: {error}");
        assert!(!folder.join("p").exists(), "{line}");
    }
}
