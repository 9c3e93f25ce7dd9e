//! `fimbria info`.

use std::f64::consts::FRAC_1_SQRT_2;
use std::fs;

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::util::{Folder, subject};

#[test]
fn image_and_shells_are_shown() {
    let folder = Folder::with_subject();
    let text = folder.done("info dwi.nii --bvec-frame scanner").stdout;
    for part in ["7 x 6 x 5 x 22", "2.0000 x 2.0000 x 3.0000 mm", "b=1000 (20 volumes)"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with_subject();
    let mut child = folder
        .command("info --table dwi.nii --bvec-frame scanner")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// Rings of fibres about an axis that is none of the image's: turned.nii with turned.bval and, as FSL
/// has them, turned.bvec.
pub(crate) fn with_rings() -> Folder {
    let folder = Folder::new();
    let subject = subject();
    let table: Vec<[f64; 3]> = subject
        .bvecs
        .lines()
        .map(|line| {
            let numbers: Vec<f64> = line.split(' ').map(|x| x.parse().unwrap()).collect();
            numbers.try_into().unwrap()
        })
        .collect();
    let about = [0.5, 0.5, FRAC_1_SQRT_2];
    // det < 0, so that FSL's axes are those of the voxels.
    let ras_from_vox = Affine([[-2., 0., 0., 24.], [0., 2., 0., -24.], [0., 0., 2., -24.]]);
    let grid = Grid { dims: [25; 3], ras_from_vox };
    let mut dwi = Image::zeros(grid, table.len());
    for voxel in 0..grid.len() {
        let at = grid.voxel(voxel).map(|x| 2.0 * (x as f64 - 12.0));
        let height: f64 = (0..3).map(|a| at[a] * about[a]).sum();
        let out = [0, 1, 2].map(|a| at[a] - height * about[a]);
        let radius = out.iter().map(|x| x * x).sum::<f64>().sqrt();
        let is_ring = (7.0..20.0).contains(&radius) && height.abs() < 8.0;
        let along = [0, 1, 2].map(|a| {
            let (b, c) = ((a + 1) % 3, (a + 2) % 3);
            (about[b] * out[c] - about[c] * out[b]) / radius
        });
        for (volume, g) in table.iter().enumerate() {
            let cos = if is_ring { (0..3).map(|a| along[a] * g[a]).sum::<f64>() } else { 0.6 };
            let b = if volume < 2 { 0.0 } else { 1000.0 };
            let signal = 1000.0 * (-b * (0.3e-3 + 1.4e-3 * cos * cos)).exp();
            dwi.volume_mut(volume)[voxel] = signal as f32;
        }
    }
    write_image(folder.join("turned.nii"), &dwi, &WriteOptions::default()).unwrap();
    write_image(folder.join("mask.nii"), &even(grid), &WriteOptions::default()).unwrap();
    fs::write(folder.join("turned.bval"), &subject.bvals).unwrap();
    let row = |v: &[f64; 3]| format!("{} {} {}\n", v[0], v[1], v[2]);
    fs::write(folder.join("turned.bvec"), table.iter().map(row).collect::<String>()).unwrap();
    let row = |v: &[f64; 3]| format!("{} {} {}\n", v[1], v[0], -v[2]);
    fs::write(folder.join("wrong.bvec"), table.iter().map(row).collect::<String>()).unwrap();
    folder
}

fn even(grid: Grid) -> Image {
    let mut mask = Image::zeros(grid, 1);
    mask.data.fill(1.0);
    mask
}

#[test]
fn a_table_with_axes_swapped_or_flipped_is_found() {
    let folder = with_rings();
    let checked = |more: &str| {
        folder.done(&format!("info --check-gradients turned.nii -m mask.nii {more}")).stdout
    };
    let right = checked("");
    assert!(right.contains("with the table as it is") && right.contains("at most"), "{right}");
    let wrong = checked("--bvec wrong.bvec --bval turned.bval");
    assert!(wrong.contains("mm with x and y swapped, z flipped (in the bvecs)"), "{wrong}");
    // A run says so before it is sent to a colleague.
    let run = "run turned.nii --mask mask.nii --set run.fits=[\"dti\"]";
    let ran = folder.done(&format!("{run} -o right"));
    assert!(!ran.stderr.contains("looks wrong"), "{}", ran.stderr);
    let ran = folder.done(&format!("{run} --bvec wrong.bvec --bval turned.bval -o wrong"));
    assert!(ran.stderr.contains("the gradient table looks wrong"), "{}", ran.stderr);
    let page = fs::read_to_string(folder.join("wrong/report/report.html")).unwrap();
    assert!(page.contains("the gradient table looks wrong"));
    let record = folder.json("wrong/run.json");
    assert!(record["warnings"].to_string().contains("looks wrong"), "{}", record["warnings"]);
}

#[test]
fn an_image_that_is_too_thin_for_the_check_says_so() {
    let folder = Folder::with_subject();
    let line = "info --check-gradients dwi.nii -m mask.nii --bvec-frame scanner";
    let text = folder.done(line).stdout;
    assert!(text.contains("too thin"), "{text}");
}
