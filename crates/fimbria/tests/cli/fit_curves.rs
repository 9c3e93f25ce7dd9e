//! `fimbria fit dki1d | stremi1d | stremi | ivim | mono`: what they compute and what they refuse.

use std::fs;

use fimbria_image::{Image, write_image};

use crate::util::{Folder, Subject, subject};

/// A phantom of the paper's protocol without noise, of some hundred voxels.
fn phantom(law: &str) -> Folder {
    let folder = Folder::new();
    let size = "--size 14,14,3 --voxel 4.3,4.3,4 --snr inf";
    folder.done(&format!("phantom protocol {size} --law {law} -o p"));
    folder
}

/// The subject with its one shell at b = 0, 100, 500 ... s/mm²: `signal` of b in ms/µm², the decay
/// of the subject at b = 1 and S0.
fn shells(b: &[f64], signal: impl Fn(f64, f64) -> f64) -> Subject {
    let one = subject();
    let weighted = one.dwi.n_volumes - 2;
    let mut dwi = Image::zeros(one.dwi.grid, 2 + b.len() * weighted);
    let dirs: Vec<&str> = one.bvecs.lines().collect();
    let (mut bvals, mut bvecs) = ("0 0 ".to_owned(), "0 0 0\n0 0 0\n".to_owned());
    for volume in 0..dwi.n_volumes {
        let from = if volume < 2 { volume } else { 2 + (volume - 2) % weighted };
        let b = if volume < 2 { 0.0 } else { b[(volume - 2) / weighted] };
        if volume >= 2 {
            bvals += &format!("{b} ");
            bvecs += &format!("{}\n", dirs[from]);
        }
        for voxel in 0..dwi.grid.len() {
            let s0 = f64::from(one.dwi.volume(0)[voxel]);
            let decay = f64::from(one.dwi.volume(from)[voxel]) / s0;
            dwi.volume_mut(volume)[voxel] = (s0 * signal(b / 1000.0, decay)) as f32;
        }
    }
    Subject { dwi, bvals, bvecs, mask: one.mask }
}

fn folder(b: &[f64], signal: impl Fn(f64, f64) -> f64) -> Folder {
    let folder = Folder::new();
    shells(b, signal).write(folder.path());
    folder
}

/// Of that subject with everything named.
const SUBJECT: &str = "dwi.nii --mask mask.nii --bvec-frame scanner -o out";

/// A voxel of the subject inside the mask.
fn inside(folder: &Folder, map: &str) -> f64 {
    let image = folder.image(&format!("out/{map}.nii.gz"));
    f64::from(image.data[image.grid.index([3, 3, 2])])
}

/// Median and largest distance of two maps in the voxels that status 1 marks.
fn distance(folder: &Folder, found: &str, truth: &str) -> [f64; 2] {
    let status = folder.image("out/status.nii.gz");
    let (found, truth) = (folder.image(found), folder.image(truth));
    let n = status.data.len();
    assert_eq!(found.n_volumes, truth.n_volumes);
    let all = found.data.iter().zip(&truth.data).enumerate();
    let mut distances: Vec<f64> = all
        .filter(|(i, _)| status.data[i % n] == 1.0)
        .map(|(_, (a, b))| f64::from((a - b).abs()))
        .collect();
    assert!(distances.len() > 100, "only {} voxels were fitted", distances.len());
    distances.sort_by(f64::total_cmp);
    [distances[distances.len() / 2], distances[distances.len() - 1]]
}

#[test]
fn dki1d_finds_the_kurtosis_of_the_paper_s_phantom() {
    let folder = phantom("kurtosis");
    folder.done("fit dki1d p/dwi.nii.gz --mask p/mask.nii.gz --eta fixed:0 -o out --device cpu");
    // The phantom follows the law exactly; samples are rounded to 6e-8, of which slow decays
    // (b D = 0.3) make a hundred times as much in K.
    let [median, most] = distance(&folder, "out/MK.nii.gz", "p/truth/MK.nii.gz");
    assert!(median < 1e-5 && most < 1e-4, "MK {median} {most}");
    let [median, most] = distance(&folder, "out/D.nii.gz", "p/truth/D.nii.gz");
    assert!(median < 1e-9 && most < 1e-8, "D {median} {most}");
    let directions = fs::read_to_string(folder.join("out/directions.txt")).unwrap();
    assert_eq!(directions.lines().count(), 30);
}

