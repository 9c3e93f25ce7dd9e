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

#[test]
fn a_folder_named_like_a_file_is_refused_with_the_name_that_works() {
    let folder = Folder::with_subject();
    let error = folder.failed(&format!("{FIT} -o maps.nii.gz"));
    assert!(error.contains("help: -o maps\n"), "{error}");
    let error = folder.failed("track dwi.nii --hot --seeds mask.nii -o x.tck");
    assert!(error.contains("track -o x --tracks tck"), "{error}");
    for line in ["demo -o page.html", "run dwi.nii -o sub.mif", "phantom tensors -o a.nii"] {
        assert!(folder.failed(line).contains("is the name of a"), "{line}");
    }
    assert_eq!(folder.names("."), ["dwi.bval", "dwi.bvec", "dwi.nii", "mask.nii"]);
}

#[test]
fn a_page_without_its_extension_is_refused_with_the_name_that_works() {
    let folder = Folder::with_subject();
    folder.done(&format!("{FIT} -o out --maps FA,MD,V1"));
    let ran = folder.run("report out -o page");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("-o page.html"), "{}", ran.stderr);
}

#[test]
fn the_mask_that_was_made_is_written_with_the_mean_it_was_made_of() {
    let folder = Folder::with_subject();
    folder.done("fit dti dwi.nii --bvec-frame scanner -o out --maps FA --format nii");
    let (mask, mean) = (folder.image("out/mask.nii"), folder.image("out/mean_b0.nii"));
    let status = folder.image("out/status.nii");
    for (inside, status) in mask.data.iter().zip(&status.data) {
        assert_eq!(*inside > 0.0, *status > 0.0);
    }
    let dwi = folder.image("dwi.nii");
    // Both unweighted volumes are the same, so that their mean is either, to the bit.
    assert_eq!(mean.data, dwi.volume(0));
    folder.done(&format!("{FIT} -o given --maps FA --format nii"));
    assert_eq!(folder.names("given"), ["FA.nii", "run.json", "status.nii"]);
}

#[cfg(unix)]
#[test]
fn long_and_foreign_names_are_written_or_refused_in_one_sentence() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use crate::util::Ran;
    let folder = Folder::with_subject();
    let long = |bytes: usize| format!("{}.mif", "a".repeat(bytes - 4));
    folder.done(&format!("convert dwi.nii -o {}", long(240)));
    assert!(folder.join(&long(240)).exists());
    let error = folder.failed(&format!("convert dwi.nii -o {}", long(241)));
    assert!(error.contains("240 bytes at most"), "{error}");
    let mut command = folder.command("convert dwi.nii -o");
    let ran = Ran::of(&command.arg(OsStr::from_bytes(b"a\xff.mif")).output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("a name is UTF-8"), "{}", ran.stderr);
    // So do those of inputs, which the record shows as it can.
    let line = "fit dti dwi.nii --bvec-frame scanner --maps FA -o of_foreign --mask";
    let mut command = folder.command(line);
    std::fs::copy(folder.join("mask.nii"), folder.path().join(OsStr::from_bytes(b"m\xff.nii")))
        .unwrap();
    let ran = Ran::of(&command.arg(OsStr::from_bytes(b"m\xff.nii")).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(folder.json("of_foreign/run.json")["outputs"].as_array().unwrap().len(), 2);
    // Folders take any name.
    let mut command = folder.command(&format!("{FIT} --maps FA -o"));
    let ran = Ran::of(&command.arg(OsStr::from_bytes(b"maps\xff")).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}
