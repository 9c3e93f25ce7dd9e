//! `fimbria correct`.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};

use crate::util::Folder;

/// The numbers of a column, a row for each volume.
fn column(folder: &Folder, file: &str, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let mut lines = text.lines();
    let at = lines.next().unwrap().split('\t').position(|head| head == name).unwrap();
    lines.map(|line| line.split('\t').nth(at).unwrap().parse().unwrap_or(f64::NAN)).collect()
}

/// The middle of the distances between columns.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - b).abs()).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[test]
fn turns_of_a_head_are_found_and_dropped_slices_are_kept_as_they_were_measured() {
    let folder = Folder::new();
    let head = "phantom head --size 27,30,22 --voxel 6 --shells 1000:20 --snr 30";
    folder.done(&format!("{head} --motion 5 --dropped-slices 3 -o raw"));
    folder.done(
        "correct raw/dwi.nii.gz --mask raw/mask.nii.gz --phase-encoding j --eddy none -o out",
    );
    for turn in ["rot_x", "rot_y", "rot_z"] {
        let truth = column(&folder, "raw/truth/motion.tsv", turn);
        let found = column(&folder, "out/confounds.tsv", turn);
        let still = vec![0.0; truth.len()];
        // Twenty directions in voxels of 6 mm: no more is asked than that the error halves, but for a turn that
        // all weighted volumes share beside the unweighted one: mutual information of one volume of 6 mm knows it to some
        // 0.12 of a voxel at 50 mm.
        let mut shared: Vec<f64> = truth.iter().zip(&found).map(|(a, b)| a - b).collect();
        shared.sort_by(f64::total_cmp);
        let shared = shared[shared.len() / 2];
        let moved: Vec<f64> = found.iter().map(|turn| turn + shared).collect();
        assert!(shared.abs() < 0.15 * 6.0 / 50.0, "{turn}: {truth:?} {found:?}");
        assert!(apart(&truth, &moved) < 0.5 * apart(&truth, &still), "{turn}: {truth:?} {found:?}");
    }
    let [volumes, slices] =
        ["volume", "slice"].map(|name| column(&folder, "out/outliers.tsv", name));
    let dropped = column(&folder, "raw/truth/dropped.tsv", "volume");
    assert!(dropped.iter().all(|volume| volumes.contains(volume)), "{dropped:?} {volumes:?}");
    let (raw, kept) = (folder.image("raw/dwi.nii.gz"), folder.image("out/outliers.nii.gz"));
    let [x, y, _] = raw.grid.dims;
    for (row, (volume, slice)) in volumes.iter().zip(&slices).enumerate() {
        let measured = &raw.volume(*volume as usize)[*slice as usize * x * y..][..x * y];
        assert_eq!(&kept.data[row * x * y..][..x * y], measured);
    }
}

/// A head that turned, and a run of its raw series.
fn with_raw_run() -> Folder {
    let folder = Folder::new();
    let head = "phantom head --size 27,30,22 --voxel 6 --shells 1000:20 --snr 30 --motion 5";
    folder.done(&format!("{head} -o raw"));
    folder.done(RAW_RUN);
    folder
}

const RAW_RUN: &str = "run raw/dwi.nii.gz --raw --mask raw/mask.nii.gz --set run.fits=[] \
                       --set correct.phase_encoding=j --set correct.eddy=none --device cpu -o out";

