//! Options of `fimbria qsm`: what each does, and that none is taken without effect.

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};
use serde_json::Value;

use crate::qsm::{SIDE, grid, length, with_sphere, write};
use crate::util::Folder;

const QSM: &str = "qsm field.nii --mask mask.nii";
const GUIDED: &str = "qsm field.nii --mask mask.nii --v1 v1.nii --fa fa.nii";
const CYLINDERS: &str = "qsm field.nii --mask mask.nii --v1 v1.nii --fa fa.nii --method dqsm";

fn chi(folder: &Folder, out: &str) -> Vec<f32> {
    folder.image(&format!("{out}/chi.nii.gz")).data
}

/// The largest difference of two maps, as a part of the largest number.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    let largest = a.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs())) / largest
}

/// A column of iterations.tsv.
fn column(folder: &Folder, out: &str, name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.join(&format!("{out}/iterations.tsv"))).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t'));
    let place = lines.next().unwrap().position(|n| n == name).unwrap();
    lines.map(|mut line| line.nth(place).unwrap().parse().unwrap()).collect()
}

fn parameters(folder: &Folder, out: &str) -> Value {
    folder.json(&format!("{out}/run.json"))["parameters"]["qsm"]["qsm"].clone()
}

#[test]
fn an_option_that_the_method_would_ignore_is_refused() {
    let folder = with_sphere();
    write(&folder, "ones.nii", 1, |_, _| 1.0);
    let smooth = [
        "--kappa 0.9",
        "--solver cgls",
        "--start zero",
        "--gradient-tolerance 1e-3",
        "--noise 0.01",
        "--support 9",
        "--edges free",
        "--checkpoint 9",
        "--products fast",
        "--compat dqsm",
    ];
    for method in ["tkd", "tikhonov"] {
        refused(&folder, &format!("{QSM} --method {method} --device opencl:0"), "--device");
    }
    for method in ["dtv", "tkd", "tikhonov", "tv", "rts", "tgv", "medi", "ndi"] {
        for options in smooth {
            refused(&folder, &format!("{QSM} --method {method} {options}"), options);
        }
    }
    for (method, options) in [
        ("dqsm", "--strength 0.1"),
        ("tensor", "--strength 0.1"),
        ("tensor", "--compat dqsm"),
        ("tensor", "--products dense"),
    ] {
        refused(&folder, &format!("{GUIDED} --method {method} {options}"), options);
    }
    for method in ["dqsm", "tensor"] {
        refused(&folder, &format!("{QSM} --method {method} --two-pass ones.nii"), "--two-pass");
    }
    for options in ["--data phase", "--outside nothing", "--magnitude ones.nii", "--te 20"] {
        refused(&folder, &format!("{QSM} --method tkd {options}"), options);
    }
    refused(&folder, &format!("{QSM} --method ndi --data phase"), "--data");
    refused(&folder, &format!("{QSM} --method tv --te 20"), "--te");
    refused(&folder, &format!("{QSM} --method ndi --te 0.02 --b0 3"), "0.1 to 1000, in ms");
    refused(&folder, &format!("{QSM} --reference mask.nii --zero-mean"), "--zero-mean");
    for options in ["--tolerance 1e-3", "--kappa 0.9", "--data phase", "--v1 v1.nii"] {
        refused(&folder, &format!("{QSM} --method ilsqr {options}"), options);
    }
    for method in ["tkd", "tikhonov", "rts"] {
        for options in ["--iterations 5", "--tolerance 1e-3"] {
            refused(&folder, &format!("{QSM} --method {method} {options}"), options);
        }
        refused(&folder, &format!("{QSM} --method {method} --weights ones.nii"), "--weights");
        refused(&folder, &format!("{QSM} --method {method} --v1 v1.nii"), "--v1");
    }
    refused(&folder, &format!("{QSM} --method tv --v1 v1.nii"), "--v1");
    for (line, words) in [
        (format!("{QSM} --method dqsm --step 0.1"), "cgls chooses its own"),
        (format!("{QSM} --method dqsm --step 0.1 --solver lsmr"), "lsmr chooses its own"),
        (format!("{QSM} --method dqsm --fa-threshold 0.3"), "about fibre directions"),
        (format!("{QSM} --resample"), "about fibre directions"),
        (format!("{QSM} --v1-frame voxel"), "about fibre directions"),
    ] {
        refused(&folder, &line, words);
    }
    assert!(
        folder.done("qsm --help").stdout.contains("[with --method dtv, dtv-all, tkd, tikhonov,")
    );
}

