//! `fimbria life`: what it finds, how it writes it, and what it refuses.

use std::fs;
use std::path::PathBuf;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::{Group, Header, Streamlines, Tractogram, WriteOptions as TractOptions};

use crate::util::{AXIS, Folder, grid};

/// Options that read the subject.
const SUBJECT: &str = "--dwi dwi.nii --bvec-frame scanner";
/// Streamlines along the fibres; those after them run across.
const ALONG: usize = 12;
const ALL: usize = 20;

/// Straight streamlines through the middle of the subject: first along its fibres, then across.
fn streamlines() -> Streamlines {
    let across = [[-0.6, 0.48, 0.64], [0.64, 0.64, -0.42]];
    let mut lines = Streamlines::default();
    for f in 0..ALL {
        let at = |i: usize| (f * (3 + i) % 7) as f64 / 3.5 - 1.0;
        let vox = [3.0 + 1.6 * at(0), 2.5 + 1.4 * at(1), 2.0 + at(2)];
        let centre = grid().ras_from_vox.apply(vox);
        let dir = if f < ALONG { AXIS } else { across[f % 2] };
        let point = |step: i32| -> [f32; 3] {
            let along = f64::from(step);
            std::array::from_fn(|i| (centre[i] + along * dir[i]) as f32)
        };
        lines.push(&(-3..=3).map(point).collect::<Vec<_>>());
    }
    lines
}

fn with_tractogram(name: &str, header: Header) -> Folder {
    let folder = Folder::with_subject();
    let tractogram = Tractogram::new(header, streamlines());
    tractogram.write(folder.join(name), &TractOptions::default()).unwrap();
    folder
}

