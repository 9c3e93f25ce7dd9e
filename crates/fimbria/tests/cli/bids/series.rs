//! Which files of a session are series, and what is said of those that are none.

use std::fs;

use serde_json::json;

use super::{PARTICIPANT, with_data_set};
use crate::util::Folder;

/// A raw session: what scanners leave, for so many names.
fn raw(names: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.done("phantom crossing --size 14,16,10 --voxel 11 --b0s 2 --shells 1000:12 -o p");
    let dwi = folder.join("in/sub-01/dwi");
    fs::create_dir_all(&dwi).unwrap();
    for name in names {
        for extension in ["nii.gz", "bval", "bvec"] {
            let to = dwi.join(format!("sub-01_{name}.{extension}"));
            fs::copy(folder.join(&format!("p/dwi.{extension}")), to).unwrap();
        }
    }
    folder
}

#[test]
fn only_the_magnitude_of_a_complex_series_is_one() {
    let folder = raw(&["part-mag_dwi", "part-phase_dwi", "part-real_dwi", "part-imag_dwi"]);
    folder.done(PARTICIPANT);
    folder.done("bids in out group");
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains("sub-01_part-mag") && !table.contains("phase"), "{table}");
    // A session of nothing else has none.
    let phase = raw(&["part-phase_dwi"]);
    let error = phase.failed(PARTICIPANT);
    assert!(error.contains("no phase, real or imaginary part"), "{error}");
}

#[test]
fn a_raw_series_is_corrected_and_one_that_is_preprocessed_is_refused() {
    let folder = raw(&["dwi"]);
    // A sidecar for all series, at the top of the data set.
    let description = r#"{"Name": "raw", "BIDSVersion": "1.10.0"}"#;
    fs::write(folder.join("in/dataset_description.json"), description).unwrap();
    fs::write(folder.join("in/dwi.json"), r#"{"PhaseEncodingDirection": "j"}"#).unwrap();
    folder.done(&format!("{PARTICIPANT} --raw"));
    for file in ["desc-preproc_dwi.bvec", "desc-brain_mask.nii.gz", "desc-confounds_timeseries.tsv"]
    {
        assert!(folder.join(&format!("out/sub-01/dwi/sub-01_{file}")).exists(), "{file}");
    }
    folder.done("bids in out group");
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    assert!(table.contains("framewise_displacement_mean"), "{table}");
    let preprocessed = with_data_set();
    let error = preprocessed.failed(&format!("{PARTICIPANT} --raw --participant-label 01"));
    assert!(error.contains("desc-preproc_dwi.nii.gz is preprocessed already"), "{error}");
}

#[test]
fn an_unweighted_series_beside_another_is_left_aside_by_name() {
    let folder = raw(&["dir-AP_dwi", "dir-PA_dwi"]);
    let path = |name: &str| folder.join(&format!("in/sub-01/dwi/sub-01_dir-PA_dwi.{name}"));
    fs::write(path("bval"), "0 0\n").unwrap();
    fs::write(path("bvec"), "0 0\n0 0\n0 0\n").unwrap();
    let said = folder.done(PARTICIPANT).stderr;
    let sentence = "sub-01_dir-PA_dwi.nii.gz is no series: no volume is weighted";
    assert!(said.contains(sentence) && said.contains("1 of 1 done"), "{said}");
    let record = folder.json("out/sub-01/run.json");
    assert!(record["warnings"].to_string().contains(sentence), "{}", record["warnings"]);
    let series = record["series"].as_array().unwrap();
    assert_eq!(series.len(), 1);
    assert_eq!(series[0]["name"], "sub-01_dir-AP");
}

#[test]
fn of_several_series_the_one_that_fails_is_named() {
    let folder = raw(&["run-1_dwi", "run-2_dwi"]);
    fs::write(folder.join("in/sub-01/dwi/sub-01_run-2_dwi.bval"), "0 1000\n").unwrap();
    let error = folder.failed(PARTICIPANT);
    assert!(error.contains("sub-01: sub-01_run-2_dwi.nii.gz: "), "{error}");
}

#[test]
fn confounds_that_are_none_of_the_series_are_ignored_with_a_word() {
    let folder = with_data_set();
    let of = |subject: &str, rows: &str| {
        let at = format!("in/{subject}/dwi/{subject}_desc-confounds_timeseries.tsv");
        fs::write(folder.join(&at), format!("framewise_displacement\n{rows}")).unwrap();
    };
    of("sub-01", "n/a\n0.2\n4.9\n");
    of("sub-03", &format!("n/a\n-3\n{}", "0.2\n".repeat(20)));
    let said = folder.done(&format!("{PARTICIPANT} --participant-label 01 03")).stderr;
    for reason in
        ["it has 3 rows, and the series 22 volumes", "line 3 has a framewise displacement of `-3`"]
    {
        assert!(said.contains("are ignored") && said.contains(reason), "{reason}: {said}");
    }
    let page = fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    assert!(!page.contains("2.55 mm") && page.contains("are ignored"));
    folder.done("bids in out group");
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    assert!(!table.contains("framewise_displacement_mean"), "{table}");
}

#[test]
fn a_group_of_mixed_settings_says_which_differ_in_whom() {
    let folder = with_data_set();
    folder.done(&format!("{PARTICIPANT} --participant-label 01 02"));
    folder.done(&format!("{PARTICIPANT} --participant-label 03 --set dti.method=ols"));
    let said = folder.done("bids in out group").stderr;
    let sentence = "dti.method: wls in sub-01_space-ACPC, sub-02_ses-1_space-ACPC, \
                    sub-02_ses-2_space-ACPC; ols in sub-03_space-ACPC";
    assert!(said.contains("mixed settings") && said.contains(sentence), "{said}");
    let page = fs::read_to_string(folder.join("out/group_dwi.html")).unwrap();
    assert!(page.contains(sentence));
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "setting_dti_method").unwrap();
    let values: Vec<_> = rows[1..].iter().map(|row| row[column]).collect();
    assert_eq!(values, ["wls", "wls", "wls", "ols"]);
    let settings = rows[0].iter().filter(|name| name.starts_with("setting_"));
    assert_eq!(settings.count(), 1, "{:?}", rows[0]);
    assert!(folder.json("out/group_dwi.json")["setting_dti_method"]["Description"].is_string());
}

