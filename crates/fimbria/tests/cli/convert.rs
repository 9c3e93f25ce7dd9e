//! `fimbria convert`.

use std::fs;

use crate::util::{Folder, subject};

#[test]
fn there_and_back_is_the_same_image_and_table() {
    let folder = Folder::with_subject();
    folder.done("convert dwi.nii --bvec-frame scanner -o a.mif.gz");
    folder.done("convert a.mif.gz -o b.nii.gz");
    let back = folder.image("b.nii.gz");
    assert_eq!(back.data, subject().dwi.data);
    let table = |line: &str| folder.done(line).stdout;
    let (before, after) =
        (table("info --table dwi.nii --bvec-frame scanner"), table("info --table b.nii.gz"));
    for (a, b) in before.split_whitespace().zip(after.split_whitespace()) {
        let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
        // Text of single precision and a turn into FSL's axes and back.
        assert!((a - b).abs() < 1e-6 * a.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn every_file_is_listed_in_the_record_beside_the_image() {
    let folder = Folder::with_subject();
    folder.done("convert dwi.nii --bvec-frame scanner -o pair.img --datatype int16");
    let record = folder.json("pair.img.run.json");
    let files: Vec<_> =
        record["outputs"].as_array().unwrap().iter().map(|o| o["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["pair.bval", "pair.bvec", "pair.hdr", "pair.img"]);
    assert_eq!(record["parameters"]["datatype"], "Int16");
    assert_eq!(folder.image("pair.hdr").n_volumes, 22);
}

#[test]
fn an_image_without_a_table_is_converted_all_the_same() {
    let folder = Folder::with_subject();
    folder.done("convert mask.nii -o mask.mif --datatype bit");
    assert_eq!(folder.image("mask.mif").data, subject().mask.data);
}

#[test]
fn an_existing_file_is_refused_and_stays() {
    let folder = Folder::with_subject();
    fs::write(folder.join("out.nii"), "mine").unwrap();
    let error = folder.failed("convert mask.nii -o out.nii");
    assert!(error.contains("already holds out.nii"), "{error}");
    assert_eq!(fs::read(folder.join("out.nii")).unwrap(), b"mine");
}

#[test]
fn a_name_without_a_format_is_refused() {
    let folder = Folder::with_subject();
    let error = folder.failed("convert mask.nii -o out.png");
    assert!(error.contains(".nii.gz"), "{error}");
    assert!(!folder.names(".").iter().any(|name| name.contains("out.png")));
}

#[test]
fn tensors_go_from_any_order_and_frame_to_any_other() {
    use fimbria_image::{
        Affine, Grid, Image, KurtosisOrder, TensorOrder, WriteOptions, write_image,
    };
    let folder = Folder::new();
    // Oblique, so that frames matter: voxel axes along y, z, x, with x of the voxels reversed.
    let axes = [[0.0, 0.0, 2.0, 1.0], [-2.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 3.0]];
    let grid = Grid { dims: [3, 2, 2], ras_from_vox: Affine(axes) };
    let random = |n: usize| Image {
        data: (0..n * grid.len()).map(|i| (i * 7919 % 101) as f32 / 101.0).collect(),
        ..Image::zeros(grid, n)
    };
    let (d, w) = (random(6), random(15));
    for (name, image) in [("d.nii", &d), ("w.nii", &w)] {
        write_image(folder.join(name), image, &WriteOptions::default()).unwrap();
    }
    folder.done("convert d.nii --tensors dipy:mrtrix -o d2.nii");
    folder.done("convert w.nii --tensors dipy:mrtrix -o w2.nii");
    folder.done("convert w2.nii --tensors mrtrix:dipy -o w3.nii");
    let expected =
        TensorOrder::Mrtrix.from_fimbria(&TensorOrder::DipyLowerTriangular.to_fimbria(&d));
    assert_eq!(folder.image("d2.nii").data, expected.data);
    let expected = KurtosisOrder::Mrtrix.from_fimbria(&KurtosisOrder::Dipy.to_fimbria(&w));
    assert_eq!(folder.image("w2.nii").data, expected.data);
    for (a, b) in folder.image("w3.nii").data.iter().zip(&w.data) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    for (line, part) in [
        ("convert w.nii --tensors fsl:mrtrix -o x.nii", "FSL has no order"),
        ("convert d.nii --tensors dipy -o x.nii", "FROM:TO"),
        ("convert d.nii --tensors dipy:spm -o x.nii", "'spm' is none of"),
    ] {
        let ran = folder.run(line);
        assert_eq!(ran.code, Some(2), "`{line}`: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}