#[test]
fn stremi1d_finds_the_exponents_of_the_paper_s_phantom() {
    let folder = phantom("stretched");
    folder.done("fit stremi1d p/dwi.nii.gz --mask p/mask.nii.gz -o out --device cpu");
    let [median, most] = distance(&folder, "out/Mgamma.nii.gz", "p/truth/Mgamma.nii.gz");
    // As above.
    assert!(median < 1e-5 && most < 1e-4, "{median} {most}");
    let [median, _] = distance(&folder, "out/gamma.nii.gz", "p/truth/gamma.nii.gz");
    assert!(median < 1e-5, "{median}");
}

#[test]
fn stremi_is_the_tensor_where_diffusion_is_gaussian_and_dti_the_projection() {
    let folder = folder(&[500.0, 1000.0, 2000.0, 4000.0], |b, decay| decay.powf(b));
    folder.done(&format!("fit stremi {SUBJECT}"));
    // Exponents at their bound of 1, reached to the tolerance of the fit; A is then the
    // eigenvalue, 1.7 µm²/ms.
    assert!((inside(&folder, "Mgamma") - 1.0).abs() < 1e-2);
    assert!((inside(&folder, "A") - 1.7).abs() < 1e-2, "{}", inside(&folder, "A"));
    assert!(inside(&folder, "Agamma") < 1e-2);
    folder.done(&format!("fit stremi {SUBJECT} --force --projection paper"));
    // With b |g·e| the same signal bends otherwise.
    assert!((inside(&folder, "A") - 1.7).abs() > 2e-2);
}

#[test]
fn ivim_tells_perfusion_from_tissue() {
    let b = [60.0, 120.0, 180.0, 300.0, 600.0, 1000.0];
    let signal = |b: f64, _: f64| 0.15 * (-b * 20.0).exp() + 0.85 * (-b * 0.8).exp();
    let folder = folder(&b, signal);
    folder.done(&format!("fit ivim {SUBJECT}"));
    // Noise-free, ill-conditioned in f32: a per cent of each.
    assert!((inside(&folder, "f") / 0.15 - 1.0).abs() < 1e-2);
    assert!((inside(&folder, "D") / 0.8e-3 - 1.0).abs() < 1e-2);
    assert!((inside(&folder, "Dstar") / 20e-3 - 1.0).abs() < 1e-2);
}

#[test]
fn mono_finds_one_diffusivity_in_either_precision() {
    let folder = folder(&[500.0, 1000.0], |b, _| (-b * 0.8).exp());
    for precision in ["single", "double"] {
        folder.done(&format!("fit mono {SUBJECT} --force --precision {precision}"));
        // Rounding of f32 samples.
        assert!((inside(&folder, "D") / 0.8e-3 - 1.0).abs() < 1e-5);
    }
}

#[test]
fn a_rician_likelihood_takes_out_what_noise_adds() {
    // The mean of a magnitude in noise of 6 % of S0, which in the voxel looked at is 1108.
    let b = [1000.0, 2000.0, 3000.0, 4000.0];
    let folder = folder(&b, |b, _| (-b * 0.9).exp().hypot(0.06));
    let diffusivity = |noise: &str| {
        folder.done(&format!("fit mono {SUBJECT} --force {noise}"));
        inside(&folder, "D")
    };
    let biased = diffusivity("");
    let offset = diffusivity("--likelihood offset-gaussian --sigma 66.48");
    let rician = diffusivity("--likelihood rician --sigma 66.48");
    // Exactly its model; f32.
    assert!((offset / 0.9e-3 - 1.0).abs() < 1e-4, "{offset}");
    assert!(biased < 0.99 * offset && biased < 0.99 * rician, "{biased} {offset} {rician}");
}

#[test]
fn protocols_that_do_not_support_a_model_are_refused() {
    let folder = Folder::with_subject();
    for (model, words) in [
        ("dki1d --sigma 3", ["needs 3 different b-values", "has 2"]),
        ("stremi1d", ["needs 4 different b-values", "has 2"]),
        ("stremi", ["4 different b-values", "has 2"]),
        ("ivim", ["2 from there on", "has 1 and 1"]),
        ("noddi", ["one shell", "2 such b-values"]),
        ("fwdti", ["one shell", "2 such b-values"]),
        ("smt", ["one shell", "2 such b-values"]),
        ("mapmri", ["single shell", "2 b-values"]),
        ("gqi --bmax 10", ["15 weighted volumes", "has 0"]),
        ("mono --bmax 10", ["2 different b-values", "has 1"]),
    ] {
        let error = folder.failed(&format!("fit {model} {SUBJECT}"));
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(words.iter().all(|word| error.contains(word)), "{model}: {error}");
        assert!(!folder.join("out").exists());
    }
}