/// Holds that `line` is wrong usage, and that what is said has the option of `words`.
fn refused(folder: &Folder, line: &str, words: &str) {
    let ran = folder.run(&format!("{line} -o out"));
    assert_eq!(ran.code, Some(2), "`{line}`: {}", ran.stderr);
    let option = words.strip_prefix("--").map_or(words, |rest| rest.split(' ').next().unwrap());
    assert!(ran.stderr.contains(option), "`{line}`: {}", ran.stderr);
    assert!(!folder.join("out").exists(), "`{line}` left an output");
}

#[test]
fn numbers_that_make_no_sense_are_refused_before_any_work() {
    let folder = with_sphere();
    for options in [
        "--fa-threshold nan",
        "--fa-threshold=-1",
        "--noise nan",
        "--noise 0",
        "--tolerance nan",
        "--tolerance=-1e-3",
        "--gradient-tolerance nan",
        "--kappa 2",
        "--kappa nan",
        "--step 0 --solver landweber",
        "--step nan --solver landweber",
        "--support 0",
        "--iterations 0",
        "--b0 0",
        "--b0 300",
    ] {
        refused(
            &folder,
            &format!("{CYLINDERS} {options}"),
            options.split([' ', '=']).next().unwrap(),
        );
    }
    refused(&folder, &format!("{QSM} --method tkd --strength=-1"), "--strength");
}

#[test]
fn weights_that_are_none_are_refused() {
    let folder = with_sphere();
    write(&folder, "zero.nii", 1, |_, _| 0.0);
    write(&folder, "negative.nii", 1, |_, p| if p[0] > 3.0 { -1.0 } else { 1.0 });
    write(&folder, "nan.nii", 1, |_, p| if p[0] > 3.0 { f64::NAN } else { 1.0 });
    for (file, words) in
        [("zero", "every weight is 0"), ("negative", "below 0 or not"), ("nan", "or not finite")]
    {
        for method in ["dtv", "dqsm", "tensor", "tv"] {
            let line = format!("{QSM} --method {method} --weights {file}.nii -o out");
            let said = folder.failed(&line);
            assert!(said.contains(words), "{file}: {said}");
        }
    }
}

#[test]
fn weights_take_voxels_out_of_the_data() {
    let folder = with_sphere();
    let field = folder.image("field.nii");
    let mut spoilt = field.clone();
    let is_spoilt = |voxel: usize| grid().voxel(voxel)[0] > SIDE - 7;
    (0..grid().len()).filter(|&v| is_spoilt(v)).for_each(|v| spoilt.data[v] += 0.05);
    write_image(folder.join("spoilt.nii"), &spoilt, &WriteOptions::default()).unwrap();
    write(&folder, "w.nii", 1, |_, p| f64::from(u8::from(p[0] + (SIDE / 2) as f64 <= 19.0)));
    let line = "qsm spoilt.nii --method dqsm --mask mask.nii --truth truth.nii --iterations 30";
    folder.done(&format!("{line} -o without"));
    folder.done(&format!("{line} --weights w.nii -o with"));
    let nrmse = |out: &str| folder.json(&format!("{out}/metrics.json"))["nrmse_percent"].as_f64();
    assert!(nrmse("with") < nrmse("without"), "{:?} {:?}", nrmse("with"), nrmse("without"));
}

#[test]
fn the_iteration_stops_where_the_noise_is_reached() {
    let folder = with_sphere();
    folder.done(&format!("{QSM} --method dqsm --noise 0.003 --iterations 60 -o out"));
    let record = folder.json("out/run.json");
    assert_eq!(record["stopped"], "discrepancy");
    let voxels = record["stages"][0]["counts"]["unknowns"].as_f64().unwrap();
    let rms: Vec<f64> =
        column(&folder, "out", "data").iter().map(|data| (data / voxels).sqrt()).collect();
    let (last, before) = rms.split_last().unwrap();
    assert!(*last <= 0.003 && before.iter().all(|rms| *rms > 0.003), "{rms:?}");
    assert!(before.len() > 1 && before.len() < 30, "{rms:?}");
}

