//! `fimbria bids`.

mod joined;
mod names;
mod ownership;
mod series;
mod several;
mod standard;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fimbria_image::{BvecFrame, WriteOptions, write_image};
use serde_json::json;

use crate::info;
use crate::util::{Folder, subject};

/// Where QSIPrep writes the series of three subjects; the second has two sessions.
pub(crate) const SERIES: [(&str, &str); 4] = [
    ("sub-01", "sub-01"),
    ("sub-02/ses-1", "sub-02_ses-1"),
    ("sub-02/ses-2", "sub-02_ses-2"),
    ("sub-03", "sub-03"),
];

/// `in`, a data set in the shape of QSIPrep's derivatives: each series is brighter than the one before.
pub(crate) fn data_set(folder: &Folder, series: &[(&str, &str)]) {
    let root = folder.join("in");
    fs::create_dir_all(&root).unwrap();
    let description = json!({
        "Name": "test", "BIDSVersion": "1.10.0", "DatasetType": "derivative",
        "GeneratedBy": [{ "Name": "QSIPrep" }],
    });
    fs::write(root.join("dataset_description.json"), description.to_string()).unwrap();
    let mut made = subject();
    let to_fsl = BvecFrame::Fsl.frame_from_ras(&made.dwi.grid.ras_from_vox);
    let dirs: Vec<[f64; 3]> = made
        .bvecs
        .lines()
        .map(|line| {
            let mut words = line.split(' ').map(|word| word.parse().unwrap());
            let [x, y, z]: [f64; 3] = [(); 3].map(|()| words.next().unwrap());
            to_fsl.map(|row| row[0] * x + row[1] * y + row[2] * z)
        })
        .collect();
    let row =
        |axis: usize| dirs.iter().map(|dir| dir[axis].to_string()).collect::<Vec<_>>().join(" ");
    let bvecs = [0, 1, 2].map(row).join("\n");
    for (at, name) in series {
        let folder = root.join(at).join("dwi");
        fs::create_dir_all(&folder).unwrap();
        made.dwi.data.iter_mut().for_each(|value| *value *= 1.1);
        let path = |rest: &str| folder.join(format!("{name}_{rest}"));
        let options = WriteOptions::default();
        write_image(path("space-ACPC_desc-preproc_dwi.nii.gz"), &made.dwi, &options).unwrap();
        write_image(path("space-ACPC_desc-brain_mask.nii.gz"), &made.mask, &options).unwrap();
        fs::write(path("space-ACPC_desc-preproc_dwi.bval"), &made.bvals).unwrap();
        fs::write(path("space-ACPC_desc-preproc_dwi.bvec"), &bvecs).unwrap();
        // A row for each volume; the last one was lost.
        let moved = ["n/a"].into_iter().chain(["0.2", "0.4"].repeat(10)).chain(["n/a"]);
        assert_eq!(moved.clone().count(), made.dwi.n_volumes);
        let confounds =
            format!("framewise_displacement\n{}\n", moved.collect::<Vec<_>>().join("\n"));
        fs::write(path("desc-confounds_timeseries.tsv"), confounds).unwrap();
        fs::write(path("space-ACPC_desc-image_qc.tsv"), "file_name\tmean_fd\nx\t0.3\n").unwrap();
    }
}

/// A folder with that data set.
pub(crate) fn with_data_set() -> Folder {
    let folder = Folder::new();
    data_set(&folder, &SERIES);
    folder
}

/// Every file below a folder, by its name below it.
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                all.insert(name, fs::read(path).unwrap());
            }
        }
    }
    all
}

const PARTICIPANT: &str = "bids in out participant --device cpu";

#[test]
fn every_session_is_made_and_kept_when_it_is_done() {
    let folder = with_data_set();
    let first = folder.done(PARTICIPANT).stderr;
    assert!(first.contains("4 of 4 done"), "{first}");
    for (at, name) in SERIES {
        let record = folder.json(&format!("out/{at}/run.json"));
        assert_eq!(record["task"], "bids");
        assert!(folder.join(&format!("out/{name}.html")).exists(), "{name}");
    }
    let before = contents(&folder.join("out"));
    let second = folder.done(PARTICIPANT).stderr;
    assert!(second.contains("0 of 4 done, 4 kept from before"), "{second}");
    assert!(contents(&folder.join("out")) == before);
    // Of other parameters it is another, which takes nothing away unasked.
    let other = format!("{PARTICIPANT} --participant-label 01 --set dti.method=ols");
    let third = folder.failed(&other);
    let refused =
        "sub-01 holds results of dti that were made with other options: --force makes them";
    assert!(third.contains(refused), "{third}");
    let mut after = contents(&folder.join("out"));
    after.retain(|name, _| !name.contains("failed"));
    assert!(after == before, "all but what it said");
    let third = folder.done(&format!("{other} --force"));
    assert!(third.stderr.contains("1 of 1 done"), "{}", third.stderr);
    let forced = folder.done(&format!("{PARTICIPANT} --participant-label sub-03 --force"));
    assert!(forced.stderr.contains("1 of 1 done"), "{}", forced.stderr);
}

