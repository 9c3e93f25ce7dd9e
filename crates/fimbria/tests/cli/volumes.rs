//! Which volumes a fit uses, what is said of it, and what of a series is doubtful.

use std::process::Command;

use fimbria_image::{Image, WriteOptions, write_image};

use crate::util::{Folder, Subject, grid, subject};

const FIT: &str = "fit dti dwi.nii --mask mask.nii --bvec-frame scanner";

/// The subject with a shell of `second` s/mm² in which the signal has bent away from a tensor's.
fn two_shells(first: f64, second: f64) -> Subject {
    let one = subject();
    let n = one.dwi.n_volumes;
    let weighted = n - 2;
    let mut dwi = Image::zeros(one.dwi.grid, n + weighted);
    for volume in 0..n + weighted {
        let from = if volume < n { volume } else { volume - weighted };
        let b = if volume < n { first } else { second };
        for voxel in 0..dwi.grid.len() {
            let s0 = one.dwi.volume(0)[voxel];
            let decay = (one.dwi.volume(from)[voxel] / s0).powf((b / 1000.0) as f32);
            let kept = if b > 1500.0 { decay.sqrt() } else { decay };
            let is_same = from < 2 || b == 1000.0;
            let signal = if is_same { one.dwi.volume(from)[voxel] } else { s0 * kept };
            dwi.volume_mut(volume)[voxel] = signal;
        }
    }
    let table = |text: &str, per_volume: usize| -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let all = words.iter().chain(&words[2 * per_volume..]).copied().collect::<Vec<_>>();
        all.chunks(per_volume).map(|line| line.join(" ") + "\n").collect()
    };
    let b =
        |volume: usize| [0.0, first, second][usize::from(volume > 1) + usize::from(volume >= n)];
    let bvals = (0..n + weighted).map(|volume| format!("{} ", b(volume))).collect();
    Subject { dwi, bvals, bvecs: table(&one.bvecs, 3), mask: one.mask }
}

fn with_shells(first: f64, second: f64) -> Folder {
    let folder = Folder::new();
    two_shells(first, second).write(folder.path());
    folder
}

/// MD of a voxel inside the mask in 10⁻³ mm²/s, and the volumes that the record says were used.
fn fitted(folder: &Folder, options: &str) -> (f64, u64, String) {
    let ran = folder.done(&format!("{FIT} -o out -f {options}"));
    let md = folder.image("out/MD.nii.gz").data[grid().index([3, 3, 2])];
    let record = folder.json("out/run.json");
    let counts = &record["stages"][1]["counts"];
    (1e3 * f64::from(md), counts["volumes_used"].as_u64().unwrap(), ran.stderr)
}

/// MD of the subject's tensor.
const TRUE_MD: f64 = 2.3 / 3.0;

#[test]
fn the_tensor_takes_shells_up_to_1500_and_says_so() {
    let folder = with_shells(1000.0, 3000.0);
    let (md, used, said) = fitted(&folder, "-v");
    assert!((md - TRUE_MD).abs() < 1e-3 && used == 22, "{md} {used}");
    assert!(
        said.contains("volumes used: 22 of 42: b=0 (2 volumes), b=1000 (20 volumes)"),
        "{said}"
    );
    let record = folder.json("out/run.json");
    assert_eq!(record["volumes_used"], "22 of 42: b=0 (2 volumes), b=1000 (20 volumes)");
}

#[test]
fn another_program_takes_all_volumes_and_its_own_method() {
    let folder = with_shells(1000.0, 3000.0);
    for (program, method) in [("fsl", "ols"), ("dipy", "wls"), ("mrtrix", "iwls")] {
        let (md, used, _) = fitted(&folder, &format!("--compat {program}"));
        assert!(md < TRUE_MD - 0.05 && used == 42, "{program}: {md} {used}");
        let parameters = &folder.json("out/run.json")["parameters"]["dti"]["fit"];
        assert_eq!(parameters["method"], method, "{program}");
        fitted(&folder, &format!("--compat {program} --method nlls"));
        let parameters = &folder.json("out/run.json")["parameters"]["dti"]["fit"];
        assert_eq!(parameters["method"], "nlls", "{program}");
    }
}

#[test]
fn kurtosis_of_another_program_takes_all_volumes() {
    let folder = with_shells(1000.0, 4000.0);
    let line = "fit dki dwi.nii --mask mask.nii --bvec-frame scanner -o out -f";
    for program in ["dipy", "mrtrix"] {
        folder.done(&format!("{line} --compat {program}"));
        assert_eq!(folder.json("out/run.json")["stages"][1]["counts"]["volumes_used"], 42);
        folder.failed(&format!("{line} --compat {program} --bmax 3000"));
    }
    // One shell alone is left below 3000.
    folder.failed(line);
}

