//! Names, entities and keys beside those of QSIRecon and of BEP 16.

use std::fs;

use super::{PARTICIPANT, contents, with_data_set};
use crate::util::{Folder, five_tissues};

/// The labels under which QSIRecon 26.0.0 writes scalars of the models that both have (its folder
/// `data/scalars`), those of ours that it has too.
const QSIRECON: [(&str, &[&str]); 3] = [
    ("tensor", &["ad", "fa", "md", "rd"]),
    ("dki", &["ad", "ak", "fa", "kfa", "md", "mk", "mkt", "rd", "rk"]),
    ("msdki", &["msk", "msd", "awf", "di", "mfa"]),
];

/// What QSIRecon's own test of its kurtosis workflow expects of this series (its
/// `tests/data/dipy_dki_outputs.txt`), those of ours that it has too: all but `awf` and `rde`, which it has
/// of another model, that of white matter.
const EXPECTED: [&str; 9] = [
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-ad_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-ak_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-kfa_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-md_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-mk_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-mkt_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-rd_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-rk_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-tensor_param-fa_dwimap",
];

/// A crossing under names of BIDS, with the shells that kurtosis takes.
fn with_shells() -> Folder {
    let folder = Folder::new();
    let shells = "--b0s 2 --shells 1000:30,2000:30";
    folder.done(&format!("phantom crossing --size 14,16,10 --voxel 11 {shells} -o p"));
    let dwi = folder.join("in/sub-ABCD/dwi");
    fs::create_dir_all(&dwi).unwrap();
    let name = "sub-ABCD_acq-10per000_space-T1w_desc";
    for (from, to) in [
        ("dwi.nii.gz", "preproc_dwi.nii.gz"),
        ("dwi.bval", "preproc_dwi.bval"),
        ("dwi.bvec", "preproc_dwi.bvec"),
        ("mask.nii.gz", "brain_mask.nii.gz"),
    ] {
        fs::copy(folder.join(&format!("p/{from}")), dwi.join(format!("{name}-{to}"))).unwrap();
    }
    folder
}

#[test]
fn scalars_have_the_labels_of_qsirecon_and_their_units() {
    let folder = with_shells();
    folder.done(PARTICIPANT);
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_model";
    for (model, params) in QSIRECON {
        for param in params {
            let stem = format!("{at}-{model}_param-{param}_dwimap");
            assert_eq!(folder.image(&format!("{stem}.nii.gz")).n_volumes, 1, "{stem}");
            let sidecar = folder.json(&format!("{stem}.json"));
            assert!(sidecar.get("OrientationEncoding").is_none(), "a scalar has no orientation");
            let is_diffusivity = ["ad", "md", "rd", "msd", "di"].contains(param);
            let unit = if is_diffusivity { Some("mm^2/s") } else { None };
            assert_eq!(sidecar["Units"].as_str(), unit, "{stem}");
            // The keys of QSIRecon's sidecars: `metadata` of its lists of scalars.
            assert!(sidecar["Description"].is_string(), "{stem}");
            assert!(sidecar["Model"]["Description"].is_string(), "{stem}");
            let source =
                "bids:input:sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_desc-preproc_dwi.nii.gz";
            assert_eq!(sidecar["Sources"][0], source);
        }
    }
    for name in EXPECTED {
        for extension in ["nii.gz", "json"] {
            let file = format!("out/sub-ABCD/dwi/{name}.{extension}");
            assert!(folder.join(&file).exists(), "QSIRecon has {file}");
        }
    }
    for name in [
        "dataset_description.json",
        "sub-ABCD.html",
        "logs/CITATION.md",
        "logs/CITATION.bib",
        "logs/CITATION.html",
    ] {
        assert!(folder.join(&format!("out/{name}")).exists(), "QSIRecon has {name}");
    }
    let parameters = folder.json(&format!("{at}-tensor_param-fa_dwimap.json"));
    assert_eq!(parameters["Model"]["Parameters"]["FitMethod"], "wls");
}

