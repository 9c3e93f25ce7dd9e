//! Series of a session that are corrected as one.

use std::fs;

use fimbria_image::{WriteOptions, write_image};
use serde_json::json;

use crate::correct_several::with_opposed_series;
use crate::util::Folder;

const RAW: &str = "bids in out participant --raw --device cpu --set run.fits=[] \
                   --set correct.eddy=none --set correct.keep_dropped=true";

/// A raw session of two opposed series, with a map of their field if `has_map`.
fn opposed(has_map: bool) -> Folder {
    let folder = with_opposed_series();
    let root = folder.join("in/sub-01");
    fs::create_dir_all(root.join("dwi")).unwrap();
    fs::create_dir_all(root.join("fmap")).unwrap();
    for (name, dir) in [("a", "AP"), ("b", "PA")] {
        for extension in ["nii", "bval", "bvec", "json"] {
            let to = root.join(format!("dwi/sub-01_dir-{dir}_dwi.{extension}"));
            fs::copy(folder.join(&format!("{name}.{extension}")), to).unwrap();
        }
    }
    let mask = root.join("dwi/sub-01_dir-AP_desc-brain_mask.nii.gz");
    fs::copy(folder.join("raw/mask.nii.gz"), mask).unwrap();
    if has_map {
        fs::copy(folder.join("field.nii"), root.join("fmap/sub-01_fieldmap.nii")).unwrap();
        let said = json!({ "Units": "Hz", "IntendedFor": ["dwi/sub-01_dir-AP_dwi.nii", "dwi/sub-01_dir-PA_dwi.nii"] });
        fs::write(root.join("fmap/sub-01_fieldmap.json"), said.to_string()).unwrap();
    }
    folder
}

fn names_of(folder: &Folder) -> Vec<String> {
    let record = folder.json("out/sub-01/run.json");
    let series = record["series"].as_array().unwrap().iter();
    series.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn opposed_series_with_a_field_map_are_one_set_of_derivatives() {
    let folder = opposed(true);
    let told = folder.done(&format!("{RAW} --dry-run")).stdout;
    assert!(told.contains("sub-01\tcorrect of 2 series dti"), "{told}");
    folder.done(RAW);
    let all = folder.image("raw/dwi.nii.gz");
    let one = folder.image("out/sub-01/dwi/sub-01_desc-preproc_dwi.nii.gz");
    assert_eq!(one.n_volumes, all.n_volumes);
    assert!(folder.join("out/sub-01/dwi/sub-01_model-tensor_param-fa_dwimap.nii.gz").exists());
    let said = folder.json("out/sub-01/dwi/sub-01_desc-preproc_dwi.json");
    let sources = ["AP", "PA"].map(|dir| format!("bids:input:sub-01/dwi/sub-01_dir-{dir}_dwi.nii"));
    assert_eq!(said["Sources"].as_array().unwrap()[..2], sources.map(|file| json!(file)));
    let page = fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    assert!(page.contains("2 corrected together"));
    assert_eq!(names_of(&folder), ["sub-01"]);
    assert!(folder.done(RAW).stderr.contains("1 kept from before"));
    assert!(folder.done(&format!("{RAW} --dry-run")).stdout.contains("kept: it is finished"));
    // The second series counts as the first does.
    let bval = folder.join("in/sub-01/dwi/sub-01_dir-PA_dwi.bval");
    let text = fs::read_to_string(&bval).unwrap();
    fs::write(&bval, text.replace("1000", "1001")).unwrap();
    let again = folder.done(RAW).stderr;
    assert!(again.contains("were made of other inputs, and are replaced"), "{again}");
    // Each by itself: what was one stays, and that is said.
    let apart = folder.done(&format!("{RAW} --separate-all-dwis")).stderr;
    assert!(apart.contains("results of sub-01 are there from before and stay"), "{apart}");
    assert_eq!(names_of(&folder), ["sub-01_dir-AP", "sub-01_dir-PA", "sub-01"]);
    folder.done("bids in out group");
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    let ran = folder.run("bids in other participant --separate-all-dwis");
    assert!(ran.code == Some(2) && ran.stderr.contains("used with --raw"), "{}", ran.stderr);
}

#[test]
fn opposed_series_without_a_map_stay_apart_with_a_word() {
    let folder = opposed(false);
    let word = "sub-01_dir-PA_dwi.nii is not joined to other series of its session: ";
    let told = folder.done(&format!("{RAW} --dry-run")).stdout;
    assert!(told.contains(word) && told.contains("correct dti"), "{told}");
    let ran = folder.done(RAW).stderr;
    assert!(ran.contains(word) && ran.contains("no map of fmap/ is for them"), "{ran}");
    assert_eq!(names_of(&folder), ["sub-01_dir-AP", "sub-01_dir-PA"]);
    let warnings = folder.json("out/sub-01/run.json")["warnings"].to_string();
    assert!(warnings.contains(word), "{warnings}");
    let error = folder.failed(&format!("{RAW} --set input.joined=['x.nii']"));
    assert!(error.contains("[input] joined cannot be given"), "{error}");
}

#[test]
fn runs_of_one_encoding_are_one_and_those_of_other_voxels_stay_by_themselves() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 14,16,10 --voxel 11 --b0s 2 --shells 1000:12 -o p");
    let dwi = folder.join("in/sub-01/ses-a/dwi");
    fs::create_dir_all(&dwi).unwrap();
    let mut image = folder.image("p/dwi.nii.gz");
    for run in ["9", "10", "11"] {
        if run == "11" {
            image.grid.ras_from_vox.0[2][2] *= 1.2;
        }
        let path = dwi.join(format!("sub-01_ses-a_run-{run}_dwi.nii.gz"));
        write_image(path, &image, &WriteOptions::default()).unwrap();
    }
    // One table and one sidecar stand for all, at the top of the data set.
    let description = json!({ "Name": "raw", "BIDSVersion": "1.10.0" }).to_string();
    fs::write(folder.join("in/dataset_description.json"), description).unwrap();
    for table in ["bval", "bvec"] {
        fs::copy(folder.join(&format!("p/dwi.{table}")), folder.join(&format!("in/dwi.{table}")))
            .unwrap();
    }
    let said = json!({ "PhaseEncodingDirection": "j", "TotalReadoutTime": 0.05, "EchoTime": 0.08 });
    fs::write(folder.join("in/dwi.json"), said.to_string()).unwrap();
    let ran = folder.done(RAW).stderr;
    let word = "sub-01_ses-a_run-11_dwi.nii.gz is not joined to other series of its session: ";
    assert!(ran.contains(word) && ran.contains("14 x 16 x 10"), "{ran}");
    let preprocessed =
        |name: &str| format!("out/sub-01/ses-a/dwi/sub-01_ses-a_{name}desc-preproc_dwi");
    assert_eq!(
        folder.image(&format!("{}.nii.gz", preprocessed(""))).n_volumes,
        2 * image.n_volumes
    );
    assert_eq!(
        folder.image(&format!("{}.nii.gz", preprocessed("run-11_"))).n_volumes,
        image.n_volumes
    );
    let made = folder.json(&format!("{}.json", preprocessed("")));
    assert_eq!(made["PhaseEncodingDirection"], "j");
    assert_eq!((&made["TotalReadoutTime"], &made["EchoTime"]), (&json!(0.05), &json!(0.08)));
    assert_eq!(made["SusceptibilityDistortionCorrection"], "none");
    let first = made["Sources"][0].as_str().unwrap();
    assert!(first.ends_with("run-9_dwi.nii.gz"), "runs are in order of their numbers: {first}");
}