#[test]
fn maps_are_those_of_a_run_of_the_series() {
    let folder = with_data_set();
    let settings = "--set input.b0_threshold=20";
    folder.done(&format!("{PARTICIPANT} --participant-label 03 {settings}"));
    let series = "in/sub-03/dwi/sub-03_space-ACPC_desc-preproc_dwi.nii.gz";
    let mask = "in/sub-03/dwi/sub-03_space-ACPC_desc-brain_mask.nii.gz";
    folder.done(&format!("run {series} --mask {mask} --b0-threshold 20 --device cpu -o run"));
    let ours = "out/sub-03/dwi/sub-03_space-ACPC_model-tensor_param";
    for (param, map) in [("fa", "FA"), ("v1", "V1"), ("diffusivity", "tensor")] {
        let ours = fs::read(folder.join(&format!("{ours}-{param}_dwimap.nii.gz"))).unwrap();
        let theirs = fs::read(folder.join(&format!("run/dti/{map}.nii.gz"))).unwrap();
        assert!(ours == theirs, "{map}");
    }
}

#[test]
fn a_session_that_fails_is_named_and_the_others_go_on() {
    let folder = with_data_set();
    let broken = folder.join("in/sub-02/ses-1/dwi/sub-02_ses-1_space-ACPC_desc-preproc_dwi.nii.gz");
    let bytes = fs::read(&broken).unwrap();
    fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("1 of 4 failed") && said.contains("\n  sub-02_ses-1: "), "{said}");
    assert!(said.contains("3 of 4 done"), "{said}");
    assert!(!folder.join("out/sub-02/ses-1/run.json").exists());
    let log = folder.join("out/logs/failed/sub-02_ses-1.txt");
    let told = fs::read_to_string(&log).unwrap();
    assert!(told.contains("error: ") && told.contains("participant"), "{told}");
    // Once it is whole, it alone is made.
    fs::write(&broken, bytes).unwrap();
    let said = folder.done(PARTICIPANT).stderr;
    assert!(said.contains("1 of 4 done, 3 kept"), "{said}");
    assert!(!log.exists());
}

#[test]
fn what_would_be_done_is_told_and_nothing_is_made() {
    let folder = with_data_set();
    let row = |told: &str, session: &str| -> Vec<String> {
        let line = told.lines().find(|line| line.split('\t').next() == Some(session));
        line.unwrap().split('\t').map(str::to_owned).collect()
    };
    let told = folder.done(&format!("{PARTICIPANT} --dry-run")).stdout;
    assert!(!folder.join("out").exists());
    assert!(row(&told, "sub-03")[1].contains("dti"), "{told}");
    assert_eq!(row(&told, "all")[1], "4 to make, 0 kept, 0 that fail");
    folder.done(&format!("{PARTICIPANT} --participant-label 03"));
    let told = folder.done(&format!("{PARTICIPANT} --dry-run")).stdout;
    assert_eq!(row(&told, "sub-03")[1], "kept: it is finished");
    assert_eq!(row(&told, "all")[1], "3 to make, 1 kept, 0 that fail");
}

#[test]
fn a_series_of_tensors_that_are_not_linear_is_refused_by_what_it_is() {
    let folder = with_data_set();
    let series = folder.image("in/sub-03/dwi/sub-03_space-ACPC_desc-preproc_dwi.nii.gz");
    let shapes = vec!["1"; series.n_volumes - 3].join(" ") + " -0.5 -0.5 0";
    let at = "in/sub-03/dwi/sub-03_space-ACPC_desc-preproc_dwi.bshape";
    fs::write(folder.join(at), shapes).unwrap();
    let said = folder.failed(PARTICIPANT);
    assert!(said.contains("3 of 4 done") && said.contains("1 of 4 failed:\n  sub-03: "), "{said}");
    assert!(said.contains("b-tensors of 3 volumes are not linear"), "{said}");
    assert!(!folder.join("out/sub-03").exists());
    fs::write(folder.join(at), vec!["1"; series.n_volumes].join(" ")).unwrap();
    folder.done(PARTICIPANT);
}

