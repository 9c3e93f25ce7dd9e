//! `fimbria phantom`.

use std::fs;

use crate::util::Folder;

/// A phantom that is made in a moment.
const SMALL: &str = "phantom crossing --size 20,24,18 --voxel 7.5 --shells 1000:20";

#[test]
fn a_phantom_is_a_subject_that_the_fit_takes_as_it_is() {
    let folder = Folder::new();
    folder.done(&format!("{SMALL} -o p"));
    let ran = folder.done("fit dti p/dwi.nii.gz --mask p/mask.nii.gz -o out");
    assert!(ran.stderr.contains("b=0 (6 volumes), b=1000 (20 volumes)"), "{}", ran.stderr);
    let truth = folder.image("p/truth/V1.nii.gz");
    let found = folder.image("out/V1.nii.gz");
    let n = truth.grid.len();
    let cosines = (0..n).filter(|&v| truth.data[v].is_finite()).map(|v| {
        let component = |k: usize| f64::from(truth.volume(k)[v] * found.volume(k)[v]);
        (0..3).map(component).sum::<f64>().abs()
    });
    let mut cosines: Vec<_> = cosines.collect();
    cosines.sort_by(f64::total_cmp);
    // At SNR 30 directions scatter by about a degree, cos 3° = 0.9986. A mistake of frame on this
    // oblique grid is 10 degrees or more.
    assert!(cosines[cosines.len() / 2] > 0.9986, "median {}", cosines[cosines.len() / 2]);
}

#[test]
fn a_mif_phantom_carries_its_table_in_the_header() {
    let folder = Folder::new();
    folder.done(&format!("{SMALL} -o p --format mif"));
    assert!(!folder.join("p/dwi.bval").exists());
    let text = folder.done("info p/dwi.mif").stdout;
    assert!(text.contains("b=1000 (20 volumes)"), "{text}");
}

#[test]
fn the_seed_decides_the_noise_and_the_threads_do_not() {
    let folder = Folder::new();
    let series = |options: &str, name: &str| {
        folder.done(&format!("{SMALL} {options} -o {name}"));
        fs::read(folder.join(&format!("{name}/dwi.nii.gz"))).unwrap()
    };
    let first = series("--threads 1", "a");
    assert!(series("--threads 2", "b") == first);
    assert!(series("--rng-seed 2", "c") != first);
}

#[test]
fn a_head_has_tissues_labels_and_bundles_that_others_read() {
    let folder = Folder::new();
    folder.done("phantom head --voxel 6 --shells 1000:6 --b0s 1 --snr inf -o h");
    let five = folder.image("h/5tt.nii.gz");
    let mask = folder.image("h/mask.nii.gz");
    let n = mask.data.len();
    let sum = |v: usize| (0..5).map(|k| five.volume(k)[v]).sum::<f32>();
    assert!((0..n).all(|v| (sum(v) - mask.data[v]).abs() < 1e-5));
    let table = fs::read_to_string(folder.join("h/labels.txt")).unwrap();
    let known: Vec<f32> =
        table.lines().map(|l| l.split(' ').next().unwrap().parse().unwrap()).collect();
    let labels = folder.image("h/labels.nii.gz");
    assert!(labels.data.iter().all(|label| known.contains(label)));
    let text = folder.done("info h/truth/tracts.trx").stdout;
    assert!(text.contains("corticospinal_left"), "{text}");
    assert!(folder.join("h/truth/bundles/arcuate_right.nii.gz").exists());
    let said = &folder.json("h/run.json")["parameters"]["head"];
    assert_eq!((&said["voxel"], &said["snr"]), (&"6,6,6".into(), &"inf".into()));
}

/// One test, as a head takes long to make.
#[test]
fn a_head_with_faults_says_what_they_are() {
    let folder = Folder::new();
    let head = "phantom head --voxel 8 --shells 1000:12 --b0s 2 --snr inf";
    folder.done(&format!("{head} -o even"));
    folder.done(&format!("{head} --nonlinearity 0.15 -o bent"));
    folder.done(&format!("{head} --motion 5 --dropped-slices 4 --b-tensor planar -o worse"));

    // The image of deviations mends what they do.
    let md = |of: &str, how: &str| {
        let fit = format!("fit dti {of}/dwi.nii.gz --mask even/mask.nii.gz {how} -o dti -f");
        folder.done(&fit);
        folder.image("dti/MD.nii.gz").data
    };
    let even = md("even", "");
    let off = |found: Vec<f32>| -> f32 {
        let relative = found.iter().zip(&even).filter(|(_, e)| **e > 0.0);
        let mut off: Vec<f32> = relative.map(|(f, e)| (f / e - 1.0).abs()).collect();
        off.sort_by(f32::total_cmp);
        off[off.len() / 2]
    };
    let [blind, told] = ["", "--grad-dev bent/grad_dev.nii.gz"].map(|how| off(md("bent", how)));
    // What is left is kurtosis: it takes some 15 % of MD at this b, and b is off by up to a third.
    assert!(blind > 0.02 && told < 0.4 * blind, "{blind} {told}");

    let rows = |name: &str| fs::read_to_string(folder.join(name)).unwrap().lines().count() - 1;
    assert_eq!((rows("worse/truth/motion.tsv"), rows("worse/truth/dropped.tsv")), (14, 4));
    let [still, worse] = ["even", "worse"].map(|name| folder.image(&format!("{name}/dwi.nii.gz")));
    assert_eq!(worse.volume(0), still.volume(0));
    assert_ne!(worse.volume(7), still.volume(7));
    let shapes = fs::read_to_string(folder.join("worse/dwi.bshape")).unwrap();
    assert_eq!(shapes.split_whitespace().filter(|shape| *shape == "-0.5").count(), 12);
    let error = folder.failed("fit dti worse/dwi.nii.gz --mask even/mask.nii.gz -o dti -f");
    assert!(error.contains("b-tensors of 12 volumes are not linear"), "{error}");
}