#[test]
fn a_largest_b_next_to_the_threshold_is_told_by_every_fit() {
    let folder = with_shells(50.0, 100.0);
    for fit in ["dti", "mono", "fod --order 4", "hot --order 4"] {
        let line = format!("fit {fit} dwi.nii --mask mask.nii --bvec-frame scanner -o out -f");
        let said = folder.run(&line).stderr;
        assert!(said.contains("the largest b is 100 s/mm²: is it in ms/µm²?"), "{fit}: {said}");
    }
}

#[test]
fn shells_and_the_largest_b_are_chosen_by_hand() {
    let folder = with_shells(1000.0, 3000.0);
    assert_eq!(fitted(&folder, "--bmax 3000").1, 42);
    assert_eq!(fitted(&folder, "--shells 0,3010").1, 22);
    assert_eq!(fitted(&folder, "-shells 1000,3000").1, 42);
    let error = folder.failed(&format!("{FIT} -o none --shells 2000"));
    assert!(error.contains("no shell of the series lies near b = 2000"), "{error}");
    for fit in ["mono", "ivim", "dki", "hot --order 4", "fod --order 4"] {
        let (name, options) = fit.split_once(' ').unwrap_or((fit, ""));
        let shells = if name == "dki" { "1000,3000" } else { "1000" };
        let line = format!("fit {name} dwi.nii --mask mask.nii --bvec-frame scanner -o {name}");
        let ran = folder.run(&format!("{line} {options} --shells {shells}"));
        if name == "ivim" {
            // It needs small b, which is seen in what was chosen.
            assert!(ran.stderr.contains("1 b below") || ran.code == Some(1), "{}", ran.stderr);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{fit}: {}", ran.stderr);
        let used = folder.json(&format!("{name}/run.json"));
        let used = used["stages"][1]["counts"]["volumes_used"].as_u64();
        assert_eq!(used, Some(if shells == "1000" { 22 } else { 42 }), "{fit}");
    }
}

#[test]
fn a_choice_gives_the_bytes_of_a_series_of_those_volumes_alone() {
    let folder = with_shells(1000.0, 3000.0);
    fitted(&folder, "");
    subject().write(folder.path());
    folder.done(&format!("{FIT} -o alone"));
    for map in ["FA", "V1", "S0", "residual", "status"] {
        let bytes = |out: &str| std::fs::read(folder.join(&format!("{out}/{map}.nii.gz"))).unwrap();
        assert!(bytes("out") == bytes("alone"), "{map}");
    }
}

#[test]
fn data_that_need_their_large_b_use_it_with_a_warning() {
    let folder = with_shells(2500.0, 3000.0);
    let (_, used, said) = fitted(&folder, "");
    assert_eq!(used, 42);
    assert!(said.contains("up to b = 1500 s/mm² do not determine the fit"), "{said}");
    let (_, _, said) = fitted(&folder, "--bmax 3000");
    assert!(!said.contains("do not determine"), "{said}");
}

#[test]
fn a_run_says_on_its_page_and_in_its_record_which_volumes_were_used_and_who_warned() {
    let folder = with_shells(1000.0, 3000.0);
    let run = "run dwi.nii --bvec-frame scanner --set run.fits=[]";
    let ran = folder.done(&format!("{run} -o out"));
    let page = std::fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("Volumes used: 22 of 42"), "{page}");
    let record = folder.json("out/run.json");
    assert_eq!(record["stages"][1]["counts"]["volumes_used"], 22);
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("load: no mask given"), "{warnings}");
    assert!(ran.stderr.contains("load: no mask given"), "{}", ran.stderr);
    folder.done(&format!("{run} -o out --resume --set dti.bmax=3000"));
    assert_eq!(folder.json("out/run.json")["stages"][1]["counts"]["volumes_used"], 42);
    folder.done(&format!("{run} -o out --resume --set dti.shells=[3000]"));
    assert_eq!(folder.json("out/run.json")["stages"][1]["counts"]["volumes_used"], 22);
}