#[test]
fn a_start_at_tikhonovs_map_is_ahead() {
    let folder = with_sphere();
    folder.done(&format!("{QSM} --method dqsm --iterations 1 -o zero"));
    folder.done(&format!("{QSM} --method dqsm --iterations 1 --start tikhonov -o tikhonov"));
    let data = |out: &str| column(&folder, out, "data")[0];
    assert!(data("tikhonov") < 0.5 * data("zero"), "{} {}", data("tikhonov"), data("zero"));
}

#[test]
fn every_solver_is_recorded_with_what_it_used() {
    let folder = with_sphere();
    let objective = |out: &str| {
        let (data, penalty) = (column(&folder, out, "data"), column(&folder, out, "penalty"));
        0.985 * data.last().unwrap() + 0.015 * penalty.last().unwrap()
    };
    for solver in ["cgls", "lsmr", "landweber"] {
        folder.done(&format!("{QSM} --method dqsm --solver {solver} --iterations 12 -o {solver}"));
        assert_eq!(parameters(&folder, solver)["solver"], solver);
        let record = folder.json(&format!("{solver}/run.json"));
        assert_eq!((&record["stopped"], &record["kappa"]), (&"iterations".into(), &0.985.into()));
        assert_eq!(record["step"].is_number(), solver == "landweber", "{record}");
    }
    assert!(objective("cgls") <= objective("lsmr") && objective("lsmr") < objective("landweber"));
    let line = format!("{QSM} --method dqsm --solver landweber --iterations 3");
    let ran = folder.done(&format!("{line} --step 100 -o safe"));
    assert!(ran.stderr.contains("a step of 100 would diverge"), "{}", ran.stderr);
    assert!(folder.json("safe/run.json")["step"].as_f64().unwrap() < 10.0);
    // The published program's numbers, in tesla, and those they are in units of B0.
    let compat = "--v1 v1.nii --fa fa.nii --compat dqsm --b0 4.7 --iterations 2";
    folder.done(&format!("{QSM} {compat} -o published"));
    let given = parameters(&folder, "published");
    assert_eq!((&given["kappa"], &given["step"]), (&0.75.into(), &0.15.into()));
    assert_eq!((&given["support"], &given["edges"]), (&50.into(), &"zero".into()));
    assert_eq!((&given["solver"], &given["products"]), (&"landweber".into(), &"fast".into()));
    let record = folder.json("published/run.json");
    let data = 0.75 * 4.7 * 4.7;
    assert!((record["kappa"].as_f64().unwrap() - data / (data + 0.25)).abs() < 1e-12, "{record}");
}

#[test]
fn directions_come_from_a_fit_or_from_another_grid() {
    let folder = with_sphere();
    let line = format!("{QSM} --method dqsm --iterations 5");
    // Twice the voxels' size, the same place in the scanner: fine voxel i lies in coarse i / 2.
    let rows = grid()
        .ras_from_vox
        .0
        .map(|[x, y, z, shift]| [2.0 * x, 2.0 * y, 2.0 * z, shift + 0.5 * (x + y + z)]);
    let coarse = Grid { dims: [SIDE / 2; 3], ras_from_vox: Affine(rows) };
    let fa = |[x, y, z]: [usize; 3]| if (x + 2 * y + 3 * z) % 5 == 0 { 0.7 } else { 0.1 };
    let images = [(coarse, 1), (grid(), 2)].map(|(grid, size)| {
        let (mut all, mut v1) = (Image::zeros(grid, 1), Image::zeros(grid, 3));
        for voxel in 0..grid.len() {
            all.data[voxel] = fa(grid.voxel(voxel).map(|i| i / size));
            v1.volume_mut(1)[voxel] = 1.0;
        }
        (all, v1)
    });
    std::fs::create_dir(folder.join("dti")).unwrap();
    let [(coarse_fa, coarse_v1), (fine_fa, fine_v1)] = images;
    for (name, image) in [
        ("coarse_fa.nii", coarse_fa),
        ("coarse_v1.nii", coarse_v1),
        ("dti/FA.nii", fine_fa),
        ("dti/V1.nii", fine_v1),
    ] {
        write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
    }
    folder.done(&format!("{line} --v1 dti/V1.nii --fa dti/FA.nii -o named"));
    folder.done(&format!("{line} --dti dti -o folder"));
    assert_eq!(chi(&folder, "folder"), chi(&folder, "named"));
    let other = format!("{line} --v1 coarse_v1.nii --fa coarse_fa.nii");
    assert!(folder.failed(&format!("{other} -o no")).contains("the image of fibre directions"));
    let bare = folder.done(&format!("{line} --v1 dti/V1.nii -o bare"));
    assert!(bare.stderr.contains("is --fa missing?"), "{}", bare.stderr);
    folder.done(&format!("{other} --resample -o resampled"));
    assert_eq!(chi(&folder, "resampled"), chi(&folder, "named"));
}

