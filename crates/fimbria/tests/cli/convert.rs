//! `fimbria convert`.

use std::fs;

use fimbria_image::{Datatype, OpenOptions, StoredImage};

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
    assert_eq!(record["parameters"]["convert"]["datatype"], "Int16");
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
    let expected = TensorOrder::MRTRIX.from_fimbria(&TensorOrder::DIPY.to_fimbria(&d));
    assert_eq!(folder.image("d2.nii").data, expected.data);
    let expected = KurtosisOrder::MRTRIX.from_fimbria(&KurtosisOrder::DIPY.to_fimbria(&w));
    assert_eq!(folder.image("w2.nii").data, expected.data);
    for (a, b) in folder.image("w3.nii").data.iter().zip(&w.data) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    let error = folder.failed("convert w.nii --tensors fsl:mrtrix -o x.nii");
    assert!(error.contains("FSL has no order"), "{error}");
    for (line, part) in [
        ("convert d.nii --tensors dipy -o x.nii", "FROM:TO"),
        ("convert d.nii --tensors dipy:spm -o x.nii", "'spm' is none of"),
    ] {
        let ran = folder.run(line);
        assert_eq!(ran.code, Some(2), "`{line}`: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

/// A .mif with the given header lines and data.
fn mif(folder: &Folder, name: &str, lines: &str, data: &[u8]) {
    let header = format!("mrtrix image\nvox: 1,1,1\n{lines}\nfile: . 512\nEND\n");
    let mut bytes = header.into_bytes();
    bytes.resize(512, 0);
    bytes.extend(data);
    fs::write(folder.join(name), bytes).unwrap();
}

#[test]
fn labels_above_two_to_the_24th_survive() {
    let folder = Folder::new();
    let labels = [16_777_217_i32, -2_147_483_647, 2_147_483_647, 5];
    let data: Vec<u8> = labels.iter().flat_map(|x| x.to_le_bytes()).collect();
    mif(&folder, "a.mif", "dim: 2,2,1\nlayout: +0,+1,+2\ndatatype: int32le", &data);
    let ran = folder.done("convert a.mif -o a.nii");
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let kept = StoredImage::open(folder.join("a.nii"), &OpenOptions::default()).unwrap();
    assert_eq!(kept.stored_bytes(), data);
    assert_eq!(kept.datatype(), Datatype::Int32);
    let ran = folder.done("convert a.mif --datatype float32 -o b.nii");
    assert!(ran.stderr.contains("3 samples lost digits in Float32"), "{}", ran.stderr);
    let ran = folder.done("convert a.mif --datatype int16 -o c.nii");
    assert!(ran.stderr.contains("3 samples cannot be held by Int16"), "{}", ran.stderr);
}

#[test]
fn fractions_that_a_type_cannot_hold_are_told() {
    let folder = Folder::new();
    let data: Vec<u8> = [0.5_f32, 1.25, 3.0, 7.75].iter().flat_map(|x| x.to_le_bytes()).collect();
    mif(&folder, "a.mif", "dim: 2,2,1\nlayout: +0,+1,+2\ndatatype: float32le", &data);
    let ran = folder.done("convert a.mif --datatype int16 -o b.nii");
    assert!(ran.stderr.contains("3 samples lost digits in Int16"), "{}", ran.stderr);
}

#[test]
fn five_dimensions_stay_five() {
    let folder = Folder::new();
    let data: Vec<u8> = (0..24).collect();
    let lines = "dim: 2,1,2,3,2\nlayout: +0,+1,+2,+3,+4\ndatatype: UInt8";
    mif(&folder, "a.mif", lines, &data);
    folder.done("convert a.mif -o a.nii.gz");
    folder.done("convert a.nii.gz -o b.mif");
    for name in ["a.nii.gz", "b.mif"] {
        let text = folder.done(&format!("info {name}")).stdout;
        assert!(text.contains("2 x 1 x 2 x 3 x 2"), "{text}");
        assert_eq!(folder.image(name).data, folder.image("a.mif").data);
    }
}

#[test]
fn bits_of_a_mif_become_bytes_in_nifti() {
    let folder = Folder::with_subject();
    folder.done("convert mask.nii -o mask.mif --datatype bit");
    let ran = folder.done("convert mask.mif -o back.nii.gz");
    assert!(ran.stderr.contains("written as UInt8"), "{}", ran.stderr);
    assert_eq!(folder.image("back.nii.gz").data, folder.image("mask.nii").data);
}

#[test]
fn a_scheme_that_does_not_fit_costs_the_table_not_the_image() {
    let folder = Folder::new();
    let lines = "dim: 2,1,1,3\nlayout: +0,+1,+2,+3\ndatatype: UInt8\n\
                 dw_scheme: 0,0,0,0\ndw_scheme: 1,0,0,1000";
    mif(&folder, "fod.mif", lines, &[1, 2, 3, 4, 5, 6]);
    let ran = folder.done("convert fod.mif -o fod.nii");
    assert!(ran.stderr.contains("no gradient table is written"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 entries, the image 3 volumes"), "{}", ran.stderr);
    assert!(!folder.join("fod.bval").exists());
    let ran = folder.done("info fod.mif");
    assert!(ran.stdout.contains("2 x 1 x 1 x 3"), "{}", ran.stdout);
    assert!(ran.stderr.contains("no gradient table"), "{}", ran.stderr);
    // What needs gradients fails, and says why.
    assert!(folder.failed("fit dti fod.mif -o dti").contains("2 entries"));
    assert!(folder.failed("info fod.mif --table").contains("2 entries"));
}

#[test]
fn what_a_header_says_cannot_command_the_terminal() {
    let folder = Folder::new();
    let lines = "dim: 1,1,1\nlayout: +0,+1,+2\ndatatype: UInt8\ncomments: x\u{1b}]0;owned\u{7}";
    mif(&folder, "a.mif", lines, &[1]);
    let shown = folder.done("info a.mif").stdout;
    assert!(shown.contains("x\\u{1b}]0;owned\\u{7}"), "{shown:?}");
    mif(&folder, "b.mif", &lines.replace("UInt8", "\u{1b}[31mred"), &[1]);
    let error = folder.failed("info b.mif");
    assert!(error.contains("\\u{1b}[31mred") && !error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn options_of_tractograms_are_refused_for_images() {
    let folder = Folder::with_subject();
    for option in ["--reference mask.nii", "--trx-folder"] {
        let ran = folder.run(&format!("convert mask.nii -o out.mif {option}"));
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains("is for tractograms, not for an image"), "{}", ran.stderr);
        assert!(!folder.join("out.mif").exists(), "{option}");
    }
}
