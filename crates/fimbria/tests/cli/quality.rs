//! Verdicts on a series, and the gradient table mended.

use std::fs;

use crate::info::with_rings;
use crate::util::Folder;

const RUN: &str = "run turned.nii --mask mask.nii --set run.fits=[\"dti\"]";
const WRONG: &str = "--bvec wrong.bvec --bval turned.bval";

/// The level of a verdict.
fn level(folder: &Folder, out: &str, name: &str) -> String {
    let quality = folder.json(&format!("{out}/quality/quality.json"));
    let verdicts = quality["verdicts"].as_array().unwrap();
    let of = verdicts.iter().find(|verdict| verdict["name"] == name);
    of.unwrap_or_else(|| panic!("no {name}"))["level"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_judges_its_series_and_the_page_begins_with_it() {
    let folder = with_rings();
    folder.done(&format!("{RUN} -o right"));
    folder.done(&format!("{RUN} {WRONG} -o wrong"));
    assert_eq!(level(&folder, "right", "Gradient table"), "good");
    assert_eq!(level(&folder, "wrong", "Gradient table"), "bad");
    assert_eq!(level(&folder, "right", "b-values"), "good");
    assert_eq!(folder.json("wrong/quality/run.json")["quality"]["Gradient table"], "bad");
    let page = fs::read_to_string(folder.join("wrong/report/report.html")).unwrap();
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("Is this scan good?") < place("looks wrong"));
    assert!(place("class=\"bad\"") < place("<h2>Maps"));
    // As it was, of the folder alone.
    folder.done("report wrong -o again.html");
    let again = fs::read_to_string(folder.join("again.html")).unwrap();
    let strip =
        |page: &str| page.split("<ul class=\"verdicts\">").nth(1).unwrap()[..2000].to_owned();
    assert_eq!(strip(&again), strip(&page));
}

#[test]
fn a_wrong_table_is_mended_and_the_record_says_so() {
    let folder = with_rings();
    folder.done(&format!("{RUN} -o right"));
    let ran = folder.done(&format!("{RUN} {WRONG} --fix-gradients -o mended"));
    assert!(ran.stderr.contains("the gradient table was mended"), "{}", ran.stderr);
    let record = folder.json("mended/fix_gradients/run.json");
    assert_eq!(record["gradients_fixed"], "x and y swapped, z flipped");
    assert_eq!(folder.json("mended/run.json")["parameters"]["fix_gradients"]["axes"], "fsl");
    assert_eq!(level(&folder, "mended", "Gradient table"), "good");
    // The same table, and a direction and its opposite are the same.
    let (right, mended) =
        (folder.image("right/dti/FA.nii.gz"), folder.image("mended/dti/FA.nii.gz"));
    let far = right.data.iter().zip(&mended.data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far < 1e-5, "{far}");
    let (right, mended) =
        (folder.image("right/dti/V1.nii.gz"), folder.image("mended/dti/V1.nii.gz"));
    let n = right.grid.len();
    let cos = |voxel: usize| -> f32 {
        (0..3).map(|axis| right.data[axis * n + voxel] * mended.data[axis * n + voxel]).sum()
    };
    assert!((0..n).all(|voxel| cos(voxel).abs() > 0.999 || cos(voxel) == 0.0));
    // What was mended is read back.
    folder.done(&format!(
        "{RUN} {WRONG} --fix-gradients -o mended --resume --set dti.maps=[\"FA\",\"V1\"]"
    ));
    assert_eq!(level(&folder, "mended", "Gradient table"), "good");
}

#[test]
fn a_right_table_stays_as_it_is() {
    let folder = with_rings();
    folder.done(&format!("{RUN} --fix-gradients -o out"));
    let record = folder.json("out/fix_gradients/run.json");
    assert_eq!(record["gradients_fixed"], "nothing: it lies as the image does");
    assert!(record["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn where_the_data_do_not_tell_nothing_is_mended() {
    let folder = Folder::with_subject();
    let error =
        folder.failed("run dwi.nii -m mask.nii --bvec-frame scanner --fix-gradients -o out");
    assert!(error.contains("--fix-gradients cannot be followed"), "{error}");
    assert!(error.contains("too thin"), "{error}");
    assert!(!folder.join("out/run.json").exists());
}

#[test]
fn motion_of_confounds_stands_among_the_verdicts() {
    let folder = with_rings();
    let bvals = fs::read_to_string(folder.join("turned.bval")).unwrap();
    let rows = "1.2\n".repeat(bvals.split_whitespace().count() - 1);
    fs::write(folder.join("c.tsv"), format!("framewise_displacement\nn/a\n{rows}")).unwrap();
    folder.done(&format!("{RUN} --set quality.confounds=c.tsv -o out"));
    assert_eq!(level(&folder, "out", "Motion in the scanner"), "bad");
}