#[test]
fn the_echoes_of_a_head_are_what_field_reads() {
    let folder = Folder::new();
    folder.done("phantom head --voxel 10 --shells 1000:1 --gre 5,10,15 --gre-voxel 6 -o h");
    folder.done(
        "field h/gre/phase.nii.gz --magnitude h/gre/magnitude.nii.gz --mask h/gre/mask.nii.gz -o f",
    );
    let found = folder.image("f/total_field.nii.gz");
    let [truth, inside] =
        ["truth/total_field", "mask"].map(|name| folder.image(&format!("h/gre/{name}.nii.gz")));
    let voxels = (0..inside.data.len()).filter(|&v| inside.data[v] > 0.0 && found.data[v] != 0.0);
    let mut off: Vec<f32> = voxels.map(|v| found.data[v] - truth.data[v]).collect();
    off.sort_by(f32::total_cmp);
    // Up to the same turns everywhere: 1.57 ppm at 3 T and 5 ms between echoes.
    let median = off[off.len() / 2];
    let near = off.iter().filter(|o| (*o - median).abs() < 0.02).count();
    // Above the sinuses the signal of such voxels is lost.
    assert!(near as f64 > 0.9 * off.len() as f64, "{near} of {}", off.len());
    let said = &folder.json("h/run.json")["parameters"]["head"];
    assert_eq!((said["gre"].as_str(), said["gre_voxel"].as_f64()), (Some("5,10,15"), Some(6.0)));
    // Echo times are refused in the unit they were given in.
    let error = folder.failed("phantom head --gre 0 -o none");
    assert!(error.contains("[0.0") && error.contains("in ms"), "{error}");
    let refused = folder.run("phantom gre --te 0 -o none");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("above 0, in ms"), "{}", refused.stderr);
    // The scan's options are of a scan.
    assert_eq!(folder.run("phantom head --gre-b0 7 -o alone").code, Some(2));
}

/// The script that scores tractograms against the bundles proves itself on some that are made.
#[test]
fn scores_of_made_tractograms_are_as_they_were_made() {
    let Some(mut python) = fimbria_testing::python("scipy, nibabel") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/bundle_scores.py");
    let ran = python.args([script, "--check"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn the_protocol_of_the_paper_has_its_volumes_and_truth() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 16,16,4 --voxel 3.75,3.75,3 --snr inf -o p");
    let text = folder.done("info p/dwi.nii.gz").stdout;
    assert!(text.contains("16 x 16 x 4 x 305") && text.contains("b=8000 (30 volumes)"), "{text}");
    assert_eq!(folder.image("p/truth/K.nii.gz").n_volumes, 30);
    assert_eq!(folder.json("p/run.json")["parameters"]["phantom"]["snr"], serde_json::Value::Null);
}

#[test]
fn tensors_of_the_papers_set_have_their_maximum_at_the_single_fibre() {
    let folder = Folder::new();
    folder.done("phantom tensors --order 6 -o p");
    let hot = folder.image("p/hot.nii.gz");
    assert_eq!((hot.grid.dims, hot.n_volumes), ([32, 32, 1], 28));
    let truth = folder.image("p/truth/dirs.nii.gz");
    let entries: Vec<f32> = (0..28).map(|volume| hot.volume(volume)[5]).collect();
    let input = serde_json::json!({ "order": 6, "dimension": 3, "tensors": [entries] });
    fs::write(folder.join("in.json"), input.to_string()).unwrap();
    folder.done("eigen in.json -o out.json --shift maxima");
    let pairs = &folder.json("out.json")["tensors"][0]["pairs"];
    assert_eq!(pairs.as_array().unwrap().len(), 1);
    let cosine: f64 =
        (0..3).map(|i| pairs[0]["x"][i].as_f64().unwrap() * f64::from(truth.volume(i)[5])).sum();
    // Entries in single precision: an angle of 1e-6, its cosine within 1e-12 and truth's rounding.
    assert!(cosine.abs() > 1.0 - 1e-6, "{cosine}");
    let value = pairs[0]["lambda"].as_f64().unwrap();
    assert!((value - 1.1).abs() < 1e-5, "{value}");
}

#[test]
fn a_tensor_phantom_of_no_order_is_refused() {
    let folder = Folder::new();
    let ran = folder.run("phantom tensors --order 5 -o p");
    assert!(ran.code == Some(2) && ran.stderr.contains("4, 6 or 8"), "{}", ran.stderr);
    assert!(!folder.join("p").exists());
}

#[test]
fn a_head_of_metres_is_refused_at_once() {
    let folder = Folder::new();
    for (kind, size) in [("crossing", "4"), ("gre", "4"), ("protocol", "4,4,4")] {
        let error = folder.failed(&format!("phantom {kind} --voxel 65536 --size {size} -o p"));
        assert!(error.contains("1000 mm"), "{kind}: {error}");
        let error = folder.failed(&format!("phantom {kind} --voxel 1e-30 --size {size} -o p"));
        assert!(error.contains("0.001 mm at least"), "{kind}: {error}");
    }
}
