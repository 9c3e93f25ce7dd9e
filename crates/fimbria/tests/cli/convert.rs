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