#[test]
fn no_name_says_preprocessed_and_only_tensors_of_rank_two_have_a_rank() {
    let folder = with_shells();
    folder.done(&format!("{PARTICIPANT} --preset fibres"));
    let kurtosis =
        "fit dki in/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_desc-preproc_dwi.nii.gz";
    folder.done(&format!("{kurtosis} --layout bids -o dki"));
    for place in ["out/sub-ABCD", "dki"] {
        for (name, bytes) in contents(&folder.join(place)) {
            assert!(!name.contains("desc-preproc"), "{name}");
            if !name.ends_with("_dwimap.json") {
                continue;
            }
            let sidecar: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let rank = &sidecar["OrientationEncoding"]["TensorRank"];
            let is_tensor = name.contains("_param-diffusivity_");
            assert_eq!(rank.as_u64(), is_tensor.then_some(2), "{name}");
        }
    }
    let of = |param: &str| {
        folder.json(&format!(
            "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_model-{param}_dwimap.json"
        ))
    };
    let tensor = of("tensor_param-diffusivity");
    assert_eq!(tensor["OrientationEncoding"]["Reference"], "xyz");
    let density = of("csd_param-wm");
    assert_eq!(density["OrientationEncoding"]["Type"], "sh");
    assert_eq!(density["OrientationEncoding"]["SphericalHarmonicBasis"], "mrtrix3");
    assert_eq!(density["NonNegativity"], "constrained");
    // A row of zonal harmonics for each shell.
    assert_eq!(density["ResponseFunction"]["Coefficients"].as_array().unwrap().len(), 3);
    // What was written is read for what it is.
    folder.done(
        "peaks out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_model-csd_param-wm_dwimap.nii.gz -o peaks",
    );
}

/// What QSIRecon 26.0.0 calls the outputs of its workflow of densities and streamlines (its
/// `tests/data/mrtrix_multishell_msmt_hsvs_outputs.txt`), after the entities of the series, and what they
/// are called here: where proposals to BIDS have words these are taken (docs/bids.md has the reasons).
const OF_STREAMLINES: [(&str, &str); 6] = [
    ("model-msmtcsd_param-fod_label-WM_dwimap.mif.gz", "model-csd_param-wm_dwimap.nii.gz"),
    ("model-msmtcsd_param-fod_label-WM_dwimap.json", "model-csd_param-wm_dwimap.json"),
    ("model-ifod2_streamlines.tck.gz", "track-ifod_tractogram.trx"),
    ("model-sift2_streamlineweights.csv", "model-sift2_streamlineweights.csv"),
    ("connectivity.mat", "seg-halves_meas-count_relmat.tsv"),
    ("connectivity.mat", "seg-halves_meas-sift2_relmat.tsv"),
];

#[test]
fn a_connectome_has_streamlines_and_a_matrix_of_its_labels() {
    let folder = with_shells();
    let labels = folder.join("in/sub-ABCD/anat/sub-ABCD_space-T1w_seg-halves_dseg.nii.gz");
    fs::create_dir_all(labels.parent().unwrap()).unwrap();
    let mut image = folder.image("p/mask.nii.gz");
    let half = image.data.len() / 2;
    image.data[half..].iter_mut().for_each(|label| *label *= 2.0);
    fimbria_image::write_image(&labels, &image, &fimbria_image::WriteOptions::default()).unwrap();
    folder.done(&format!("{PARTICIPANT} --preset connectome --set track.select=200"));
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w";
    let matrix = format!("{at}_seg-halves_meas-count_relmat");
    let text = fs::read_to_string(folder.join(&format!("{matrix}.tsv"))).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().map(|l| l.split('\t').map(|n| n.parse().unwrap()).collect()).collect();
    assert_eq!((rows.len(), rows[0].len()), (2, 2));
    assert!(rows.concat().iter().sum::<f64>() > 0.0, "{text}");
    let sidecar = folder.json(&format!("{matrix}.json"));
    assert_eq!(sidecar["Nodes"], serde_json::json!([1, 2]));
    let sidecar = folder.json(&format!("{at}_track-ifod_tractogram.json"));
    assert_eq!(sidecar["StreamlineSeeding"]["StreamlinesWanted"], 200);
    assert_eq!(sidecar["StreamlineAcceptanceCriteria"]["MinLength"], 10.0);
    for (theirs, ours) in OF_STREAMLINES {
        assert!(folder.join(&format!("{at}_{ours}")).exists(), "{theirs} is {ours} here");
    }
    let said = folder.failed(&format!("{PARTICIPANT} --preset connectome --atlas thirds"));
    assert!(said.contains("called thirds: there are halves"), "{said}");
}

