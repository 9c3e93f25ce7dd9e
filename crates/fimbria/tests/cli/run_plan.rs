//! What a run does where a series carries less than was asked for, and what it says of that.

use std::fs;

use crate::util::Folder;

/// A crossing phantom `p`, weighted along so many directions of one shell.
fn with_directions(n: usize) -> Folder {
    let folder = Folder::new();
    let shell = format!("--b0s 1 --shells 2000:{n}");
    folder.done(&format!("phantom crossing --size 14,16,10 --voxel 11 {shell} -o p"));
    folder
}

const RUN: &str = "run p/dwi.nii.gz --mask p/mask.nii.gz --device cpu -o out";

fn warnings(folder: &Folder) -> String {
    folder.json("out/run.json")["warnings"].to_string()
}

#[test]
fn densities_of_few_directions_have_a_lower_degree_and_a_run_says_so() {
    let folder = with_directions(20);
    let said = folder.done(&format!("{RUN} --set run.preset=fibres")).stderr;
    let sentence = "the densities have degree 4, which 20 directions on one shell determine";
    assert!(said.contains(sentence), "{said}");
    assert!(warnings(&folder).contains(sentence));
    assert!(fs::read_to_string(folder.join("out/report/report.html")).unwrap().contains(sentence));
    let plan = folder.json("out/plan/plan.json");
    assert_eq!(plan["lower_degree"]["degree"], 4);
    assert!(plan["left_out"].as_array().unwrap().is_empty());
    let record = folder.json("out/run.json");
    assert_eq!(record["parameters"]["fod"]["fit"]["order"], "4");
    assert_eq!(folder.image("out/fod/fod.nii.gz").n_volumes, 15);
    // As the command makes them.
    folder.done("fit fod p/dwi.nii.gz --mask p/mask.nii.gz --order 4 --device cpu -o fod");
    let densities = |at: &str| folder.image(&format!("{at}/fod.nii.gz")).data;
    assert!(densities("out/fod") == densities("fod"));
}

#[test]
fn what_a_preset_asks_for_and_a_series_does_not_carry_is_said() {
    let folder = with_directions(12);
    let labels = "--set connectome.labels=p/mask.nii.gz";
    let said = folder.done(&format!("{RUN} --set run.preset=connectome {labels}")).stderr;
    for sentence in [
        "fod, normalise, peaks, track, sift2, connectome are left out: densities take 15 directions on one \
         shell, and the most are 12",
        "dki is left out: ",
        "msdki is left out: mean-signal kurtosis needs 3 shells",
    ] {
        assert!(said.contains(sentence), "{sentence}: {said}");
        assert!(warnings(&folder).contains(sentence), "{sentence}");
    }
    assert!(!folder.join("out/fod").exists());
    // What a redrawn page says too.
    folder.done("report out -o again.html");
    assert!(fs::read_to_string(folder.join("again.html")).unwrap().contains("dki is left out"));
}

#[test]
fn a_degree_that_is_set_is_taken_as_by_the_command() {
    let folder = with_directions(12);
    let said = folder.done(&format!("{RUN} --set run.preset=fibres --set fod.order=4")).stderr;
    assert!(!said.contains("left out") && !said.contains("plan:"), "{said}");
    assert_eq!(folder.image("out/fod/fod.nii.gz").n_volumes, 15);
}

#[test]
fn densities_asked_for_by_name_that_a_series_does_not_carry_are_refused_at_once() {
    let folder = with_directions(12);
    let error = folder.failed(&format!("{RUN} --set run.fits=[\"peaks\"]"));
    assert!(error.contains("order 8 needs 15 distinct gradient directions"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn options_of_a_stage_that_is_not_made_are_said_to_have_no_effect() {
    let folder = with_directions(30);
    let said = folder.done(&format!("{RUN} --set run.preset=maps --set fod.order=4")).stderr;
    let sentence = "the options of [fod] have no effect: this run does not make that stage";
    assert!(said.contains(sentence), "{said}");
    assert!(warnings(&folder).contains(sentence));
    // Of one that is made nothing is said.
    let said = folder.done(&format!("{RUN} --set run.preset=fibres --set fod.order=4 --force"));
    assert!(!said.stderr.contains("no effect"), "{}", said.stderr);
}

#[test]
fn numbers_that_json_does_not_have_are_judged_as_on_a_command_line() {
    let folder = with_directions(12);
    for number in ["nan", "inf"] {
        let error = folder.failed(&format!("{RUN} --set dti.bmax={number}"));
        assert!(error.contains("[dti]") && error.to_lowercase().contains(number), "{error}");
        fs::write(folder.join("run.toml"), format!("[dti]\nbmax = {number}\n")).unwrap();
        let error = folder.failed("run --config run.toml -o out");
        assert!(error.contains("[dti]") && error.to_lowercase().contains(number), "{error}");
    }
}

#[test]
fn shells_of_few_directions_are_warned_of_where_their_mean_is_taken() {
    let folder = Folder::new();
    let shells = "--b0s 2 --shells 1000:8,2000:20";
    folder.done(&format!("phantom crossing --size 14,16,10 --voxel 11 {shells} -o p"));
    let said = folder.done("fit msdki p/dwi.nii.gz --mask p/mask.nii.gz -o msdki").stderr;
    assert!(said.contains("b=1000 (8 volumes) has 8 distinct directions"), "{said}");
    assert!(!said.contains("b=2000 (20 volumes) has"), "{said}");
}
