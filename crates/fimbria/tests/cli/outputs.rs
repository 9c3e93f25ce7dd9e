//! Outputs: refused, overwritten, recorded.

use crate::util::{FIT, Folder};

#[test]
fn existing_outputs_are_refused_with_a_list_and_force_overwrites_them() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out --maps FA"));
    let error = folder.failed(&format!("{FIT} -o out --maps FA"));
    assert!(error.contains("FA.nii.gz, status.nii.gz, run.json"), "{error}");
    assert!(error.contains("--force"), "{error}");
    folder.done(&format!("{FIT} -o out --maps MD -force"));
    assert_eq!(folder.names("out"), ["MD.nii.gz", "run.json", "status.nii.gz"]);
}

#[test]
fn the_record_lists_inputs_parameters_and_outputs() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out --method iwls --maps FA,MD"));
    let record = folder.json("out/run.json");
    let list = |key: &str, field: &str| -> Vec<String> {
        let entries = record[key].as_array().unwrap();
        entries.iter().map(|e| e[field].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(list("outputs", "file"), ["FA.nii.gz", "MD.nii.gz", "status.nii.gz"]);
    assert_eq!(list("inputs", "role"), ["dwi", "gradients", "gradients", "mask"]);
    assert!(list("inputs", "xxh3_128").iter().all(|hash| hash.len() == 32));
    assert_eq!(record["parameters"]["dti"]["fit"]["method"], "iwls");
    assert_eq!(record["parameters"]["load"]["b0_threshold"], 50.0);
    assert_eq!(record["command_line"][1], "fit");
    let voxels = &record["stages"][0]["counts"]["voxels"];
    assert_eq!(*voxels, 6 * 6 * 5);
    assert_eq!(record["stages"][1]["counts"]["fitted"], *voxels);
}

#[test]
fn a_folder_where_a_file_is_given_is_an_error() {
    let folder = Folder::with_subject();
    let error = folder.failed(&format!("{FIT} -o mask.nii"));
    assert!(error.contains("mask.nii is a file"), "{error}");
}