#[test]
fn the_mean_over_the_reference_is_zero() {
    let folder = with_sphere();
    write(&folder, "rim.nii", 1, |_, p| f64::from(u8::from(length(p) > 7.0)));
    let (mask, rim) = (folder.image("mask.nii").data, folder.image("rim.nii").data);
    let mean = |chi: &[f32], region: &[f32]| {
        let inside = chi.iter().zip(&mask).zip(region).filter(|((_, m), r)| **m > 0.0 && **r > 0.0);
        let values: Vec<f64> = inside.map(|((chi, _), _)| f64::from(*chi)).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    // The same by the number of a label, and by the name that a table beside has for two labels.
    write(&folder, "labels.nii", 1, |_, p| match length(p) {
        r if r > 7.0 => {
            if p[0] > 0.0 {
                4.0
            } else {
                43.0
            }
        }
        _ => 10.0,
    });
    let [number, name] = [
        "--reference labels.nii --reference-label 4 43",
        "--reference labels.nii --reference-label Ventricle",
    ];
    let refused = folder.failed(&format!("{QSM} --method tkd {name} -o out"));
    assert!(refused.contains("no table of names lies beside labels.nii"), "{refused}");
    std::fs::write(
        folder.join("labels.tsv"),
        "index\tname\n4\tVentricle\n43\tVentricle\n10\tThalamus\n",
    )
    .unwrap();
    let references = ["--zero-mean", "--reference rim.nii", number, name];
    for (reference, region) in references.into_iter().zip([&mask, &rim, &rim, &rim]) {
        folder.done(&format!("{QSM} --method tkd {reference} -o out --force"));
        let chi = chi(&folder, "out");
        // The mean of some thousand f32 numbers of 0.1.
        assert!(mean(&chi, region).abs() < 1e-7, "{reference}");
    }
    let unknown = name.replace("Ventricle", "Pallidum");
    let refused = folder.failed(&format!("{QSM} --method tkd {unknown} -o out --force"));
    assert!(refused.contains("no label named `Pallidum`"), "{refused}");
    folder.done(&format!("{QSM} --method tkd -o plain"));
    assert!(mean(&chi(&folder, "plain"), &rim).abs() > 1e-4);
}

#[test]
fn b0_may_be_given_in_either_axes() {
    let folder = with_sphere();
    let line = format!("{CYLINDERS} --iterations 5");
    folder.done(&format!("{line} --b0-dir 0 0 2 -o scanner"));
    // The grid is turned by 30° about x.
    folder.done(&format!("{line} --b0-dir-vox 0 0.5 0.8660254 -o voxels"));
    // Five iterations of products whose kernels differ by 1e-7.
    let apart = apart(&chi(&folder, "scanner"), &chi(&folder, "voxels"));
    assert!(apart < 1e-5, "{apart}");
    let b0 = folder.json("scanner/run.json")["b0_dir_vox"].clone();
    assert!((b0[1].as_f64().unwrap() - 0.5).abs() < 1e-6, "{b0}");
}

#[test]
fn guides_and_truths_that_are_none_are_refused_or_said() {
    let folder = with_sphere();
    write(&folder, "along.nii", 3, |volume, _| f64::from(volume == 2));
    write(&folder, "percent.nii", 1, |_, _| 70.0);
    write(&folder, "nothing.nii", 3, |_, _| 0.0);
    write(&folder, "flat.nii", 1, |_, _| 0.5);
    for (options, words) in [
        ("--v1 along.nii --fa percent.nii", "a number of 0 to 1"),
        ("--truth flat.nii", "the truth has no number"),
    ] {
        let said = folder.failed(&format!("{QSM} {options} -o out"));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(said.contains(words), "{options}: {said}");
    }
    let ran = folder.run(&format!("{QSM} --method tkd --strength 0.7 -o out"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let ran = folder.done(&format!("{QSM} --method dqsm --v1 nothing.nii --iterations 2 -o out"));
    assert!(ran.stderr.contains("guide nothing"), "{}", ran.stderr);
}

#[test]
fn the_usual_map_is_guided_by_all_that_the_tensor_fit_knows() {
    let folder = with_sphere();
    std::fs::create_dir(folder.join("dti")).unwrap();
    // In all directions of a plane through B0: of fibres across it alone no anisotropy is fitted.
    write(&folder, "dti/V1.nii", 3, |volume, p| {
        [(p[1] / 3.0).sin(), 0.0, (p[1] / 3.0).cos()][volume]
    });
    write(&folder, "dti/FA.nii", 1, |_, p| if p[0] > 1.0 { 0.6 } else { 0.1 });
    write(&folder, "dti/MD.nii", 1, |_, p| if p[1] > 1.0 { 1e-3 } else { 7e-4 });
    folder.done(&format!("{QSM} --dti dti -o dti_map"));
    let record = folder.json("dti_map/run.json");
    assert_eq!(parameters(&folder, "dti_map")["method"], "dtv");
    // FA and MD and their squares; there is no S0.
    assert_eq!(record["explained"].as_array().unwrap().len(), 4, "{record}");
    assert!(record["anisotropy"].is_number(), "{record}");
    let inputs = record["inputs"].to_string();
    assert!(inputs.contains("MD.nii") && !inputs.contains("S0"), "{inputs}");
    // Without directions it is total variation alone.
    folder.done(&format!("{QSM} -o plain"));
    folder.done(&format!("{QSM} --method tv -o tv"));
    assert_eq!(chi(&folder, "plain"), chi(&folder, "tv"));
    assert_ne!(chi(&folder, "plain"), chi(&folder, "dti_map"));
    assert!(!folder.join("plain/msa.nii.gz").exists());
}

#[test]
fn methods_that_iterate_tell_how_and_all_tell_what_they_leave_of_the_field() {
    let folder = with_sphere();
    let residual = |out: &str| folder.image(&format!("{out}/residual.nii.gz")).data;
    let field = folder.image("field.nii").data;
    let square = |data: &[f32]| data.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    for (line, method) in
        [(GUIDED, "dtv"), (QSM, "tv"), (QSM, "rts"), (GUIDED, "dqsm"), (GUIDED, "tensor")]
    {
        folder.done(&format!("{line} --method {method} -o {method}"));
        let (data, change) =
            (column(&folder, method, "data"), column(&folder, method, "relative_change"));
        let counted = folder.json(&format!("{method}/run.json"))["stages"][1]["counts"].clone();
        assert_eq!(counted["iterations"], data.len(), "{method}");
        assert!(change.len() > 1 && change.last() < change.first(), "{method} {change:?}");
        // No map at all leaves the field.
        assert!(square(&residual(method)) < square(&field), "{method}");
    }
    // The last data term of methods of which nothing is outside the mask is the sum of squares of what is left:
    // the same numbers, summed in another order.
    for method in ["dtv", "tv", "dqsm", "tensor"] {
        let (last, left) =
            (*column(&folder, method, "data").last().unwrap(), square(&residual(method)));
        assert!((last - left).abs() < 1e-3 * left, "{method}: {last} {left}");
    }
    for method in ["dtv", "tv", "rts"] {
        assert!(column(&folder, method, "variation").iter().all(|tv| *tv > 0.0), "{method}");
    }
    folder.done(&format!("{QSM} --method tkd -o tkd"));
    assert!(!folder.join("tkd/iterations.tsv").exists());
    assert!(square(&residual("tkd")) < square(&field));
}

#[test]
fn the_published_model_says_what_it_costs_on_heads() {
    let folder = with_sphere();
    let warns = |line: &str| {
        folder.done(&format!("{line} -o out --force")).stderr.contains("an NRMSE of 87.7 %")
    };
    assert!(warns(&format!("{CYLINDERS} --iterations 2")));
    assert!(!warns(&format!("{QSM} --method dqsm --iterations 2")));
    assert!(!warns(&format!("{GUIDED} --compat dqsm --b0 3 --iterations 2")));
    assert!(!warns(GUIDED));
}

#[test]
fn the_phase_is_explained_where_it_is_known_how_the_field_turned_it() {
    let folder = with_sphere();
    for options in ["--method ndi", "--method tv --data phase"] {
        let said = folder.failed(&format!("{QSM} {options} --b0 3 -o out"));
        assert!(said.contains("give --te and --b0"), "{options}: {said}");
        folder.done(&format!("{QSM} {options} --b0 3 --te 20 --iterations 5 -o given -f"));
        // As `fimbria field` leaves it beside the field.
        let said = r#"{"EchoTime": 0.02, "MagneticFieldStrength": 3}"#;
        std::fs::write(folder.join("field.json"), said).unwrap();
        folder.done(&format!("{QSM} {options} --iterations 5 -o beside -f"));
        assert_eq!(chi(&folder, "given"), chi(&folder, "beside"), "{options}");
        let results = folder.json("beside/run.json");
        // 2π times 127.7 Hz a ppm times 20 ms.
        assert!((results["radians_per_ppm"].as_f64().unwrap() - 16.05).abs() < 0.01, "{results}");
        assert_eq!(results["stopped"], "iterations");
        std::fs::remove_file(folder.join("field.json")).unwrap();
    }
    let said = folder.failed(&format!("{QSM} --method medi -o out"));
    assert!(said.contains("give --magnitude"), "{said}");
}

#[test]
fn reliable_voxels_are_mapped_by_themselves_in_a_second_pass() {
    let folder = with_sphere();
    // A part of the field that is wrong spoils what is around it, but not what is mapped without it.
    let field = folder.image("field.nii");
    let mut spoilt = field.clone();
    let is_spoilt = |voxel: usize| {
        let at = grid().voxel(voxel).map(|i| i as f64 - (SIDE / 2) as f64);
        length([at[0] - 8.0, at[1], at[2]]) < 2.0
    };
    (0..grid().len()).filter(|&v| is_spoilt(v)).for_each(|v| spoilt.data[v] += 1.0);
    write_image(folder.join("spoilt.nii"), &spoilt, &WriteOptions::default()).unwrap();
    let mut reliable = folder.image("mask.nii");
    (0..grid().len()).filter(|&v| is_spoilt(v)).for_each(|v| reliable.data[v] = 0.0);
    write_image(folder.join("reliable.nii"), &reliable, &WriteOptions::default()).unwrap();
    let line = "qsm spoilt.nii --mask mask.nii --field-unit ppm --truth truth.nii";
    for method in ["tkd", "tv"] {
        folder.done(&format!("{line} --method {method} -o one-{method}"));
        folder.done(&format!("{line} --method {method} --two-pass reliable.nii -o two-{method}"));
        folder.done(&format!(
            "qsm spoilt.nii --mask reliable.nii --method {method} -o alone-{method}"
        ));
        let [one, two, alone] =
            ["one", "two", "alone"].map(|o| chi(&folder, &format!("{o}-{method}")));
        for v in 0..grid().len() {
            if reliable.data[v] > 0.0 {
                assert_eq!(two[v].to_bits(), alone[v].to_bits(), "{method}");
            }
            // Nothing is left out.
            assert_eq!(two[v] == 0.0, one[v] == 0.0, "{method} {v}");
        }
    }
    write(&folder, "none.nii", 1, |_, _| 0.0);
    let said = folder.failed(&format!("{line} --method tkd --two-pass none.nii -o out"));
    assert!(said.contains("no voxel of --two-pass"), "{said}");
}

/// Every method that has kernels, from the command line: the map of a device is that of threads, in another
/// rounding.
#[test]
fn methods_with_kernels_run_on_a_device_that_is_named() {
    let folder = with_sphere();
    if !folder.done("devices").stdout.contains("opencl:0") {
        return fimbria_testing::missing("an OpenCL device (PoCL)");
    }
    for method in ["dtv", "dqsm", "tensor", "tv", "tgv", "ndi", "ilsqr", "rts"] {
        let guided = if ["dtv", "dqsm", "tensor"].contains(&method) { GUIDED } else { QSM };
        let more = match method {
            "ndi" => "--iterations 4 --te 20 --b0 3",
            // It has no say in when it ends.
            "rts" => "",
            _ => "--iterations 4",
        };
        let line = format!("{guided} --method {method} {more}");
        folder.done(&format!("{line} --device cpu -o here -f"));
        let ran = folder.done(&format!("{line} --device opencl:0 -o there -f"));
        assert!(!ran.stderr.contains("the threads do the work"), "{method}: {}", ran.stderr);
        let [here, there] =
            ["here", "there"].map(|out| folder.image(&format!("{out}/chi.nii.gz")).data);
        let largest = here.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        let apart = here.iter().zip(&there).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
        // Four iterations of f32, each rounding otherwise.
        assert!(apart > 0.0 && apart < 1e-4 * largest, "{method}: {apart} of {largest}");
    }
}