#[test]
fn b_in_milliseconds_per_square_micrometre_is_refused_or_warned_of() {
    let folder = Folder::with_subject();
    let bvals = subject().bvals.replace("1000", "1");
    std::fs::write(folder.join("dwi.bval"), bvals).unwrap();
    for command in ["fit dti", "sticks", "run"] {
        let error = folder.failed(&format!("{command} dwi.nii --bvec-frame scanner -o out"));
        assert!(error.contains("the largest b is 1 s/mm²") && error.contains("ms/µm²"), "{error}");
    }
    let ran = folder.done("info dwi.nii --bvec-frame scanner");
    assert!(ran.stdout.contains("doubtful") && ran.stdout.contains("ms/µm²"), "{}", ran.stdout);
    let ran = folder.done(&format!("{FIT} --b0-threshold 0.5 -o out"));
    assert!(ran.stderr.contains("is it in ms/µm²?"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the diffusivity is outside what diffusion can be"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_series_without_unweighted_volumes_or_orientation_is_warned_of() {
    let folder = Folder::with_subject();
    std::fs::write(folder.join("dwi.bval"), subject().bvals.replacen("0 0 ", "700 700 ", 1))
        .unwrap();
    let bvecs = subject().bvecs.replacen("0 0 0\n0 0 0\n", "1 0 0\n0 1 0\n", 1);
    std::fs::write(folder.join("dwi.bvec"), bvecs).unwrap();
    let ran = folder.done(&format!("{FIT} -o out"));
    assert!(ran.stderr.contains("no volume is unweighted"), "{}", ran.stderr);
    subject().write(folder.path());
    // NIfTI-1's qform_code and sform_code.
    for name in ["dwi.nii", "mask.nii"] {
        let mut bytes = std::fs::read(folder.join(name)).unwrap();
        bytes[252..256].fill(0);
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let ran = folder.done(&format!("{FIT} -o out -f"));
    assert!(ran.stderr.contains("does not say how the image lies"), "{}", ran.stderr);
    let ran = folder.done("info dwi.nii --bvec-frame scanner");
    assert!(ran.stdout.contains("does not say how the image lies"), "{}", ran.stdout);
}

#[test]
fn a_decay_that_no_tissue_has_is_told_by_every_command() {
    let folder = with_shells(1000.0, 2000.0);
    // b at a tenth.
    let bvals = std::fs::read_to_string(folder.join("dwi.bval")).unwrap();
    let tenth = bvals.replace("1000", "101").replace("2000", "202");
    std::fs::write(folder.join("dwi.bval"), tenth).unwrap();
    let curve = "--model S0*exp(-b*D) --param S0=500 --param D=1";
    let mut lines =
        ["dti", "dki", "msdki", "mono", "hot", "fod"].map(|fit| format!("fit {fit}")).to_vec();
    lines.push(format!("fit expr {curve}"));
    lines.push("sticks --burn-in 5 --jumps 50".to_owned());
    for line in lines {
        let line = format!("{line} dwi.nii --mask mask.nii --bvec-frame scanner -o out -f");
        let ran = folder.run(&line);
        let is_told = ran.stderr.contains("the diffusivity is outside what diffusion can be");
        assert!(is_told, "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_missing_file_is_told_before_a_missing_mask() {
    let ran = Folder::new().run("fit dti nowhere.nii -o out");
    assert!(!ran.stderr.contains("no mask given") && ran.code == Some(1), "{}", ran.stderr);
}

#[test]
fn compat_mrtrix_is_what_dwi2tensor_does_when_it_is_told_nothing() {
    if Command::new("dwi2tensor").arg("-version").output().is_err() {
        return fimbria_testing::missing("dwi2tensor (MRtrix3)");
    }
    let folder = with_shells(1000.0, 3000.0);
    // Noise, without which every method agrees.
    let mut dwi = two_shells(1000.0, 3000.0).dwi;
    let mut state = 1_u64;
    for value in &mut dwi.data {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *value += 40.0 * ((state >> 40) as f32 / 16_777_216.0 - 0.5);
    }
    write_image(folder.join("dwi.nii"), &dwi, &WriteOptions::default()).unwrap();
    folder.done("convert dwi.nii --bvec-frame scanner -o dwi.mif");
    let run = |arguments: &[&str]| {
        let status = Command::new("dwi2tensor").args(arguments).current_dir(folder.path()).status();
        assert!(status.unwrap().success());
    };
    let close = |ours: &str, theirs: &str| {
        let (ours, theirs) = (folder.image(ours), folder.image(theirs));
        let mask = folder.image("mask.nii").data;
        let inside = |image: &Image| -> Vec<f32> {
            let volumes = (0..image.n_volumes).map(|volume| image.volume(volume).to_vec());
            let inside = |v: Vec<f32>| v.into_iter().zip(&mask).filter(|(_, m)| **m > 0.0);
            volumes.flat_map(|v| inside(v).map(|(x, _)| x).collect::<Vec<_>>()).collect()
        };
        let (a, b) = (inside(&ours), inside(&theirs));
        let largest = b.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        a.iter().zip(&b).fold(0.0_f32, |most, (x, y)| most.max((x - y).abs())) / largest
    };
    run(&["dwi.mif", "theirs.mif", "-mask", "mask.nii", "-quiet"]);
    folder.done("fit dti dwi.mif --mask mask.nii --compat mrtrix --layout mrtrix -o dti");
    let apart = close("dti/dt.mif", "theirs.mif");
    // Both end in single precision; one pass alone would be some 1e-2 off.
    assert!(apart < 1e-4, "{apart}");
    run(&["dwi.mif", "d.mif", "-dkt", "w.mif", "-mask", "mask.nii", "-quiet"]);
    folder.done("fit dki dwi.mif --mask mask.nii --compat mrtrix --layout mrtrix -o dki");
    let apart = close("dki/dt.mif", "d.mif");
    // The design of 22 unknowns loses two digits more.
    assert!(apart < 2e-3, "{apart}");
}