#[test]
fn a_subject_with_sessions_has_a_page_that_leads_to_each() {
    let folder = with_data_set();
    folder.done(&format!("{PARTICIPANT} --session-label 1"));
    let page = || fs::read_to_string(folder.join("out/sub-02.html")).unwrap();
    let leads = |to: &str| page().contains(&format!("<a href=\"{to}\">"));
    assert!(leads("sub-02_ses-1.html") && !leads("sub-02_ses-2.html"));
    folder.done(PARTICIPANT);
    assert!(leads("sub-02_ses-1.html") && leads("sub-02_ses-2.html"));
    assert!(page().contains("mm²/s") && !page().contains("http:"), "units of diffusivities");
    let subject = format!("{PARTICIPANT} --report-output-level subject");
    folder.done(&subject);
    assert!(!folder.join("out/sub-02.html").exists(), "left from before");
    let page = fs::read_to_string(folder.join("out/sub-02/sub-02.html")).unwrap();
    assert!(page.contains("<a href=\"../sub-02/sub-02_ses-1.html\">"), "{page}");
}

#[test]
fn motion_of_the_confounds_is_judged_on_the_page() {
    let folder = with_data_set();
    folder.done(&format!("{PARTICIPANT} --participant-label 01"));
    let page = fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    assert!(page.contains("Motion in the scanner") && page.contains("0.30 mm"));
    let record = folder.json("out/sub-01/run.json");
    let inputs = record["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["role"] == "confounds"), "{inputs:?}");
}

/// `in`, a data set of rings of fibres, with the table of this name.
fn with_rings(table: &str) -> Folder {
    let folder = info::with_rings();
    let dwi = folder.join("in/sub-01/dwi");
    fs::create_dir_all(&dwi).unwrap();
    let bvec = format!("{table}.bvec");
    for (from, to) in [
        ("turned.nii", "desc-preproc_dwi.nii"),
        ("turned.bval", "desc-preproc_dwi.bval"),
        (&*bvec, "desc-preproc_dwi.bvec"),
        ("mask.nii", "desc-brain_mask.nii"),
    ] {
        fs::copy(folder.join(from), dwi.join(format!("sub-01_space-ACPC_{to}"))).unwrap();
    }
    folder
}

#[test]
fn a_wrong_gradient_table_is_warned_of_and_mended_where_that_is_asked_for() {
    let folder = with_rings("wrong");
    let said = folder.done(PARTICIPANT).stderr;
    assert!(said.contains("the gradient table looks wrong"), "{said}");
    let warned = |record: &serde_json::Value, of: &str| {
        let warnings = record["warnings"].as_array().unwrap();
        warnings.iter().any(|warning| warning.as_str().unwrap().contains(of))
    };
    assert!(warned(&folder.json("out/sub-01/run.json"), "the gradient table looks wrong"));
    let page = fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    assert!(page.contains("--fix-gradients applies it"));
    let sidecar = "out/sub-01/dwi/sub-01_space-ACPC_model-tensor_param-fa_dwimap.json";
    assert!(folder.json(sidecar).get("GradientTableMended").is_none());
    let said = folder.done(&format!("{PARTICIPANT} --fix-gradients --force")).stderr;
    assert!(said.contains("1 of 1 done") && said.contains("was mended"), "{said}");
    let change = "x and y swapped, z flipped";
    let record = folder.json("out/sub-01/run.json");
    assert_eq!(record["series"][0]["gradients_fixed"], change);
    assert!(warned(&record, "the gradient table was mended"));
    assert_eq!(folder.json(sidecar)["GradientTableMended"], change);
    assert!(folder.join("out/sub-01/dwi/sub-01_space-ACPC_desc-fixed_dwi.b").exists());
    // The same maps as of the right table.
    let right = with_rings("turned");
    right.done(&format!("{PARTICIPANT} --fix-gradients"));
    assert!(right.json("out/sub-01/run.json")["series"][0].get("gradients_fixed").is_none());
    let fa = sidecar.replace(".json", ".nii.gz");
    let (mended, right) = (folder.image(&fa), right.image(&fa));
    let both = mended.data.iter().zip(&right.data);
    assert!(both.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) < 1e-5, "rounding of a table");
}