#[test]
fn too_few_directions_for_the_axes_are_refused() {
    // Of four directions at 11 b there are volumes enough, but no tensor.
    let folder = Folder::new();
    let few = |b: &[f64]| {
        let mut few = shells(b, |b, decay| decay.powf(b));
        let lines: Vec<&str> = few.bvecs.lines().collect();
        let four = ["1 0 0", "0 1 0", "0 0 1", "0.577 0.577 0.577"];
        let of_four = |v: usize| if v < 2 { lines[v] } else { four[v % 4] };
        few.bvecs = (0..lines.len()).map(|v| format!("{}\n", of_four(v))).collect();
        few
    };
    few(&[500.0, 1000.0, 2000.0]).write(folder.path());
    let error = folder.failed(&format!("fit stremi {SUBJECT}"));
    assert!(error.contains("axes"), "{error}");
}

#[test]
fn a_noise_level_that_cannot_be_estimated_is_asked_for() {
    let folder = folder(&[1000.0, 2000.0], |b, decay| decay.powf(b));
    // One unweighted volume only.
    let bvals = fs::read_to_string(folder.join("dwi.bval")).unwrap();
    fs::write(folder.join("dwi.bval"), bvals.replacen("0 0", "0 100", 1)).unwrap();
    let bvecs = fs::read_to_string(folder.join("dwi.bvec")).unwrap();
    let bvecs = bvecs.replacen("0 0 0\n0 0 0\n", "0 0 0\n1 0 0\n", 1);
    fs::write(folder.join("dwi.bvec"), bvecs).unwrap();
    let error = folder.failed(&format!("fit dki1d {SUBJECT}"));
    assert!(error.contains("--sigma") && error.contains("--background"), "{error}");
    folder.done(&format!("fit dki1d {SUBJECT} --background mask.nii"));
}

