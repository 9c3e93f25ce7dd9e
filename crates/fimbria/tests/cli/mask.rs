//! `fimbria mask`.

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::util::Folder;

/// A brain of 69 mm radius in a dark bone, the scalp around it, and a neck's muscle that touches the scalp.
fn head() -> Image {
    let grid = Grid { dims: [48, 48, 48], ras_from_vox: Affine::from_spacing([4.0; 3]) };
    let mut image = Image::zeros(grid, 1);
    for voxel in 0..grid.len() {
        let [x, y, z] = grid.voxel(voxel).map(|i| (i as f32 - 23.5) * 4.0);
        let radius = (x * x + y * y + z * z).sqrt();
        let is_soft =
            (82.0..92.0).contains(&radius) || radius > 82.0 && x.hypot(y) < 50.0 && z < 0.0;
        image.data[voxel] = match radius {
            _ if radius < 69.0 => 400.0,
            _ if is_soft => 420.0,
            _ if radius < 82.0 => 80.0,
            _ => 5.0,
        };
    }
    image
}

fn write(folder: &Folder, name: &str, image: &Image) {
    write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
}

/// 4/3 π 69³ mm³ = 1376 ml; half a voxel of 4 mm at its rim is 9 % of that.
fn is_the_brain(folder: &Folder, out: &str) {
    let ml = folder.image(&format!("{out}/mask.nii.gz")).data.iter().sum::<f32>() * 0.064;
    assert!((ml - 1376.0).abs() < 120.0, "{ml} ml");
}

#[test]
fn echoes_in_files_of_their_own_make_one_mask() {
    let folder = Folder::new();
    let first = head();
    let mut second = first.clone();
    second.data.iter_mut().for_each(|value| *value *= 0.7);
    write(&folder, "e1.nii", &first);
    write(&folder, "e2.nii", &second);
    let ran = folder.done("mask e1.nii e2.nii -o out");
    is_the_brain(&folder, "out");
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}

#[test]
fn a_fit_without_a_mask_works_in_the_one_of_this_command() {
    let folder = Folder::new();
    let unweighted = head();
    let mut series = unweighted.clone();
    for axis in 0..6 {
        let weighted = |value: &f32| value * (0.3 + 0.02 * axis as f32);
        series.data.extend(unweighted.data.iter().map(weighted));
    }
    series.n_volumes = 7;
    write(&folder, "dwi.nii", &series);
    std::fs::write(folder.join("dwi.bval"), "0 1000 1000 1000 1000 1000 1000").unwrap();
    let bvec = "0 1 0 0 0.7071 0.7071 0\n0 0 1 0 0.7071 0 0.7071\n0 0 0 1 0 0.7071 0.7071";
    std::fs::write(folder.join("dwi.bvec"), bvec).unwrap();
    folder.done("mask dwi.nii -o out");
    is_the_brain(&folder, "out");
    folder.done("fit dti dwi.nii -o dti");
    let fitted = folder.image("dti/status.nii.gz").data.into_iter().map(|s| f32::from(s > 0.0));
    assert_eq!(folder.image("out/mask.nii.gz").data, fitted.collect::<Vec<_>>());
}

#[test]
fn a_mask_of_another_size_than_an_adults_is_doubted() {
    let folder = Folder::with_subject();
    let ran = folder.done("mask dwi.nii -o out");
    assert!(ran.stderr.contains("is not that of an adult's whole brain"), "{}", ran.stderr);
}

#[test]
fn a_table_with_several_images_is_refused() {
    let folder = Folder::with_subject();
    let ran = folder.run("mask dwi.nii dwi.nii --bval dwi.bval --bvec dwi.bvec -o out");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("for one series"), "{}", ran.stderr);
}