#[test]
fn a_raw_run_is_a_correction_and_a_run_of_what_it_wrote() {
    let folder = with_raw_run();
    assert!(!folder.join("out/load").exists());
    folder.done(
        "run out/correct/dwi.nii.gz --mask out/correct/mask.nii.gz --set run.fits=[] --device cpu -o after",
    );
    let [here, there] = ["out", "after"].map(|run| folder.image(&format!("{run}/dti/FA.nii.gz")));
    let far = here.data.iter().zip(&there.data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // The same but for the digits of the written table.
    assert!(far < 1e-4, "{far}");
    let quality = folder.json("out/quality/quality.json");
    assert!(quality["framewise_mm"][1].as_f64().unwrap() > 0.0);
}

#[test]
fn a_raw_run_is_resumed_from_the_corrected_series_and_its_page_drawn_again() {
    let folder = with_raw_run();
    let corrected = fs::read(folder.join("out/correct/run.json")).unwrap();
    folder.done(&format!("{RAW_RUN} --resume --set dti.maps=[\"FA\",\"MD\"]"));
    assert_eq!(fs::read(folder.join("out/correct/run.json")).unwrap(), corrected);
    folder.done("report out -o page.html");
    for page in ["out/report/report.html", "page.html"] {
        let page = fs::read_to_string(folder.join(page)).unwrap();
        assert!(page.contains("From the scanner") && page.contains("Susceptibility"));
        assert!(page.contains("piecewise smooth in time"), "methods");
    }
}

#[test]
fn without_a_sidecar_the_phase_encoding_is_asked_for() {
    let folder = Folder::with_subject();
    let ran = folder.run("correct dwi.nii --mask mask.nii -o out");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("--phase-encoding"), "{}", ran.stderr);
    assert!(!folder.join("out").exists());
}

/// A head that lay still as a raw data set has it, with a map of 20 Hz everywhere that is for it: at a readout of 0.05 s
/// a shift by one voxel.
fn with_field_map() -> Folder {
    let folder = Folder::new();
    let head = "phantom head --size 27,30,22 --voxel 6 --shells 1000:20 --snr 30";
    folder.done(&format!("{head} -o raw"));
    for place in ["sub-01/dwi", "sub-01/fmap"] {
        fs::create_dir_all(folder.join(place)).unwrap();
    }
    let series = folder.image("raw/dwi.nii.gz");
    let field = Image { data: vec![20.0; series.grid.len()], n_volumes: 1, ..series };
    for extension in ["nii.gz", "bval", "bvec"] {
        let name = format!("sub-01/dwi/sub-01_dwi.{extension}");
        fs::copy(folder.join(&format!("raw/dwi.{extension}")), folder.join(&name)).unwrap();
    }
    let map = folder.join("sub-01/fmap/sub-01_fieldmap.nii.gz");
    write_image(map, &field, &WriteOptions::default()).unwrap();
    let said = r#"{"PhaseEncodingDirection": "j-", "TotalReadoutTime": 0.05}"#;
    fs::write(folder.join("sub-01/dwi/sub-01_dwi.json"), said).unwrap();
    let said = r#"{"Units": "Hz", "IntendedFor": "bids::sub-01/dwi/sub-01_dwi.nii.gz"}"#;
    fs::write(folder.join("sub-01/fmap/sub-01_fieldmap.json"), said).unwrap();
    folder
}

#[test]
fn a_raw_run_undoes_distortion_by_the_field_map_of_its_series_and_says_so() {
    let folder = with_field_map();
    let run = "run sub-01/dwi/sub-01_dwi.nii.gz --raw --mask raw/mask.nii.gz --set run.fits=[] \
               --set correct.eddy=none --set correct.keep_dropped=true --device cpu";
    folder.done(&format!("{run} -o out"));
    let (raw, undone) = (folder.image("raw/dwi.nii.gz"), folder.image("out/correct/dwi.nii.gz"));
    let [x, y, z] = raw.grid.dims;
    let largest = raw.data.iter().copied().fold(0.0, f32::max);
    for at in (0..x * y * z).filter(|at| (1..y).contains(&(at / x % y))) {
        // With j- a voxel appears one lower. Splines pass through their samples.
        let off = (undone.volume(3)[at] - raw.volume(3)[at - x]).abs();
        assert!(off < 1e-4 * largest, "{at}: {off}");
    }
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("corrected by a map of the field: shifts of up to 6.0 mm"));
    assert!(page.contains("Jezzard"));
    let record = folder.json("out/correct/run.json");
    assert_eq!(record["distortion"]["readout_time_s"], 0.05, "{record}");
    folder.done(&format!("{run} --set correct.keep_distortion=true -o kept"));
    assert_eq!(folder.image("kept/correct/dwi.nii.gz").data, raw.data);
    let page = fs::read_to_string(folder.join("kept/report/report.html")).unwrap();
    assert!(page.contains("topup, DRBUDDI or unpile"));
}
