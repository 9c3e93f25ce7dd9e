//! `fimbria life`: what it finds, how it writes it, and what it refuses.

use std::fs;

use fimbria_image::{Image, WriteOptions, write_image};
use fimbria_streamlines::{Group, Header, Streamlines, Tractogram, WriteOptions as TractOptions};

use serde_json::Value;

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
            "rmse_s0_without.nii.gz",
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
    let without = folder.image("out/rmse_s0_without.nii.gz");
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
        // Without streamlines only the mean over the directions is predicted.
        let samples = || (2..dwi.n_volumes).map(|v| f64::from(dwi.volume(v)[voxel]));
        let middle = samples().sum::<f64>() / n as f64;
        let spread = (samples().map(|s| (s - middle).powi(2)).sum::<f64>() / n as f64).sqrt();
        let expected = spread / f64::from(dwi.volume(0)[voxel]);
        assert!((expected - f64::from(without.data[voxel])).abs() < 1e-5);
        seen += 1;
    }
    assert!(seen > 20, "{seen} voxels");
    let mean = |image: &Image| image.data.iter().filter(|e| **e > 0.0).sum::<f32>();
    assert!(mean(&relative) < mean(&without), "streamlines explain some of the signal");
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
    let record = folder.json("out/run.json");
    let count = |name: &str| record["stages"][2]["counts"][name].as_u64().unwrap();
    let kept = weights(&folder, "out/weights.txt").iter().filter(|w| **w > 0.0).count() as u64;
    assert_eq!((count("pruned_assigned"), count("pruned_unassigned")), (kept, 0));
    // In the same space, and no end near them.
    let corner = |voxel: usize| if voxel == 0 { 1.0 } else { 0.0 };
    labels.data.iter_mut().enumerate().for_each(|(voxel, label)| *label = corner(voxel));
    write_image(folder.join("labels.nii"), &labels, &WriteOptions::default()).unwrap();
    let ran = folder.done(&format!("life lines.tck {SUBJECT} -o out -f --labels labels.nii"));
    assert!(ran.stderr.contains("no streamline ends at labels"), "{}", ran.stderr);
}