#[test]
fn unusable_voxels_are_marked_and_zero() {
    let folder = Folder::new();
    let mut subject = shells(&[100.0, 500.0, 1000.0, 2000.0], |b, decay| decay.powf(b));
    let grid = subject.dwi.grid;
    let (nan, zero, negative) =
        (grid.index([3, 1, 1]), grid.index([4, 1, 1]), grid.index([5, 1, 1]));
    for volume in 0..subject.dwi.n_volumes {
        subject.dwi.volume_mut(volume)[zero] = 0.0;
        subject.dwi.volume_mut(volume)[negative] = -5.0;
    }
    subject.dwi.volume_mut(4)[nan] = f32::NAN;
    subject.write(folder.path());
    for (model, map) in [
        ("dki1d --eta fixed:0", "MK"),
        ("stremi1d", "Mgamma"),
        ("stremi", "Mgamma"),
        ("noddi", "od"),
        ("fwdti", "FWF"),
        ("smt", "uFA"),
        ("ivim", "f"),
        ("mono", "D"),
    ] {
        let ran = folder.done(&format!("fit {model} {SUBJECT} --force"));
        let status = folder.image("out/status.nii.gz");
        let values = folder.image(&format!("out/{map}.nii.gz"));
        for voxel in [zero, negative] {
            assert_eq!((status.data[voxel], values.data[voxel]), (4.0, 0.0), "{model}");
        }
        // Of a fit by direction one is lost, of a fit to all the voxel.
        let expected = if model.contains("1d") { 3.0 } else { 4.0 };
        assert_eq!(status.data[nan], expected, "{model}");
        assert!(values.data.iter().all(|value| value.is_finite()), "{model}");
        assert!(ran.stderr.contains("no usable signal"), "{model}: {}", ran.stderr);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let folder = Folder::new();
    // Several blocks for the threads to share.
    let size = "--size 40,40,8 --voxel 1.5,1.5,1.5";
    folder.done(&format!("phantom protocol {size} -o p"));
    for model in ["dki1d", "mono"] {
        let fit = format!("fit {model} p/dwi.nii.gz --mask p/mask.nii.gz --device cpu --force");
        folder.done(&format!("{fit} -o one --threads 1"));
        folder.done(&format!("{fit} -o two --threads 2"));
        for name in folder.names("one").iter().filter(|name| *name != "run.json") {
            let bytes = |out: &str| fs::read(folder.join(&format!("{out}/{name}"))).unwrap();
            assert!(bytes("one") == bytes("two"), "{model} {name} differs");
        }
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let folder = Folder::with_subject();
    for line in [
        "fit dki1d --eta fixed:0.02 --sigma 3",
        "fit dki1d --eta magic",
        "fit dki1d --eta fixed:2",
        "fit stremi1d --sigma 3",
        "fit stremi --background mask.nii",
        "fit mono --likelihood rician --sigma -1",
        "fit ivim --max-iterations 0",
    ] {
        let ran = folder.run(&format!("{line} {SUBJECT}"));
        assert_eq!(ran.code, Some(2), "`{line}`: {}", ran.stderr);
    }
    let deviation = Image::zeros(folder.image("dwi.nii").grid, 9);
    write_image(folder.join("dev.nii"), &deviation, &Default::default()).unwrap();
    let error = folder.failed(&format!("fit mono {SUBJECT} --grad-dev dev.nii"));
    assert!(error.contains("--grad-dev"), "{error}");
}

#[test]
fn a_warning_says_where_limits_make_the_mean_of_kurtosis() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 14,14,3 --voxel 4.3,4.3,4 --snr 20 -o p");
    let line = "fit dki1d p/dwi.nii.gz --mask p/mask.nii.gz --device cpu --force -o out";
    assert!(folder.done(line).stderr.contains("of the directions have K outside"));
    folder.done("phantom protocol --size 14,14,3 --voxel 4.3,4.3,4 --snr 1000 -o p --force");
    assert!(!folder.done(line).stderr.contains("of the directions have K outside"));
}

#[test]
fn standard_errors_are_the_scatter_of_what_was_found() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 20,20,5 --voxel 3,3,2.4 --snr 200 -o p");
    let line = "fit dki1d p/dwi.nii.gz --mask p/mask.nii.gz --bmax 8000 --errors -o out";
    folder.done(&format!("{line} --device cpu"));
    let status = folder.image("out/status.nii.gz");
    for map in ["D", "K"] {
        let found = folder.image(&format!("out/{map}.nii.gz"));
        let error = folder.image(&format!("out/{map}_error.nii.gz"));
        let truth = folder.image(&format!("p/truth/{map}.nii.gz"));
        let n = status.data.len();
        let mut in_errors: Vec<f32> = (0..found.data.len())
            .filter(|i| status.data[i % n] == 1.0 && error.data[*i] > 0.0)
            .map(|i| (found.data[i] - truth.data[i]).abs() / error.data[i])
            .collect();
        in_errors.sort_by(f32::total_cmp);
        let median = in_errors[in_errors.len() / 2];
        // Of normal numbers 0.674; the deviation is estimated from 8 degrees of freedom, which
        // makes it that of Student's distribution, 0.706; K is not quite linear.
        assert!((0.62..0.8).contains(&median), "{map}: {median}");
    }
}

#[test]
fn outliers_do_not_pull_a_robust_fit() {
    let folder = Folder::new();
    let b: Vec<f64> = (1..9).map(|i| 250.0 * f64::from(i)).collect();
    let mut subject = shells(&b, |b, _| (-b * 0.8).exp());
    let voxel = subject.dwi.grid.index([3, 3, 2]);
    for volume in [7, 19, 30] {
        subject.dwi.volume_mut(volume)[voxel] *= 0.2;
    }
    subject.write(folder.path());
    let off = |robust: &str| {
        folder.done(&format!("fit mono {SUBJECT} --force {robust}"));
        (inside(&folder, "D") / 0.8e-3 - 1.0).abs()
    };
    let (plain, huber, tukey) = (off(""), off("--robust huber"), off("--robust tukey"));
    // All other samples are exact: nothing is left of the outliers but rounding.
    assert!(plain > 1e-2 && huber < 0.1 * plain && tukey < 1e-5, "{plain} {huber} {tukey}");
}
