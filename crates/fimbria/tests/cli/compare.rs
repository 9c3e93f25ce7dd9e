//! `fimbria compare`.

use std::fs;

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::util::Folder;

/// Eight runs in two sets, the second 4 above the first; the last voxel of one run is no number.
fn with_runs() -> Folder {
    let folder = Folder::new();
    let grid = Grid { dims: [5, 4, 3], ras_from_vox: Affine::IDENTITY };
    for run in 0..8 {
        let mut image = Image::zeros(grid, 1);
        for (voxel, value) in image.data.iter_mut().enumerate() {
            let scatter = ((7 * voxel + 5 * run) % 11) as f32 - 5.0;
            *value = if run < 4 { -100.0 } else { -96.0 } + 0.1 * scatter;
        }
        if run == 2 {
            image.data[59] = f32::NAN;
        }
        write_image(folder.join(&format!("{run}.nii")), &image, &WriteOptions::default()).unwrap();
    }
    folder
}

#[test]
fn values_that_are_no_numbers_are_left_out_of_sums_and_said() {
    let folder = with_runs();
    let line = "compare 0.nii 1.nii 2.nii 3.nii --threshold -1e4 -o out -- 4.nii 5.nii 6.nii 7.nii";
    let ran = folder.done(line);
    assert!(ran.stderr.contains("1 value not finite in a map: left out"), "{}", ran.stderr);
    let record = folder.json("out/run.json");
    // 59 voxels of about -100 and -96: the scatter is 0.5 at most.
    for (sum, mean) in [("sum_A", -100.0), ("sum_B", -96.0)] {
        let found = record[sum].as_f64().unwrap() / 59.0;
        assert!((found - mean).abs() < 0.5, "{sum}: {found}");
    }
    // A threshold below zero takes maps of negative values, but for the one that is not known.
    assert_eq!(record["voxels"], 59);
}

#[test]
fn a_run_given_twice_is_warned_of() {
    let folder = with_runs();
    let ran = folder.done("compare 0.nii 1.nii -o out --threshold -1e4 -- 4.nii 1.nii");
    assert!(ran.stderr.contains("1.nii is given twice"), "{}", ran.stderr);
    let apart = folder.done("compare 0.nii 1.nii -o other --threshold -1e4 -- 4.nii 5.nii");
    assert!(!apart.stderr.contains("twice"), "{}", apart.stderr);
    assert!(fs::exists(folder.join("other/z.nii.gz")).unwrap());
}