#[test]
fn columns_take_the_listed_directions() {
    let folder = with_tractogram("lines.tck", Header::default());
    let [x, y, z] = AXIS;
    // The streamlines' own directions among others, once more against itself and longer.
    let list = format!("# of two bundles\n{x} {y} {z}\n0 0 1\n\n1 0 0\n0 -3 0\n");
    fs::write(folder.join("list.txt"), list).unwrap();
    folder.done(&format!("life lines.tck {SUBJECT} -o listed --directions list.txt"));
    folder.done(&format!("life lines.tck {SUBJECT} -o exact --atoms exact"));
    let record = folder.json("listed/run.json");
    // What the list holds counts: it is an input.
    assert_eq!(record["parameters"]["life"]["life"]["atoms"], Value::Null);
    let inputs = record["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["role"] == "directions"), "{inputs:?}");
    assert!(record["stages"][1]["counts"]["atoms"].as_u64().unwrap() <= 4);
    let objective = |out: &str| folder.json(&format!("{out}/run.json"))["objective"].as_f64();
    let [listed, exact] = ["listed", "exact"].map(|out| objective(out).unwrap());
    assert!((listed - exact).abs() < 1e-3 * exact, "{listed} {exact}");
    for (text, what) in [
        ("1 0\n", "line 1: no direction"),
        ("#\n0 0 0\n", "line 2: no direction"),
        ("1 nan 0\n", "line 1: `nan` is no finite number"),
        ("", "lists no direction"),
    ] {
        fs::write(folder.join("bad.txt"), text).unwrap();
        let said = folder.failed(&format!("life lines.tck {SUBJECT} -o bad --directions bad.txt"));
        assert!(said.contains(what), "{said}");
        assert!(!folder.join("bad").exists());
    }
}

#[test]
fn a_penalty_that_leaves_nothing_says_so() {
    let folder = with_tractogram("lines.tck", Header::default());
    let done = folder.done(&format!("life lines.tck {SUBJECT} -o out --l1 2"));
    assert!(done.stderr.contains("a penalty of 1 or more"), "{}", done.stderr);
    assert!(weights(&folder, "out/weights.txt").iter().all(|w| *w == 0.0));
}

#[test]
fn the_models_of_encode_and_dipy_have_their_exact_optima() {
    let Some(data) = fimbria_testing::refdata("life") else { return };
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
fn water_around_fibres_has_weights_beside_those_of_streamlines() {
    let folder = with_companions();
    // Two fibres in half of the voxels, the second as an image of sh2peaks has none: NaN.
    let mut fibres = Image::zeros(grid(), 6);
    for voxel in (0..grid().len()).filter(|voxel| voxel % 2 == 0) {
        fibres.volume_mut(0)[voxel] = 0.3;
        fibres.volume_mut(2)[voxel] = 0.4;
        (3..6).for_each(|volume| fibres.volume_mut(volume)[voxel] = f32::NAN);
    }
    write_image(folder.join("fibres.nii"), &fibres, &WriteOptions::default()).unwrap();
    folder.done(&format!(
        "life lines.tck {SUBJECT} --demean none --normalise volume --isotropic 0.003 \
         --hindered 0.0003,0.0006 --peaks fibres.nii -o out"
    ));
    let weights = folder.image("out/hindered.nii.gz");
    assert_eq!(weights.n_volumes, 4);
    for voxel in 0..grid().len() {
        let of_fibre = |fibre: usize| (0..2).map(move |d| 2 * fibre + d);
        let sum = |fibre: usize| of_fibre(fibre).map(|v| weights.volume(v)[voxel]).sum::<f32>();
        assert_eq!(sum(1), 0.0, "{voxel}");
        assert!(voxel % 2 == 0 || sum(0) == 0.0, "{voxel}");
    }
    assert!(weights.data.iter().any(|weight| *weight > 0.0));
    // What streamlines are is what their weights and lengths add up to; all parts together are the signal.
    let restricted = folder.image("out/restricted.nii.gz");
    assert!(restricted.data.iter().any(|part| *part > 0.0));
    assert!(restricted.data.iter().all(|part| (0.0..2.0).contains(part)));
    assert_eq!(folder.image("out/isotropic.nii.gz").n_volumes, 1);
    // One says where the fibres are, the other what is around them.
    let line = format!("life lines.tck {SUBJECT} --hindered 0.0003 -o no");
    let refused = folder.command(&line).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--peaks"));
    // Both are in the record.
    let record = fs::read_to_string(folder.join("out/run.json")).unwrap();
    assert!(record.contains("\"hindered\"") && record.contains("fibres.nii"), "{record}");
}

/// The subject with labels and a second series, the tables of both, and a tractogram.
pub(crate) fn with_companions() -> Folder {
    let folder = with_tractogram("lines.tck", Header::default());
    let options = WriteOptions::default();
    let mut labels = Image::zeros(grid(), 1);
    labels.data.iter_mut().enumerate().for_each(|(voxel, label)| *label = (voxel % 3) as f32);
    write_image(folder.join("labels.nii"), &labels, &options).unwrap();
    let halves = Image { data: labels.data.iter().map(|l| 0.5 * l).collect(), ..labels.clone() };
    write_image(folder.join("halves.nii"), &halves, &options).unwrap();
    let twice = [labels.data.clone(), labels.data.clone()].concat();
    let twice = Image { n_volumes: 2, data: twice, ..labels.clone() };
    write_image(folder.join("twice.nii"), &twice, &options).unwrap();
    let mut far = labels;
    far.grid.ras_from_vox.0[1][3] += 300.0;
    write_image(folder.join("far.nii"), &far, &options).unwrap();
    let second = folder.image("dwi.nii");
    let [b, dirs] = ["dwi.bval", "dwi.bvec"].map(|n| fs::read_to_string(folder.join(n)).unwrap());
    let reversed: Vec<&str> = dirs.lines().rev().collect();
    for (name, b, dirs) in [
        ("same", b.clone(), dirs.clone()),
        ("stronger", b.replace("1000", "2000"), dirs.clone()),
        ("turned", b.clone(), format!("0 0 0\n0 0 0\n{}", reversed[..20].join("\n"))),
    ] {
        write_image(folder.join(&format!("{name}.nii")), &second, &options).unwrap();
        fs::write(folder.join(&format!("{name}.bval")), b).unwrap();
        fs::write(folder.join(&format!("{name}.bvec")), dirs).unwrap();
    }
    let mut nowhere = second.clone();
    nowhere.data.fill(f32::NAN);
    write_image(folder.join("nowhere.nii"), &nowhere, &options).unwrap();
    let short = Image { n_volumes: 5, data: second.data[..5 * grid().len()].to_vec(), ..second };
    write_image(folder.join("short.nii"), &short, &options).unwrap();
    folder
}

#[test]
fn files_beside_the_series_are_checked_before_any_work() {
    let folder = with_companions();
    fs::write(folder.join("weights.txt"), "0.1\n-0.5\n").unwrap();
    let mut fibres = Image::zeros(grid(), 3);
    fibres.volume_mut(1).fill(0.7);
    write_image(folder.join("fibres.nii"), &fibres, &WriteOptions::default()).unwrap();
    fibres.grid.ras_from_vox.0[1][3] += 300.0;
    write_image(folder.join("far_fibres.nii"), &fibres, &WriteOptions::default()).unwrap();
    // The tractogram is none: what is said of another file was found before it was opened.
    fs::write(folder.join("none.tck"), "no tractogram").unwrap();
    let line = |options: &str| format!("life none.tck {SUBJECT} {options} -o out");
    for (options, said) in [
        ("--labels halves.nii", "holds no labels"),
        ("--labels twice.nii", "2 volumes"),
        ("--labels far.nii", "another space"),
        ("--second stronger.nii", "b 2000"),
        ("--second turned.nii", "does not repeat the series"),
        ("--second short.nii", "5 volumes of 22"),
        ("--start weights.txt", "line 2: `-0.5` is no weight"),
        ("--hindered 0.0005 --peaks short.nii", "5 volumes"),
        ("--hindered 0.0005 --peaks far_fibres.nii", "grid"),
        ("--hindered 0.002 --peaks fibres.nii", "diffusivity"),
    ] {
        let error = folder.failed(&line(options));
        assert!(error.contains(said), "`{options}`: {error}");
    }
    // What only the streamlines' own voxels tell is found before the weights are.
    let ran = folder.run(&format!("life lines.tck {SUBJECT} --second nowhere.nii -o out"));
    assert!(ran.stderr.contains("nowhere.nii does not repeat the series"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("keep a weight"), "{}", ran.stderr);
    folder.done(&format!("life lines.tck {SUBJECT} --second same.nii --labels labels.nii -o out"));
    // Two repetitions of a series without noise differ nowhere.
    assert!(folder.json("out/run.json")["rrmse_median"].is_null());
    let inputs = folder.json("out/run.json")["inputs"].to_string();
    assert!(inputs.contains("same.nii") && inputs.contains("same.bval"), "{inputs}");
}

#[test]
fn a_series_that_lies_elsewhere_than_the_tractograms_image_is_warned_of() {
    let folder = with_tractogram("lines.trk", Header::on(grid()));
    let ran = folder.done(&format!("life lines.trk {SUBJECT} -o out"));
    assert!(!ran.stderr.contains("wrong affine"), "{}", ran.stderr);
    let mut series = folder.image("dwi.nii");
    series.grid.ras_from_vox.0[0][3] += 3.0;
    write_image(folder.join("moved.nii"), &series, &WriteOptions::default()).unwrap();
    for table in ["bval", "bvec"] {
        let from = folder.join(&format!("dwi.{table}"));
        fs::copy(from, folder.join(&format!("moved.{table}"))).unwrap();
    }
    let ran = folder.done("life lines.trk --dwi moved.nii --bvec-frame scanner -o moved");
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("one of the two has a wrong affine"), "{said}");
}

#[test]
fn sets_that_are_none_are_refused_with_their_line() {
    let folder = with_tractogram("lines.tck", Header::default());
    for (text, said) in [
        ("one 1 2\na,1,2\n", "line 2: `a,1,2` is a name without streamlines"),
        ("one 1 x\n", "line 1: `x` is not the number"),
        ("one 1 20\n", "line 1: `20` is not the number of a streamline (0 to 19)"),
        ("all 1 2\n", "line 1: there is a set `all` already"),
        ("one 1 2\none 3\n", "line 2: there is a set `one` already"),
        ("# nothing\n", "names no set"),
    ] {
        fs::write(folder.join("sets.txt"), text).unwrap();
        let error = folder.failed(&format!("life lines.tck {SUBJECT} --sets sets.txt -o out"));
        assert!(error.contains(said), "`{text}`: {error}");
    }
    // A streamline counts once however often it is listed.
    fs::write(folder.join("sets.txt"), "one 1 2 1\n").unwrap();
    folder.done(&format!("life lines.tck {SUBJECT} --sets sets.txt --group 0.1 -o out"));
    let evidence = fs::read_to_string(folder.join("out/evidence.tsv")).unwrap();
    assert!(evidence.contains("one\t2\t"), "{evidence}");
}

#[test]
fn penalties_that_are_none_are_wrong_usage() {
    let folder = with_tractogram("lines.tck", Header::default());
    for penalty in ["--l1 nan", "--l1 -0.1", "--l1 inf", "--group -1", "--group nan"] {
        let ran = folder.run(&format!("life lines.tck {SUBJECT} {penalty} -o out"));
        assert_eq!(ran.code, Some(2), "`{penalty}`: {}", ran.stderr);
        assert!(ran.stderr.contains("a number from 0 on"), "{}", ran.stderr);
    }
}

#[test]
fn streamlines_outside_the_mask_are_counted_apart() {
    let folder = with_tractogram("lines.tck", Header::default());
    let mut mask = folder.image("mask.nii");
    mask.data.fill(0.0);
    mask.data[grid().index([3, 2, 2])] = 1.0;
    write_image(folder.join("one.nii"), &mask, &WriteOptions::default()).unwrap();
    let ran = folder.done(&format!("life lines.tck {SUBJECT} --mask one.nii -o out"));
    let counts = &folder.json("out/run.json")["stages"][1]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(count("streamlines_outside"), 0);
    assert!(count("streamlines_outside_mask") > 0, "{counts}");
    assert_eq!(count("streamlines_outside_mask") + count("streamlines_encoded"), ALL as u64);
    assert!(ran.stderr.contains("outside its mask"), "{}", ran.stderr);
}

#[test]
fn maps_are_in_units_of_the_series_whatever_the_model_is_in() {
    let folder = with_tractogram("lines.tck", Header::default());
    folder.done(&format!("life lines.tck {SUBJECT} -o out --compat dipy"));
    let (dwi, predicted) = (folder.image("dwi.nii"), folder.image("out/prediction.nii.gz"));
    let (rmse, relative) = (folder.image("out/rmse.nii.gz"), folder.image("out/rmse_s0.nii.gz"));
    let mut seen = 0;
    for voxel in (0..dwi.grid.len()).filter(|&v| rmse.data[v] > 0.0) {
        let error = |v: usize| f64::from(dwi.volume(v)[voxel] - predicted.volume(v)[voxel]);
        let n = dwi.n_volumes - 2;
        let mean = (2..dwi.n_volumes).map(|v| error(v).powi(2)).sum::<f64>() / n as f64;
        // Samples are f32 of about a thousand.
        assert!((mean.sqrt() - f64::from(rmse.data[voxel])).abs() < 1e-3);
        assert!((rmse.data[voxel] / dwi.volume(0)[voxel] - relative.data[voxel]).abs() < 1e-6);
        assert_eq!(predicted.volume(0)[voxel], dwi.volume(0)[voxel]);
        seen += 1;
    }
    assert!(seen > 20, "{seen} voxels");
}

#[test]
fn weights_of_an_earlier_run_are_a_beginning() {
    let folder = with_tractogram("lines.tck", Header::default());
    folder.done(&format!("life lines.tck {SUBJECT} -o cold"));
    folder.done(&format!("life lines.tck {SUBJECT} -o warm --start cold/weights.txt"));
    let of = |name: &str, what: &str| folder.json(name)[what].as_f64().unwrap();
    assert!(of("cold/run.json", "iterations") > 1.0);
    // The optimum is where it ends at once.
    assert_eq!(of("warm/run.json", "iterations"), 0.0);
    let ratio = of("warm/run.json", "objective") / of("cold/run.json", "objective");
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    fs::write(folder.join("few.txt"), "0.1 0.2\n").unwrap();
    let error = folder.failed(&format!("life lines.tck {SUBJECT} -o few --start few.txt"));
    assert!(error.contains("2 starting weights for 20 streamlines"), "{error}");
}

#[test]
fn parts_and_means_are_counted_as_asked_for() {
    let folder = with_tractogram("lines.tck", Header::default());
    let found = |option: &str, name: &str| {
        folder.done(&format!("life lines.tck {SUBJECT} --{option} {name} --force -o out"));
        let record = folder.json("out/run.json");
        assert_eq!(record["parameters"]["life"]["life"][option], name);
        let weights = weights(&folder, "out/weights.txt").iter().sum::<f64>();
        (record["objective"].as_f64().unwrap(), weights)
    };
    let [length, nodes, none, volume] =
        ["length", "nodes", "none", "volume"].map(|name| found("normalise", name).1);
    // Steps of 1 mm through voxels of 2 to 3: more than one node in each, and a part of an edge.
    assert!(none < 0.8 * nodes && volume > length && volume != none, "{none} {nodes} {volume}");
    let [mean, shell_mean, median, all] =
        ["mean", "shell-mean", "shell-median", "none"].map(|name| found("demean", name).0);
    // One shell: its mean is that of all volumes, its median another, and without either the mean of
    // the signal, which is far more than its differences, is to be explained too.
    assert_eq!(mean, shell_mean);
    assert!(median != mean && all > 2.0 * mean, "{mean} {median} {all}");
}

#[test]
fn how_b_was_scaled_is_in_the_record() {
    let folder = with_tractogram("lines.tck", Header::default());
    folder.done(&format!("life lines.tck {SUBJECT} --bvalue-scaling no -o out"));
    let load = &folder.json("out/run.json")["parameters"]["load"];
    assert_eq!((&load["bvalue_scaling"], &load["mask"]), (&"no".into(), &"none".into()), "{load}");
}

#[test]
fn memory_is_said_before_the_work_and_limited() {
    let folder = with_tractogram("lines.tck", Header::default());
    let ran = folder.done(&format!("life lines.tck {SUBJECT} -o out"));
    let said = ran.stderr.find("of memory at most").unwrap();
    assert!(said < ran.stderr.find("keep a weight").unwrap(), "{}", ran.stderr);
    let foreseen = &folder.json("out/run.json")["stages"][1]["counts"]["bytes_foreseen"];
    assert!(foreseen.as_u64().unwrap() > 1 << 20);
    let error = folder.failed(&format!("life lines.tck {SUBJECT} --memory 48M -o small"));
    assert!(error.contains("48.0 MiB are allowed"), "{error}");
    assert!(!folder.join("small").exists());
}

/// The most memory that a command has had, in bytes. MPI would have some of its own.
#[cfg(all(target_os = "linux", not(feature = "mpi")))]
#[expect(clippy::zombie_processes, reason = "wait4 waits for it, and says what it used")]
fn most_memory(mut command: std::process::Command) -> u64 {
    use std::process::Stdio;
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (mut status, id) = (0, i32::try_from(child.id()).unwrap());
    // SAFETY: the call fills both; all fields of the second are numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(id, &raw mut status, 0, &raw mut usage), id);
        usage
    };
    assert_eq!(status, 0, "it failed");
    // Linux counts in KiB.
    u64::try_from(usage.ru_maxrss).unwrap() << 10
}

#[cfg(all(target_os = "linux", not(feature = "mpi")))]
#[test]
fn as_much_memory_is_taken_as_was_said() {
    let folder = Folder::new();
    folder.done("phantom crossing --voxel 3.5 --size 43,52,40 -o head");
    let head = "life head/truth/tracts.trx --dwi head/dwi.nii.gz --max-iterations 5 --threads 1";
    for options in ["--mask head/mask.nii.gz", "--compat dipy"] {
        let taken = most_memory(folder.command(&format!("{head} {options} --force -o out")));
        let foreseen = &folder.json("out/run.json")["stages"][1]["counts"]["bytes_foreseen"];
        let ratio = foreseen.as_u64().unwrap() as f64 / taken as f64;
        assert!((0.8..1.5).contains(&ratio), "`{options}`: {foreseen} for {taken}");
    }
}

/// Enough streamlines and steps that there is time to stop it.
pub(crate) const LONG: &str = "life many.tck --dwi dwi.nii --bvec-frame scanner --solver sbb --tolerance 0 \
                    --threads 1";

pub(crate) fn with_many_streamlines() -> Folder {
    let folder = Folder::with_subject();
    let (some, mut lines) = (streamlines(), Streamlines::default());
    for f in 0..4000 {
        let by = (f / ALL) as f32 * 1e-3;
        let moved: Vec<[f32; 3]> = some.points(f % ALL).iter().map(|p| p.map(|c| c + by)).collect();
        lines.push(&moved);
    }
    let tractogram = Tractogram::new(Header::default(), lines);
    tractogram.write(folder.join("many.tck"), &TractOptions::default()).unwrap();
    folder
}

#[cfg(unix)]
#[test]
fn work_that_was_interrupted_goes_on_from_its_weights() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    let folder = with_many_streamlines();
    let line = format!("{LONG} --max-iterations 1000000 -o out");
    let mut command = folder.command(&line);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // The last that is said before weights are sought.
    assert!(said.any(|line| line.starts_with("weighing ")), "it never began");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let id = i32::try_from(child.id()).unwrap();
    // SAFETY: a signal to a child that has not been waited for yet.
    unsafe { libc::kill(id, libc::SIGINT) };
    let rest = said.collect::<Vec<_>>().join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("the same command with --resume goes on"), "{rest}");
    assert_eq!(folder.names("out"), [".resume"]);

    // Another problem is refused in one sentence: another tissue, other data.
    let few = line.replace("--max-iterations 1000000", "--max-iterations 3");
    let error = folder.failed(&format!("{few} --resume --axial 0.0015"));
    assert!(error.contains("other inputs or with other parameters"), "{error}");
    let [was, mut other] = [folder.image("dwi.nii"), folder.image("dwi.nii")];
    other.data.iter_mut().for_each(|s| *s *= 1.01);
    write_image(folder.join("dwi.nii"), &other, &WriteOptions::default()).unwrap();
    let error = folder.failed(&format!("{few} --resume"));
    assert!(error.contains("other inputs or with other parameters"), "{error}");
    write_image(folder.join("dwi.nii"), &was, &WriteOptions::default()).unwrap();

    let ran = folder.done(&format!("{few} --resume"));
    assert!(ran.stderr.contains("going on from the weights"), "{}", ran.stderr);
    // Other steps led there, and the record says so.
    let resumed = folder.json("out/run.json");
    assert!(resumed["resumed_from"].is_string(), "{resumed}");
    assert!(!folder.join("out/.resume").exists());
    folder.done(&few.replace("-o out", "-o begun"));
    let objective = |name: &str| folder.json(name)["objective"].as_f64().unwrap();
    assert!(objective("out/run.json") < objective("begun/run.json"));
    assert_ne!(resumed["fingerprint"], folder.json("begun/run.json")["fingerprint"]);
}

/// A limit on the size of files stands in for the full disk: writes fail in the same way. (MPI does
/// not start under it.)
#[cfg(all(target_os = "linux", not(feature = "mpi")))]
#[test]
fn weights_outlive_results_that_cannot_be_written() {
    let folder = with_tractogram("lines.tck", Header::default());
    let program = assert_cmd::cargo::cargo_bin!("fimbria");
    let line = format!("life lines.tck {SUBJECT} --format nii -o out");
    // Blocks of 512 bytes: the weights fit, the prediction does not.
    let limited = format!("ulimit -f 2; exec {} {line}", program.display());
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the same command with --resume goes on"), "{said}");
    folder.done(&format!("{line} --resume"));
    // They were the optimum.
    assert_eq!(folder.json("out/run.json")["iterations"], 0);
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
    assert!(nowhere.stderr.contains("no streamline does all of this"), "{}", nowhere.stderr);
    assert_eq!(folder.run("life query lines.tck --dwi dwi.nii").code, Some(2));
}