#[test]
fn the_group_says_what_gradient_tables_do_not_carry() {
    let folder = raw(&["dwi"]);
    let said = folder.done(&format!("{PARTICIPANT} --preset fibres")).stderr;
    assert!(
        said.contains("fod, normalise, peaks are left out: densities take 15 directions"),
        "{said}"
    );
    assert!(fs::read_to_string(folder.join("out/sub-01.html")).unwrap().contains("are left out"));
    let said = folder.done("bids in out group").stderr;
    assert!(said.contains("the column left_out names what 1 of 1 series lack"), "{said}");
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    assert!(table.contains("left_out") && table.contains("fod,normalise,peaks"), "{table}");
    let page = fs::read_to_string(folder.join("out/group_dwi.html")).unwrap();
    assert!(page.contains("gradient tables do not carry all that was asked for"));
}

#[test]
fn labels_of_a_t1w_image_come_onto_a_raw_series_by_that_image() {
    let folder = crate::align::with_raw_series();
    for (from, to) in [
        ("p/dwi.nii.gz", "in/sub-01/dwi/sub-01_dwi.nii.gz"),
        ("p/dwi.bval", "in/sub-01/dwi/sub-01_dwi.bval"),
        ("p/dwi.bvec", "in/sub-01/dwi/sub-01_dwi.bvec"),
        ("t1w.nii", "in/sub-01/anat/sub-01_T1w.nii"),
        ("labels.nii", "prep/sub-01/anat/sub-01_desc-aparcaseg_dseg.nii"),
    ] {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(folder.join(from), to).unwrap();
    }
    let description = json!({ "Name": "test", "BIDSVersion": "1.10.0" }).to_string();
    fs::write(folder.join("in/dataset_description.json"), description).unwrap();
    let line = "bids in out participant --raw -d prep=prep --preset connectome --device cpu \
                --set fod.order=4 --set track.select=200 --set correct.phase_encoding=j \
                --set correct.eddy=none";
    folder.done(line);
    let matrix = folder.join("out/sub-01/dwi/sub-01_seg-aparcaseg_meas-count_relmat.tsv");
    let counted: f64 = fs::read_to_string(matrix)
        .unwrap()
        .split_whitespace()
        .map(|n| n.parse::<f64>().unwrap())
        .sum();
    assert!(counted > 0.0, "nothing between labels");
    let page = fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    assert!(page.contains("The image of [align], moved by"));
    let ways = ["T1w_to-dwi", "dwi_to-T1w"].map(|way| format!("sub-01_from-{way}_mode-image_xfm"));
    for way in &ways {
        let text = fs::read_to_string(folder.join(&format!("out/sub-01/dwi/{way}.txt"))).unwrap();
        assert!(text.starts_with("#Insight Transform File V1.0"), "{text}");
    }
    let said = folder.json(&format!("out/sub-01/dwi/{}.json", ways[0]));
    assert_eq!(said["Sources"][0], "bids:input:sub-01/anat/sub-01_T1w.nii");
    // Where more is asked for they are made anew, and nothing is refused.
    folder.done(&line.replace("connectome --", "maps --"));
}