#[test]
fn what_was_done_is_told_of_all_sessions_whoever_made_them() {
    let folder = with_data_set();
    // With a second shell, of which kurtosis can be told.
    folder
        .done("phantom crossing --size 14,16,10 --voxel 11 --b0s 2 --shells 1000:30,2000:30 -o p");
    for (from, to) in [
        ("dwi.nii.gz", "preproc_dwi.nii.gz"),
        ("dwi.bval", "preproc_dwi.bval"),
        ("dwi.bvec", "preproc_dwi.bvec"),
        ("mask.nii.gz", "brain_mask.nii.gz"),
    ] {
        for subject in ["sub-03", "sub-04"] {
            let dwi = folder.join(&format!("in/{subject}/dwi"));
            fs::create_dir_all(&dwi).unwrap();
            let to = dwi.join(format!("{subject}_space-ACPC_desc-{to}"));
            fs::copy(folder.join(&format!("p/{from}")), to).unwrap();
        }
    }
    let cited = || fs::read_to_string(folder.join("out/logs/CITATION.md")).unwrap();
    folder.done(&format!("{PARTICIPANT} --participant-label 01"));
    assert!(!cited().contains("kurtosis"));
    folder.done(&format!("{PARTICIPANT} --participant-label 03"));
    assert!(cited().contains("kurtosis"), "{}", cited());
    folder.done(&format!("{PARTICIPANT} --participant-label 04 --preset fibres"));
    let all = cited();
    assert!(all.contains("kurtosis") && all.contains("deconvol"), "{all}");
    // Of a process that was killed before it could write it, the group has it too.
    fs::remove_dir_all(folder.join("out/logs")).unwrap();
    folder.done("bids in out group");
    assert_eq!(cited(), all);
    fs::remove_dir_all(folder.join("out/logs")).unwrap();
    let kept = folder.done(&format!("{PARTICIPANT} --participant-label 03")).stderr;
    assert!(kept.contains("1 kept"), "{kept}");
    assert_eq!(cited(), all);
}

