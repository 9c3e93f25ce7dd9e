//! Several series in `fimbria correct`.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_testing::refdata;

use crate::util::Folder;

/// A head of 22 volumes that lay still, as two series with sidecars: volumes that lie one voxel farther along the phase
/// encoding in the first, and one voxel back in the second; a field that says so; `whole.nii` as it is.
pub(crate) fn with_opposed_series() -> Folder {
    let folder = Folder::new();
    let head = "phantom head --size 27,30,22 --voxel 6 --shells 1000:20 --snr 30";
    folder.done(&format!("{head} -o raw"));
    let raw = folder.image("raw/dwi.nii.gz");
    let [x, y, z] = raw.grid.dims;
    let half = raw.n_volumes / 2;
    let [bvals, bvecs] = ["bval", "bvec"]
        .map(|extension| fs::read_to_string(folder.join(&format!("raw/dwi.{extension}"))).unwrap());
    for (name, range, by, direction) in
        [("a", 0..half, 1, "j"), ("b", half..raw.n_volumes, -1_isize, "j-")]
    {
        let mut image = Image::zeros(raw.grid, range.len());
        for (to, from) in range.clone().enumerate() {
            for at in 0..x * y * z {
                let line = (at / x % y) as isize - by;
                if (0..y as isize).contains(&line) {
                    let source = at % x + x * (line as usize + y * (at / (x * y)));
                    image.volume_mut(to)[at] = raw.volume(from)[source];
                }
            }
        }
        put(&folder, name, &image);
        let part = |line: &str| {
            let all: Vec<&str> = line.split_whitespace().collect();
            all[range.clone()].join(" ") + "\n"
        };
        for (extension, text) in [("bval", &bvals), ("bvec", &bvecs)] {
            let text: String = text.lines().map(part).collect();
            fs::write(folder.join(&format!("{name}.{extension}")), text).unwrap();
        }
        let said =
            format!(r#"{{"PhaseEncodingDirection": "{direction}", "TotalReadoutTime": 0.05}}"#);
        fs::write(folder.join(&format!("{name}.json")), said).unwrap();
    }
    put(&folder, "field", &Image { data: vec![20.0; raw.grid.len()], n_volumes: 1, ..raw });
    folder
}

fn put(folder: &Folder, name: &str, image: &Image) {
    write_image(folder.join(&format!("{name}.nii")), image, &WriteOptions::default()).unwrap();
}

/// Root mean square of a difference over the mean of the first, in a part of the voxels.
fn apart(a: &[f32], b: &[f32], is_in: impl Fn(usize) -> bool) -> f64 {
    let all = (0..a.len()).filter(|at| is_in(*at));
    let (mut squares, mut sum, mut n) = (0.0, 0.0, 0.0);
    for at in all {
        squares += f64::from(a[at] - b[at]).powi(2);
        sum += f64::from(a[at]);
        n += 1.0;
    }
    (squares / n).sqrt() / (sum / n)
}

const OPPOSED: &str = "correct a.nii b.nii --mask raw/mask.nii.gz --eddy none --keep-dropped";

#[test]
fn opposed_series_are_one_by_a_field_and_volumes_keep_their_order() {
    let folder = with_opposed_series();
    // Each with its own table by name.
    for (name, extension) in [("a", "bval"), ("a", "bvec"), ("b", "bval"), ("b", "bvec")] {
        let [from, to] = ["", "of_"].map(|of| folder.join(&format!("{of}{name}.{extension}")));
        fs::rename(from, to).unwrap();
    }
    let tables = "--fslgrad of_a.bvec of_a.bval --fslgrad of_b.bvec of_b.bval";
    folder.done(&format!("{OPPOSED} {tables} --field field.nii --field-unit hz -o out"));
    let (raw, out) = (folder.image("raw/dwi.nii.gz"), folder.image("out/dwi.nii.gz"));
    assert_eq!(out.n_volumes, raw.n_volumes);
    let mask = folder.image("out/mask.nii.gz");
    for volume in 0..raw.n_volumes {
        let off = apart(raw.volume(volume), out.volume(volume), |at| mask.data[at] > 0.0);
        // Noise of a thirtieth in voxels of 6 mm leaves some hundredths of a voxel.
        assert!(off < 0.06, "{volume}: {off}");
    }
    let table = fs::read_to_string(folder.join("out/confounds.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0][0], "series");
    let half = raw.n_volumes / 2;
    assert_eq!(rows.len(), 1 + raw.n_volumes);
    assert!(rows[1..=half].iter().all(|row| row[0] == "1"));
    assert!(rows[half + 1..].iter().all(|row| row[0] == "2"));
    let moved = rows[0].iter().position(|name| *name == "framewise_displacement").unwrap();
    assert_eq!((rows[1][moved], rows[half + 1][moved]), ("n/a", "n/a"));
    let bvals = |file: &str| -> Vec<f64> {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        text.split_whitespace().map(|b| b.parse().unwrap()).collect()
    };
    assert_eq!(bvals("out/dwi.bval"), [bvals("of_a.bval"), bvals("of_b.bval")].concat());
    let record = folder.json("out/run.json");
    assert_eq!(record["phase_encoding"], serde_json::json!(["j", "j-"]));
    let said = folder.json("out/dwi.json");
    assert!(
        said["SusceptibilityDistortionCorrection"].as_str().unwrap().contains("a map of the field")
    );
    assert!(said.get("PhaseEncodingDirection").is_none() && said.get("TotalReadoutTime").is_none());
    assert_eq!(said["EddyCurrentCorrection"], "none");
    let scale = record["intensity_scales"][1].as_f64().unwrap();
    assert!((scale - 1.0).abs() < 0.02, "{scale}");
}

#[test]
fn series_that_do_not_go_together_are_refused_by_name() {
    let folder = with_opposed_series();
    let mut small = folder.image("b.nii");
    small.grid.ras_from_vox.0[2][2] *= 1.1;
    put(&folder, "small", &small);
    let mut turned = folder.image("b.nii");
    let [x, y] = [0, 1].map(|row| turned.grid.ras_from_vox.0[row]);
    (turned.grid.ras_from_vox.0[0], turned.grid.ras_from_vox.0[1]) = (y.map(|v| -v), x);
    put(&folder, "turned", &turned);
    for name in ["small", "turned"] {
        for extension in ["bval", "bvec", "json"] {
            let [from, to] = ["b", name].map(|stem| folder.join(&format!("{stem}.{extension}")));
            fs::copy(from, to).unwrap();
        }
    }
    for (line, parts) in [
        (OPPOSED.to_owned(), ["b.nii (j-, 0.0500 s)", "--field"]),
        ("correct a.nii a.nii".to_owned(), ["a.nii is given twice", "a.nii"]),
        (
            "correct a.nii small.nii".to_owned(),
            ["small.nii has 27 x 30 x 22", "as many voxels of the same size"],
        ),
        ("correct a.nii turned.nii".to_owned(), ["turned.nii", "90°"]),
        (
            format!("{OPPOSED} --phase-encoding j --phase-encoding j --phase-encoding i"),
            ["--phase-encoding has 3 values", "2 series"],
        ),
        (
            format!(
                "{OPPOSED} --field field.nii --field-unit hz --readout-time 0.1 --readout-time 1 --readout-time 1"
            ),
            ["--readout-time has 3 values", "2 series"],
        ),
    ] {
        let error = folder.failed(&format!("{line} -o out"));
        assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
        assert!(!folder.join("out").exists());
    }
    for (tables, word) in [
        ("--bval a.bval --bvec a.bvec", "1 --bval for 2 series"),
        ("--grad a.b --grad b.b --grad c.b", "3 --grad for 2 series"),
    ] {
        let ran = folder.run(&format!("{OPPOSED} {tables} -o out"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
    }
    let ran = folder.done(&format!("{OPPOSED} --keep-distortion -o out"));
    assert!(ran.stderr.contains("series are distorted in different ways"), "{}", ran.stderr);
}

#[test]
fn a_raw_run_is_of_several_series() {
    let folder = with_opposed_series();
    let run = "run a.nii b.nii --raw --mask raw/mask.nii.gz --set run.fits=[] --set correct.eddy=none \
               --set correct.field=[\"field.nii\"] --set correct.field_unit=hz --device cpu";
    folder.done(&format!("{run} -o out"));
    assert_eq!(
        folder.image("out/correct/dwi.nii.gz").n_volumes,
        folder.image("raw/dwi.nii.gz").n_volumes
    );
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(
        page.contains("2 corrected together") && page.contains("2 series were corrected as one")
    );
    let error = folder.failed("run a.nii b.nii --mask raw/mask.nii.gz -o plain");
    assert!(error.contains("--raw"), "{error}");
}

/// The unweighted volumes of the two encodings, root mean square of their difference over the mean within the mask.
fn between(folder: &Folder, out: &str, volumes: [usize; 2]) -> f64 {
    let (series, mask) =
        (folder.image(&format!("{out}/dwi.nii.gz")), folder.image(&format!("{out}/mask.nii.gz")));
    apart(series.volume(volumes[0]), series.volume(volumes[1]), |at| mask.data[at] > 0.0)
}

#[test]
fn opposed_series_of_a_scanner_meet_by_its_field_map() {
    let Some(data) = refdata("scanners/siemens_prisma_xa30") else { return };
    let folder = Folder::new();
    let at = |name: &str| data.join(format!("{name}.nii.gz")).display().to_string();
    let pair = format!("correct {} {} --eddy none", at("dwi_AP"), at("dwi_PA"));
    let field = format!(
        "--field {} --field-magnitude {} --field-magnitude {}",
        at("gre_phasediff"),
        at("gre_e1"),
        at("gre_e2")
    );
    folder.done(&format!("{pair} {field} -o right"));
    folder.done(&format!("{pair} --keep-distortion -o plain"));
    let n = folder.image("right/dwi.nii.gz").n_volumes / 2;
    let [right, plain] = ["right", "plain"].map(|out| between(&folder, out, [0, n]));
    assert!(right < 0.65 * plain, "{plain:.3} {right:.3}");
    let correlation = |out: &str| {
        let record = folder.json(&format!("{out}/run.json"));
        record["agreement"]["after"]["neighbour_correlation"].as_f64().unwrap()
    };
    let [right, plain] = ["right", "plain"].map(correlation);
    assert!(right > plain + 0.1, "{plain:.3} {right:.3}");
}