fn weights(folder: &Folder, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn streamlines_along_the_fibres_keep_weight_and_those_across_do_not() {
    let folder = with_tractogram("lines.tck", Header::default());
    folder.done(&format!("life lines.tck {SUBJECT} -o out"));
    let found = weights(&folder, "out/weights.txt");
    assert_eq!(found.len(), ALL);
    let sum = |part: &[f64]| part.iter().sum::<f64>();
    // The subject's tissue is a tensor of lower anisotropy than a stick.
    assert!(sum(&found[ALONG..]) < 0.02 * sum(&found[..ALONG]), "{found:?}");
    let kept = found.iter().filter(|w| **w > 0.0).count();
    let record = folder.json("out/run.json");
    assert_eq!(record["nonzero"], kept);
    assert!(record["optimality"].as_f64().unwrap() <= 1e-5, "{record}");
    assert!(record["objective"].as_f64().unwrap() > 0.0 && record["iterations"].is_u64());
    let pruned = Tractogram::read(folder.join("out/pruned.tck")).unwrap();
    assert_eq!(pruned.streamlines.len(), kept);
    let positive: Vec<f64> = found.into_iter().filter(|w| *w > 0.0).collect();
    assert_eq!(weights(&folder, "out/pruned_weights.txt"), positive);
    assert_eq!(
        folder.names("out"),
        [
            "evidence.tsv",
            "prediction.nii.gz",
            "pruned.tck",
            "pruned_weights.txt",
            "rmse.nii.gz",
            "rmse_s0.nii.gz",
            "run.json",
            "weights.txt"
        ]
    );
}

#[test]
fn a_prediction_and_its_error_agree() {
    let folder = with_tractogram("lines.tck", Header::default());
    folder.done(&format!("life lines.tck {SUBJECT} -o out --mask mask.nii"));
    let (dwi, predicted) = (folder.image("dwi.nii"), folder.image("out/prediction.nii.gz"));
    let (rmse, relative) = (folder.image("out/rmse.nii.gz"), folder.image("out/rmse_s0.nii.gz"));
    let mask = folder.image("mask.nii");
    let mut seen = 0;
    for voxel in (0..dwi.grid.len()).filter(|&v| rmse.data[v] > 0.0) {
        assert!(mask.data[voxel] > 0.0, "an error outside the mask");
        // Two unweighted volumes, then the weighted ones.
        let error = |v: usize| f64::from(dwi.volume(v)[voxel] - predicted.volume(v)[voxel]);
        let n = dwi.n_volumes - 2;
        let mean = (2..dwi.n_volumes).map(|v| error(v).powi(2)).sum::<f64>() / n as f64;
        // Samples are f32 of about a thousand.
        assert!((mean.sqrt() - f64::from(rmse.data[voxel])).abs() < 1e-3);
        assert!((rmse.data[voxel] / dwi.volume(0)[voxel] - relative.data[voxel]).abs() < 1e-6);
        seen += 1;
    }
    assert!(seen > 20, "{seen} voxels");
}

#[test]
fn a_trx_keeps_its_groups_and_gets_weights() {
    let group = |name: &str, members: std::ops::Range<usize>| Group {
        name: name.to_owned(),
        members: members.map(|f| f as u32).collect(),
        data: Vec::new(),
    };
    let groups = vec![group("along", 0..ALONG), group("across", ALONG..ALL)];
    let folder = with_tractogram("lines.trx", Header { groups, ..Header::on(grid()) });
    fs::write(folder.join("sets.txt"), "# two of them\npair 0 1\n").unwrap();
    folder.done(&format!("life lines.trx {SUBJECT} -o out --sets sets.txt"));
    let found = weights(&folder, "out/weights.txt");
    let pruned = Tractogram::read(folder.join("out/pruned.trx")).unwrap();
    let column = pruned.streamlines.streamline_column("weight").unwrap();
    let positive: Vec<f64> = found.iter().copied().filter(|w| *w > 0.0).collect();
    assert!(column.values().zip(&positive).all(|(a, b)| (a - b).abs() <= 1e-7 * b));
    let along = pruned.header.groups.iter().find(|group| group.name == "along").unwrap();
    let kept_along = found[..ALONG].iter().filter(|w| **w > 0.0).count();
    assert_eq!(along.members.len(), kept_along);
    let evidence = fs::read_to_string(folder.join("out/evidence.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = evidence.lines().map(|line| line.split('\t').collect()).collect();
    let mut names: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    names.sort_unstable();
    assert_eq!(names, ["across", "all", "along", "pair"]);
    let strength = |name: &str| -> f64 {
        let row = rows.iter().find(|row| row[0] == name).unwrap();
        row[rows[0].iter().position(|column| *column == "strength").unwrap()].parse().unwrap()
    };
    assert!(strength("along") > 3.0 && strength("across") < 0.5 * strength("along"), "{evidence}");
}

#[test]
fn a_penalty_on_groups_drops_those_that_explain_little() {
    let group = |name: &str, members: std::ops::Range<usize>| Group {
        name: name.to_owned(),
        members: members.map(|f| f as u32).collect(),
        data: Vec::new(),
    };
    let groups = vec![group("along", 0..ALONG), group("across", ALONG..ALL)];
    let folder = with_tractogram("lines.trx", Header { groups, ..Header::on(grid()) });
    folder.done(&format!("life lines.trx {SUBJECT} -o out --group 0.3"));
    let found = weights(&folder, "out/weights.txt");
    assert!(found[..ALONG].iter().any(|w| *w > 0.0));
    assert!(found[ALONG..].iter().all(|w| *w == 0.0), "{found:?}");
    folder.done(&format!("life lines.trx {SUBJECT} -o none --group 1.01"));
    assert!(weights(&folder, "none/weights.txt").iter().all(|w| *w == 0.0));

    fs::write(folder.join("sets.txt"), "pair 0 1\n").unwrap();
    let error =
        folder.failed(&format!("life lines.trx {SUBJECT} -o two --group 0.3 --sets sets.txt"));
    assert!(error.contains("in two groups"), "{error}");
    let plain = with_tractogram("lines.tck", Header::default());
    let error = plain.failed(&format!("life lines.tck {SUBJECT} -o out --group 0.3"));
    assert!(error.contains("--sets"), "{error}");
}

#[test]
fn a_second_series_is_predicted_and_labels_make_matrices() {
    let folder = with_tractogram("lines.tck", Header::default());
    let mut second = folder.image("dwi.nii");
    second.data.iter_mut().enumerate().for_each(|(i, s)| *s += (i * 7 % 11) as f32 - 5.0);
    write_image(folder.join("second.nii"), &second, &WriteOptions::default()).unwrap();
    let mut labels = Image::zeros(grid(), 1);
    for (voxel, label) in labels.data.iter_mut().enumerate() {
        *label = if grid().voxel(voxel)[1] < 3 { 1.0 } else { 2.0 };
    }
    write_image(folder.join("labels.nii"), &labels, &WriteOptions::default()).unwrap();
    folder
        .done(&format!("life lines.tck {SUBJECT} -o out --second second.nii --labels labels.nii"));
    let ratio = folder.image("out/rrmse.nii.gz");
    assert!(ratio.data.iter().any(|r| *r > 0.0));
    assert!(folder.json("out/run.json")["rrmse_median"].as_f64().unwrap() > 0.0);
    let sums = fs::read_to_string(folder.join("out/matrix_weights.csv")).unwrap();
    let sums: Vec<f64> = sums.split(['\n', ',']).filter_map(|n| n.parse().ok()).collect();
    assert_eq!((sums.len(), sums[1]), (4, sums[2]));
    let total = sums[0] + sums[1] + sums[3];
    let expected: f64 = weights(&folder, "out/weights.txt").iter().sum();
    assert!((total - expected).abs() < 1e-6 * expected, "{sums:?} {expected}");
}

#[test]
fn the_models_of_encode_and_dipy_have_their_exact_optima() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/refdata");
    let root = std::env::var_os("FIMBRIA_REFDATA").map_or_else(|| beside.into(), PathBuf::from);
    let data = root.join("life");
    if !data.is_dir() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: reference data not found");
        }
        return;
    }
    let folder = Folder::new();
    let file = |name: &str| data.join(name).display().to_string();
    let common = format!(
        "life {} --dwi {} --bvec-frame voxel --atoms exact --solver conjugate --tolerance 1e-6",
        file("EuDX_small_25.trk"),
        file("small_25.nii.gz"),
    );
    // Lawson and Hanson's method on the explicit matrix (scipy). Directions are written with four
    // decimals, and what their lengths, 1 to 5e-5, mean moves the optimum by 1.5e-5: b by squared
    // lengths is -b g'Qg with g as it stands, ENCODE's formula.
    for (compat, scaling, objective, nonzero) in [
        ("encode", "auto", 201_114.341_847, 59),
        ("encode", "yes", 201_114.341_847, 59),
        ("encode", "no", 201_111.407_005, 59),
        ("dipy", "yes", 4.158_687_167, 58),
        ("dipy", "auto", 4.158_628_447, 58),
    ] {
        folder
            .done(&format!("{common} --compat {compat} --bvalue-scaling {scaling} --force -o out"));
        let record = folder.json("out/run.json");
        let found = record["objective"].as_f64().unwrap();
        // At the optimum an error of weights enters squared: f32 leaves 1e-7.
        assert!((found / objective - 1.0).abs() < 1e-6, "{compat}, {scaling}: {found}");
        assert_eq!(record["nonzero"], nonzero, "{compat}, {scaling}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_one_error() {
    let folder = with_tractogram("lines.tck", Header::default());
    let write = |name: &str, lines: Streamlines| {
        let tractogram = Tractogram::new(Header::default(), lines);
        tractogram.write(folder.join(name), &TractOptions::default()).unwrap();
    };
    write("empty.tck", Streamlines::default());
    let far = Streamlines::from_parts(vec![0, 2], vec![[900.0; 3], [910.0; 3]]);
    write("far.tck", far);
    let mut dark = folder.image("dwi.nii");
    dark.data.fill(0.0);
    write_image(folder.join("dark.nii"), &dark, &WriteOptions::default()).unwrap();
    dark.data.fill(f32::NAN);
    write_image(folder.join("nan.nii"), &dark, &WriteOptions::default()).unwrap();
    let mut moved = folder.image("dwi.nii");
    moved.grid.ras_from_vox.0[0][3] += 400.0;
    write_image(folder.join("moved.nii"), &moved, &WriteOptions::default()).unwrap();
    let b_values = fs::read_to_string(folder.join("dwi.bval")).unwrap();
    let weighted: Vec<String> = b_values
        .split_whitespace()
        .map(|b| if b.parse::<f64>().unwrap() < 50.0 { "1000".into() } else { b.to_owned() })
        .collect();
    fs::write(folder.join("no_b0.bval"), weighted.join(" ")).unwrap();
    let b_vectors = fs::read_to_string(folder.join("dwi.bvec")).unwrap();
    fs::write(folder.join("no_b0.bvec"), b_vectors.replace("0 0 0", "0 0 1")).unwrap();
    let series = |dwi: &str, table: &str| {
        format!(
            "life lines.tck --dwi {dwi}.nii --bval {table}.bval --bvec {table}.bvec --bvec-frame \
             scanner -o out"
        )
    };
    for (line, said) in [
        (series("nan", "dwi"), "usable signal"),
        (series("moved", "dwi"), "another space"),
        (series("dwi", "no_b0"), "no volume is without"),
        (format!("life empty.tck {SUBJECT} -o out"), "no streamlines"),
        (format!("life far.tck {SUBJECT} -o out"), "another space"),
        (format!("life missing.tck {SUBJECT} -o out"), "missing.tck"),
        (
            "life lines.tck --dwi dark.nii --bval dwi.bval --bvec dwi.bvec --bvec-frame scanner \
             -o out"
                .to_owned(),
            "usable signal",
        ),
        (format!("life lines.tck {SUBJECT} -o out --isotropic 0.003"), "several shells"),
        (format!("life lines.tck {SUBJECT} -o out --axial 3"), "mm²/s"),
        (format!("life lines.tck {SUBJECT} -o out --atoms grid:1"), "4 to 2048"),
    ] {
        let error = folder.failed(&line);
        assert!(error.contains(said), "`{line}`: {error}");
        assert!(!folder.join("out").exists(), "`{line}` left an output");
    }
}

#[test]
fn a_query_finds_streamlines_by_place_and_direction() {
    let folder = with_tractogram("lines.tck", Header::default());
    let [x, y, z] = AXIS;
    let found = folder
        .done(&format!("life query lines.tck --dwi dwi.nii --direction {x},{y},{z} --within 5"));
    let numbers: Vec<usize> = found
        .stdout
        .lines()
        .map(|line| line.split('\t').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(numbers, (0..ALONG).collect::<Vec<_>>());
    let nowhere = folder.done("life query lines.tck --dwi dwi.nii --ball 500,0,0,3");
    assert_eq!(nowhere.stdout, "");
    assert_eq!(folder.run("life query lines.tck --dwi dwi.nii").code, Some(2));
}