#[test]
fn what_old_releases_of_qsiprep_wrote_is_read_too() {
    let folder = with_data_set();
    let at = folder.join("in/sub-01/dwi");
    for (old, new) in [
        ("desc-confounds_timeseries.tsv", "confounds.tsv"),
        ("space-ACPC_desc-image_qc.tsv", "desc-ImageQC_dwi.csv"),
    ] {
        fs::remove_file(at.join(format!("sub-01_{old}"))).unwrap();
        let text = match new {
            "confounds.tsv" => {
                let moved = ["0.7\t0\n0.9\t0\n"; 10].concat();
                format!("framewise_displacement\ttrans_x\nn/a\t0\n{moved}n/a\t0\n")
            }
            _ => "subject_id,raw_neighbor_corr,mean_fd\n01,0.65,0.8\n".to_owned(),
        };
        fs::write(at.join(format!("sub-01_{new}")), text).unwrap();
    }
    folder.done(&format!("{PARTICIPANT} --participant_label 01 --skip_bids_validation"));
    let record = folder.json("out/sub-01/run.json");
    let said = &record["series"][0]["input_columns"];
    assert!((said["framewise_displacement_mean"].as_f64().unwrap() - 0.8).abs() < 1e-12, "{said}");
    assert_eq!(
        (&said["input_mean_fd"], &said["input_raw_neighbor_corr"]),
        (&json!(0.8), &json!(0.65))
    );
    let page = fs::read_to_string(folder.join("out/sub-01.html")).unwrap();
    assert!(page.contains("Motion in the scanner") && page.contains("0.80 mm"));
    let inputs = record["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["role"] == "image_qc"), "{inputs:?}");
    // What they say is no longer so.
    fs::write(at.join("sub-01_desc-ImageQC_dwi.csv"), "mean_fd\n0.25\n").unwrap();
    let again = format!("{PARTICIPANT} --participant_label 01 --session_label x");
    assert!(folder.failed(&again).contains("no session x"));
    let said = folder.done(&format!("{PARTICIPANT} --participant_label 01 --work_dir w")).stderr;
    assert!(said.contains("1 of 1 done"), "{said}");
    assert_eq!(
        folder.json("out/sub-01/run.json")["series"][0]["input_columns"]["input_mean_fd"],
        0.25
    );
}

#[test]
fn entities_are_no_markup() {
    let folder = Folder::new();
    let evil = "sub-01_acq-<img src=x onerror=alert(1)>";
    data_set(&folder, &[("sub-01", evil)]);
    folder.done(PARTICIPANT);
    folder.done("bids in out group");
    for page in ["out/sub-01.html", "out/group_dwi.html", "out/logs/CITATION.html"] {
        let html = fs::read_to_string(folder.join(page)).unwrap();
        assert!(!html.contains("<img src=x"), "{page}");
    }
}

#[test]
fn inputs_are_only_read() {
    let folder = with_data_set();
    let before = contents(&folder.join("in"));
    let mut rights = fs::metadata(folder.join("in/sub-01/dwi")).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(folder.join("in/sub-01/dwi"), rights).unwrap();
    folder.done(PARTICIPANT);
    folder.done("bids in out group");
    assert!(contents(&folder.join("in")) == before);
    let said = folder.failed("bids in in participant");
    assert!(said.contains("made by QSIPrep"), "{said}");
    assert!(contents(&folder.join("in")) == before);
}

#[test]
fn thread_counts_do_not_change_the_digest() {
    let folder = with_data_set();
    let digest = |out: &str, threads: u32| {
        let line = format!("bids in {out} participant --device cpu --nprocs {threads} --digest");
        folder.done(&line).stdout
    };
    let one = digest("one", 1);
    assert_eq!(one, digest("three", 3));
    let last = one.lines().last().unwrap();
    assert!(last.ends_with("  all") && last.len() == 32 + 5, "{last}");
    let map = "  sub-02/ses-2/dwi/sub-02_ses-2_space-ACPC_model-tensor_param-fa_dwimap.nii.gz";
    assert!(one.lines().any(|line| line.ends_with(map)), "{one}");
    assert!(!one.contains("html") && !one.contains("run.json"));
}

#[test]
fn the_group_has_a_row_and_dots_of_every_series() {
    let folder = with_data_set();
    let said = folder.failed("bids in out group");
    assert!(said.contains("run `participant` first"), "{said}");
    folder.done(&format!("{PARTICIPANT} --participant-label 01 02"));
    let said = folder.done("bids in out group").stderr;
    assert!(said.contains("not finished: sub-03"), "{said}");
    let table = fs::read_to_string(folder.join("out/group_dwi.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 4);
    let column = |name: &str| rows[0].iter().position(|heading| *heading == name).unwrap();
    let value = |row: usize, name: &str| rows[row][column(name)];
    assert_eq!((value(2, "participant_id"), value(2, "session_id")), ("sub-02", "ses-1"));
    // Of eigenvalues of 1.7, 0.4 and 0.2e-3 mm²/s, in closed form; maps are singles.
    let eigenvalues = [1.7e-3, 0.4e-3, 0.2e-3_f64];
    let md = eigenvalues.iter().sum::<f64>() / 3.0;
    let spread: f64 = eigenvalues.iter().map(|l| (l - md).powi(2)).sum();
    let fa = (1.5 * spread / eigenvalues.iter().map(|l| l * l).sum::<f64>()).sqrt();
    let number = |row: usize, name: &str| value(row, name).parse::<f64>().unwrap();
    assert!((number(1, "tensor_md_median") - md).abs() < 1e-8);
    assert!((number(1, "tensor_fa_median") - fa).abs() < 1e-5);
    assert_eq!(number(1, "volumes_used"), 22.0);
    assert_eq!(number(1, "tensor_fitted_percent"), 100.0);
    assert!((number(1, "framewise_displacement_mean") - 0.3).abs() < 1e-12);
    assert_eq!(number(1, "input_mean_fd"), 0.3);
    // The verdicts of the page: what each finds, in a word, and its number where it has one.
    let verdicts: Vec<_> = rows[0].iter().filter(|name| name.ends_with("_verdict")).collect();
    assert_eq!(verdicts.len(), 11, "{verdicts:?}");
    assert_eq!(value(1, "motion_in_the_scanner_verdict"), "good");
    assert_eq!(number(1, "motion_in_the_scanner"), 0.3);
    assert_eq!(value(1, "gradient_table_verdict"), "unknown", "the image is too thin to tell");
    assert_eq!(number(1, "unphysical_voxels"), 0.0);
    let columns = folder.json("out/group_dwi.json");
    assert!(rows[0][1..].iter().all(|name| columns[*name]["Description"].is_string()), "{columns}");
    assert_eq!(columns["tensor_md_median"]["Units"], "mm^2/s");
    assert_eq!(columns["tensor_fitted_percent"]["Units"], "percent");
    assert_eq!(columns["framewise_displacement_mean"]["Units"], "mm");
    assert_eq!(columns["motion_in_the_scanner"]["Units"], "mm");
    assert_eq!(
        columns["motion_in_the_scanner_verdict"]["Levels"]["bad"],
        "not to be worked with as it is"
    );
    assert!(columns["tensor_fa_median"].get("Units").is_none(), "a pure number");
    let page = fs::read_to_string(folder.join("out/group_dwi.html")).unwrap();
    assert!(page.contains("mm²/s"), "no unit");
    assert!(page.contains("Are the scans good?") && page.contains("motion in the scanner"));
    assert!(page.contains("<a href=\"sub-02_ses-1.html\"><title>sub-02_ses-1"), "no dot of it");
    assert!(!page.contains("src=\"http") && !page.contains("<script"));
}

#[test]
fn pages_go_where_they_are_wanted() {
    let folder = with_data_set();
    let both = "bids in out participant --participant-label 01 --device cpu --report-output-level";
    for (level, page) in [("root", "sub-01.html"), ("session", "sub-01/sub-01.html")] {
        // Where another place is wanted, what is done is not kept.
        let said = folder.done(&format!("{both} {level}")).stderr;
        assert!(said.contains("1 of 1 done"), "{said}");
        assert!(folder.join(&format!("out/{page}")).exists(), "{level}");
    }
    assert!(!folder.join("out/sub-01.html").exists(), "left from before");
    for (level, page) in [
        ("root", "sub-02_ses-1.html"),
        ("subject", "sub-02/sub-02_ses-1.html"),
        ("session", "sub-02/ses-1/sub-02_ses-1.html"),
    ] {
        let line = format!("bids in {level} participant --participant-label 02 --session-label 1");
        folder.done(&format!("{line} --device cpu --report-output-level {level}"));
        assert!(folder.join(&format!("{level}/{page}")).exists(), "{level}");
        folder.done(&format!("bids in {level} group"));
        let group = fs::read_to_string(folder.join(&format!("{level}/group_dwi.html"))).unwrap();
        assert!(group.contains(&format!("<a href=\"{page}\">")), "{level}");
    }
}

#[test]
fn a_file_says_what_is_done_but_not_of_which_series() {
    let folder = with_data_set();
    fs::write(folder.join("study.toml"), "[run]\nfits = []\n[dti]\nmaps = [\"FA\"]\n").unwrap();
    let line = "bids in out participant --participant-label 01 --config study.toml";
    folder.done(line);
    let files = contents(&folder.join("out/sub-01/dwi"));
    let names: Vec<_> = files.keys().filter(|name| name.ends_with(".nii.gz")).collect();
    let map = |param: &str| format!("sub-01_space-ACPC_model-tensor_param-{param}_dwimap.nii.gz");
    assert_eq!(names, [&map("fa"), &map("status")]);
    fs::write(folder.join("study.toml"), "[input]\nmask = \"m.nii\"\n").unwrap();
    let said = folder.failed(line);
    assert!(said.contains("[input] mask cannot be given"), "{said}");
}

#[test]
fn what_is_asked_for_and_not_there_is_said() {
    let folder = with_data_set();
    let said = folder.failed("bids in out participant --participant-label 01 09");
    assert!(said.contains("no subject 09"), "{said}");
    let said =
        folder.failed(&format!("{PARTICIPANT} --preset susceptibility --participant-label 01"));
    assert!(said.contains("no gradient-echo scan"), "{said}");
    let said = folder.failed("bids out nothing participant");
    assert!(said.contains("open the data set out") || said.contains("no series"), "{said}");
    assert_eq!(folder.run("bids in out group --preset magic").code, Some(2));
}

#[test]
fn runs_of_a_raw_session_are_made_together_with_a_mask_of_each() {
    let folder = Folder::new();
    folder.done("phantom crossing --size 14,16,10 --voxel 11 --b0s 2 --shells 1000:12 -o p");
    let dwi = folder.join("in/sub-01/ses-a/dwi");
    fs::create_dir_all(&dwi).unwrap();
    for run in ["run-1", "run-2"] {
        let series = dwi.join(format!("sub-01_ses-a_{run}_dwi.nii.gz"));
        fs::copy(folder.join("p/dwi.nii.gz"), series).unwrap();
    }
    // One table stands for both.
    for table in ["bval", "bvec"] {
        let (from, to) = (format!("p/dwi.{table}"), format!("in/dwi.{table}"));
        fs::copy(folder.join(&from), folder.join(&to)).unwrap();
    }
    let said = folder.done(PARTICIPANT).stderr;
    assert!(said.contains("1 of 1 done"), "{said}");
    let record = folder.json("out/sub-01/ses-a/run.json");
    for (i, run) in ["run-1", "run-2"].into_iter().enumerate() {
        let name = format!("sub-01_ses-a_{run}");
        assert!(folder.join(&format!("out/{name}.html")).exists());
        let mask = format!("out/sub-01/ses-a/dwi/{name}_desc-brain_mask");
        assert!(folder.image(&format!("{mask}.nii.gz")).data.contains(&1.0));
        assert_eq!(folder.json(&format!("{mask}.json"))["Type"], "Brain");
        assert_eq!(record["series"][i]["name"], name);
        assert!(record["parameters"][&name]["dti"].is_object());
    }
    let description = folder.json("out/dataset_description.json");
    assert_eq!(description["SourceDatasets"][0]["URL"], "../in");
}

/// The script of the page, as Slurm runs it: its body, with what Slurm sets.
#[cfg(unix)]
#[test]
fn the_array_script_of_the_page_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bids.md");
    let page = fs::read_to_string(page).unwrap();
    let script = page.split("```sh\n").find(|part| part.starts_with("#!/bin/bash")).unwrap();
    let script = script.split("```").next().unwrap();
    let folder = with_data_set();
    fs::write(folder.join("array.sh"), script).unwrap();
    let program = Path::new(assert_cmd::cargo::cargo_bin!("fimbria")).parent().unwrap().to_owned();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let task = |number: u32| {
        let mut command = std::process::Command::new("bash");
        // Fewer streamlines than a study wants.
        command.args(["array.sh", "--set", "track.select=100"]).current_dir(folder.path());
        command.envs([("IN", "in"), ("OUT", "out"), ("PATH", &path), ("SLURM_CPUS_PER_TASK", "1")]);
        command.env("SLURM_ARRAY_TASK_ID", number.to_string()).output().unwrap()
    };
    let output = task(1);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = task(2);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("0 of 4 done, 4 kept from before"), "{said}");
}

#[test]
fn finished_sessions_are_known_by_sizes_and_times_else_by_their_bytes() {
    let folder = with_data_set();
    folder.done(PARTICIPANT);
    let series = folder.join("in/sub-03/dwi/sub-03_space-ACPC_desc-preproc_dwi.bval");
    let (bytes, found) = (fs::read(&series).unwrap(), fs::metadata(&series).unwrap());
    let written_at = |bytes: &[u8], time: std::time::SystemTime| {
        fs::write(&series, bytes).unwrap();
        let file = fs::File::options().append(true).open(&series).unwrap();
        file.set_times(fs::FileTimes::new().set_modified(time)).unwrap();
    };
    let time = found.modified().unwrap();
    let later = time + std::time::Duration::from_secs(1);
    let made = |said: String| said.contains("1 of 4 done, 3 kept");
    // Not read at all.
    let other: Vec<u8> = String::from_utf8(bytes.clone()).unwrap().replace("1000", "1001").into();
    written_at(&other, time);
    assert!(!made(folder.done(PARTICIPANT).stderr));
    // Read, and the same.
    written_at(&bytes, later);
    assert!(!made(folder.done(PARTICIPANT).stderr));
    // Read, and another.
    written_at(&other, later + std::time::Duration::from_secs(1));
    assert!(made(folder.done(PARTICIPANT).stderr));
    // A result that is gone is made again.
    let map = "out/sub-03/dwi/sub-03_space-ACPC_model-tensor_param-fa_dwimap.nii.gz";
    fs::remove_file(folder.join(map)).unwrap();
    assert!(made(folder.done(PARTICIPANT).stderr));
    assert!(folder.join(map).exists());
}