#[test]
fn tissues_beside_a_series_say_where_its_streamlines_end() {
    let folder = with_shells();
    let mask = folder.image("p/mask.nii.gz");
    let anat = folder.join("in/sub-ABCD/anat");
    fs::create_dir_all(&anat).unwrap();
    let write = |name: &str, image: &fimbria_image::Image| {
        let path = anat.join(format!("sub-ABCD_space-T1w_{name}.nii.gz"));
        fimbria_image::write_image(path, image, &fimbria_image::WriteOptions::default()).unwrap();
    };
    // 1, 2 and 3 are other tissues with other programs: such labels are left alone.
    write("dseg", &mask);
    let connectome =
        format!("{PARTICIPANT} --preset connectome --set track.select=40 --set track.min_length=0");
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_track-ifod_tractogram.json";
    let of_run = || {
        let record = folder.json("out/sub-ABCD/run.json");
        let inputs = record["inputs"].as_array().unwrap();
        let act = inputs.iter().find(|input| input["role"] == "act");
        let act = act.map(|input| input["path"].as_str().unwrap().to_owned());
        let track = &record["parameters"]["sub-ABCD_acq-10per000_space-T1w"]["track"];
        (act, track["anatomy"].clone(), folder.json(at))
    };
    folder.done(&connectome);
    let (act, anatomy, sidecar) = of_run();
    assert!(act.is_none() && anatomy.is_null() && sidecar.get("AnatomicalConstraint").is_none());
    let tissues = five_tissues(mask.grid);
    let mut labels = fimbria_image::Image::zeros(mask.grid, 1);
    let is_white = tissues.volume(2).iter().zip(&mut labels.data);
    is_white.for_each(|(white, label)| *label = if *white > 0.0 { 2.0 } else { 3.0 });
    write("desc-aseg_dseg", &labels);
    write("seg-hsvs_dseg", &tissues);
    let said = folder.done(&connectome).stderr;
    assert!(said.contains("1 of 1 done"), "{said}");
    let (act, anatomy, sidecar) = of_run();
    assert!(act.unwrap().ends_with("sub-ABCD_space-T1w_seg-hsvs_dseg.nii.gz"));
    assert_eq!(anatomy["backtrack"], false);
    assert_eq!(sidecar["AnatomicalConstraint"]["BackTrack"], false);
    let source = "bids:input:sub-ABCD/anat/sub-ABCD_space-T1w_seg-hsvs_dseg.nii.gz";
    assert!(sidecar["Sources"].as_array().unwrap().iter().any(|s| s == source), "{sidecar}");
    let methods = fs::read_to_string(folder.join("out/logs/CITATION.md")).unwrap();
    assert!(methods.contains("both ends had to lie in grey matter"), "{methods}");
    folder.done(&format!("{connectome} --set track.crop=true"));
    assert_eq!(of_run().2["AnatomicalConstraint"]["CropAtBoundary"], true);
    folder.done(&format!("{connectome} --no-act"));
    assert!(of_run().0.is_none());
    let said = folder.failed(&format!("{connectome} --set track.act=x.nii.gz"));
    assert!(said.contains("[track] act cannot be given for a data set"), "{said}");
}

#[test]
fn the_root_says_what_it_is_made_of_and_how() {
    let folder = with_data_set();
    folder.done(&format!("{PARTICIPANT} --participant-label 01"));
    let description = folder.json("out/dataset_description.json");
    assert_eq!(description["DatasetType"], "derivative");
    assert_eq!(description["GeneratedBy"][0]["Name"], "fimbria");
    assert_eq!(description["DatasetLinks"]["input"], "../in");
    let methods = fs::read_to_string(folder.join("out/logs/CITATION.md")).unwrap();
    assert!(
        methods.contains("squared predicted signal") && methods.contains("Basser"),
        "{methods}"
    );
    assert!(!methods.contains("kurtosis"), "what was not run");
    for name in [".bidsignore", "README", "logs/CITATION.bib", "logs/CITATION.html"] {
        assert!(folder.join(&format!("out/{name}")).exists(), "{name}");
    }
}
