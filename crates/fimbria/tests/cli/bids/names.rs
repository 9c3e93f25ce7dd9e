//! Names, entities and keys beside those of QSIRecon and of BEP 16.

use std::fs;

use fimbria_image::BvecFrame;
use serde_json::json;

use super::standard::errors;
use super::{PARTICIPANT, contents, with_data_set};
use crate::util::{Folder, five_tissues};

/// The labels under which QSIRecon 26.0.0 writes scalars of the models that both have (its folder
/// `data/scalars`), those of ours that it has too.
const QSIRECON: [(&str, &[&str]); 3] = [
    ("tensor", &["ad", "fa", "md", "rd", "rd1", "rd2"]),
    (
        "dki",
        &[
            "ad",
            "ak",
            "fa",
            "kfa",
            "linearity",
            "md",
            "mk",
            "mkt",
            "planarity",
            "rd",
            "rk",
            "sphericity",
        ],
    ),
    ("msdki", &["msk", "msd", "awf", "di", "mfa"]),
];

/// What QSIRecon's own test of its kurtosis workflow expects of this series (its
/// `tests/data/dipy_dki_outputs.txt`), those of ours that it has too: all but `awf` and `rde`, which it has
/// of another model, that of white matter.
const EXPECTED: [&str; 12] = [
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-ad_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-ak_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-kfa_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-linearity_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-md_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-mk_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-mkt_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-planarity_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-rd_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-rk_dwimap",
    "sub-ABCD_acq-10per000_space-T1w_model-dki_param-sphericity_dwimap",
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
            let is_diffusivity = ["ad", "md", "rd", "rd1", "rd2", "msd", "di"].contains(param);
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

#[test]
fn the_group_has_the_mean_of_the_responses_for_densities_that_compare() {
    let folder = with_shells();
    folder.done(&format!("{PARTICIPANT} --preset fibres"));
    folder.done("bids in out group");
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_model-csd_param";
    for (group, own) in [("", ""), ("_gm", "gm"), ("_csf", "csf")] {
        let response = |path: String| {
            let text = fs::read_to_string(folder.join(&path)).unwrap();
            fimbria_models::fod::Response::from_text(&text).unwrap()
        };
        let mean = response(format!("out/group_response{group}.txt"));
        let only = response(format!("{at}-response{own}_dwimap.txt"));
        for (a, b) in mean.zonal.concat().iter().zip(only.zonal.concat()) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "of one session it is that of this session");
        }
    }
    let given = "--set fod.response=out/group_response.txt --set fod.response_gm=out/group_response_gm.txt \
                 --set fod.response_csf=out/group_response_csf.txt";
    folder.done(&format!("bids in second participant --device cpu --preset fibres {given}"));
}

#[test]
fn the_models_of_a_study_have_their_labels() {
    let folder = with_shells();
    folder.done(&format!("{PARTICIPANT} --preset hbcd"));
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_model-tensor_param";
    let tensors = ["", "_desc-b1200", "_desc-b4000"].map(|desc| {
        let sidecar = folder.json(&format!("{at}-md{desc}_dwimap.json"));
        assert_eq!(sidecar["Units"], "mm^2/s");
        folder.image(&format!("{at}-md{desc}_dwimap.nii.gz")).data
    });
    // The tensor of the run is of the same volumes as that to 1200.
    assert!(tensors[0] == tensors[1] && tensors[1] != tensors[2]);
    folder.done("bids in out group");
    let columns = folder.json("out/group_dwi.json");
    for name in ["tensor_md_median", "tensor_md_b1200_median"] {
        assert_eq!(columns[name]["Units"], "mm^2/s", "{name}");
    }
    assert!(columns["tensor_b4000_fitted_percent"].is_object());
    let words = fs::read_to_string(folder.join("out/logs/CITATION.md")).unwrap();
    assert_eq!(words.matches("ln S = ln S0 - b gᵀDg was").count(), 1, "{words}");
    assert_eq!(words.matches("Volumes used: 32 of 62").count(), 1, "{words}");
    assert_eq!(words.matches("in another fit 62 of 62").count(), 1, "{words}");
}

#[test]
fn sticks_have_their_means_under_names_of_bids_and_are_tracked_through() {
    let folder = with_shells();
    let few = "[run]\nfits = [\"sticks\"]\n[sticks]\nburn_in = 20\njumps = 40\nsample_every = 10\n";
    fs::write(folder.join("few.toml"), few).unwrap();
    folder.done(&format!("{PARTICIPANT} --config few.toml"));
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w";
    let map = |param: &str| format!("{at}_model-bs_param-{param}_desc-mean_dwimap");
    let image = |param: &str| folder.image(&format!("{}.nii.gz", map(param)));
    let samples = |name: &str| folder.image(&format!("{at}_desc-sticks.bedpostX/{name}.nii.gz"));
    // In BEP 16's order: three volumes for each stick, in scanner axes.
    let (vector, fractions) = (image("vector"), image("vf"));
    assert_eq!((vector.n_volumes, fractions.n_volumes), (9, 3));
    assert_eq!(fractions.volume(1), samples("mean_f2samples").volume(0));
    let to_ras = BvecFrame::Fsl.ras_from_frame(&vector.grid.ras_from_vox);
    let mut dyads = samples("dyads1");
    fimbria_image::frames::turn_vectors(&mut dyads, &to_ras);
    assert!(to_ras != [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "axes that differ");
    for axis in 0..3 {
        assert_eq!(vector.volume(axis), dyads.volume(axis));
    }
    let further = fractions.volume(1).iter().zip(vector.volume(3)).filter(|(f, _)| **f < 0.05);
    assert!(further.map(|(_, x)| *x).all(|x| x == 0.0), "sticks that are hardly there");
    for (param, name) in [
        ("s0", "mean_S0samples"),
        ("vfsum", "mean_fsumsamples"),
        ("diffusivity", "mean_dsamples"),
        ("dstd", "mean_d_stdsamples"),
    ] {
        assert_eq!(image(param).data, samples(name).data, "{param}");
    }
    let sidecar = folder.json(&format!("{}.json", map("vector")));
    assert_eq!(sidecar["OrientationEncoding"]["Type"], "unit3vector");
    assert_eq!(sidecar["OrientationEncoding"]["Reference"], "xyz");
    assert_eq!(sidecar["Model"]["BootstrapParameters"]["SampleEvery"], 10);
    assert_eq!(folder.json(&format!("{}.json", map("diffusivity")))["Units"], "mm^2/s");
    let vf = folder.json(&format!("{}.json", map("vf")));
    assert_eq!(vf["OrientationEncoding"]["Type"], "scalar");
    // Streamlines go through the means, and through the samples.
    let through = "--seeds p/mask.nii.gz -n 1 --device cpu -o";
    folder.done(&format!("track {}.nii.gz {through} means", map("vector")));
    folder.done(&format!("track {at}_desc-sticks.bedpostX {through} samples"));
}

/// What QSIRecon 26.0.0 calls the outputs of its workflow of densities and streamlines (its
/// `tests/data/mrtrix_multishell_msmt_hsvs_outputs.txt`), after the entities of the series, and what they
/// are called here: where proposals to BIDS have words these are taken (docs/bids.md has the reasons).
const OF_STREAMLINES: [(&str, &str); 6] = [
    ("model-msmtcsd_param-fod_label-WM_dwimap.mif.gz", "model-csd_param-wm_dwimap.nii.gz"),
    ("model-msmtcsd_param-fod_label-WM_dwimap.json", "model-csd_param-wm_dwimap.json"),
    ("model-ifod2_streamlines.tck.gz", "track-ptt_tractogram.trx"),
    ("model-sift2_streamlineweights.csv", "model-sift2_streamlineweights.csv"),
    ("connectivity.mat", "seg-halves_meas-count_relmat.tsv"),
    ("connectivity.mat", "seg-halves_meas-sift2_relmat.tsv"),
];

#[test]
fn a_connectome_has_streamlines_and_a_matrix_of_its_labels() {
    let folder = with_shells();
    halves(&folder, "in/sub-ABCD/anat");
    folder.done(&format!("{PARTICIPANT} --preset connectome --set track.select=200"));
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w";
    let matrix = format!("{at}_seg-halves_meas-count_relmat");
    let text = fs::read_to_string(folder.join(&format!("{matrix}.tsv"))).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().map(|l| l.split('\t').map(|n| n.parse().unwrap()).collect()).collect();
    assert_eq!((rows.len(), rows[0].len()), (2, 2));
    assert!(rows.concat().iter().sum::<f64>() > 0.0, "{text}");
    let sidecar = folder.json(&format!("{matrix}.json"));
    assert_eq!(sidecar["Nodes"], json!([1, 2]));
    assert!(sidecar.get("NodeNames").is_none(), "nobody says what they are called");
    let regions = format!("{at}_seg-halves_scalarstats");
    let text = fs::read_to_string(folder.join(&format!("{regions}.tsv"))).unwrap();
    let maps = |map: &str| text.lines().filter(|l| l.split('\t').nth(2) == Some(map)).count();
    assert_eq!((maps("dti/FA"), maps("dki/MK")), (2, 2), "{text}");
    let sources = folder.json(&format!("{regions}.json"))["Sources"].to_string();
    assert!(sources.contains("seg-halves_dseg") && sources.contains("_dwi.nii"), "{sources}");
    let sidecar = folder.json(&format!("{at}_track-ptt_tractogram.json"));
    assert_eq!(sidecar["StreamlineSeeding"]["StreamlinesWanted"], 200);
    // A tenth of a voxel's edge; the number as it was given, not as a double has it.
    assert_eq!(sidecar["StreamlinePropagation"]["StepSize"], 1.1);
    assert_eq!(sidecar["StreamlinePropagation"]["Cutoff"], 0.15);
    assert_eq!(sidecar["StreamlineAcceptanceCriteria"]["MinLength"], 10.0);
    for (theirs, ours) in OF_STREAMLINES {
        assert!(folder.join(&format!("{at}_{ours}")).exists(), "{theirs} is {ours} here");
    }
    let said = folder.failed(&format!("{PARTICIPANT} --preset connectome --atlas thirds"));
    assert!(said.contains("called thirds: there are halves"), "{said}");
}

#[test]
fn regions_have_the_maps_of_every_preset() {
    let folder = with_shells();
    halves(&folder, "in/sub-ABCD/anat");
    folder.done(&format!("{PARTICIPANT} --preset maps"));
    let table = || {
        let name = "sub-ABCD_acq-10per000_space-T1w_seg-halves_scalarstats.tsv";
        fs::read_to_string(folder.join(&format!("out/sub-ABCD/dwi/{name}"))).unwrap()
    };
    let maps = table();
    folder.done(&format!("{PARTICIPANT} --preset connectome --set track.select=200"));
    let all = table();
    assert!(maps.contains("msdki/"), "{maps}");
    assert!(maps.lines().all(|line| all.lines().any(|one| one == line)), "{maps}{all}");
    // What is there is kept, whichever preset is asked for.
    folder.done(&format!("{PARTICIPANT} --preset maps"));
    assert_eq!(table(), all);
    let said = folder.done(&format!("{PARTICIPANT} --preset maps")).stderr;
    assert!(said.contains("1 kept from before"), "{said}");
}

/// Two halves of the head as labels `halves`, in a folder.
fn halves(folder: &Folder, at: &str) {
    let labels = folder.join(&format!("{at}/sub-ABCD_space-T1w_seg-halves_dseg.nii.gz"));
    fs::create_dir_all(labels.parent().unwrap()).unwrap();
    let mut image = folder.image("p/mask.nii.gz");
    // Left and right, which the bundles of the phantom join.
    let width = image.grid.dims[0];
    for row in image.data.chunks_mut(width) {
        row[width / 2..].iter_mut().for_each(|label| *label *= 2.0);
    }
    fimbria_image::write_image(&labels, &image, &fimbria_image::WriteOptions::default()).unwrap();
}

#[test]
fn labels_of_another_data_set_are_taken_with_what_it_calls_them() {
    let folder = with_shells();
    let description = json!({ "Name": "test", "BIDSVersion": "1.10.0", "DatasetType": "derivative",
        "GeneratedBy": [{ "Name": "QSIPrep" }] });
    fs::write(folder.join("in/dataset_description.json"), description.to_string()).unwrap();
    halves(&folder, "recon/sub-ABCD/dwi");
    let table = folder.join("recon/atlases/atlas-halves/atlas-halves_dseg.tsv");
    fs::create_dir_all(table.parent().unwrap()).unwrap();
    fs::write(&table, "index\tlabel\n2\tupper\n1\tlower\n").unwrap();
    let line = format!("{PARTICIPANT} --preset connectome --set track.select=200 -d recon=recon");
    folder.done(&line);
    let matrix =
        "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_seg-halves_meas-count_relmat.json";
    let sidecar = folder.json(matrix);
    assert_eq!(sidecar["NodeNames"], json!(["lower", "upper"]));
    let regions = matrix.replace("meas-count_relmat.json", "scalarstats.tsv");
    let regions = fs::read_to_string(folder.join(&regions)).unwrap();
    assert!(regions.contains("\n1\tlower\tdti/FA\t"), "{regions}");
    let sources = sidecar["Sources"].as_array().unwrap();
    for source in [
        "bids:recon:sub-ABCD/dwi/sub-ABCD_space-T1w_seg-halves_dseg.nii.gz",
        "bids:recon:atlases/atlas-halves/atlas-halves_dseg.tsv",
        "bids:input:sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_desc-preproc_dwi.nii.gz",
    ] {
        assert!(sources.iter().any(|there| there == source), "no {source}: {sidecar}");
    }
    let root = folder.json("out/dataset_description.json");
    assert_eq!(root["DatasetLinks"], json!({ "input": "../in", "recon": "../recon" }));
    assert_eq!(root["SourceDatasets"].as_array().unwrap().len(), 2);
    if let Some(errors) = errors(&folder.join("out")) {
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let record = folder.json("out/sub-ABCD/run.json");
    let inputs = record["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["role"] == "label_names"), "{inputs:?}");
    assert!(folder.done(&line).stderr.contains("1 kept"));
    // Called something else, they are written again.
    fs::write(&table, "index\tname\n2\thigh\n1\tlow\n").unwrap();
    folder.done(&line);
    assert_eq!(folder.json(matrix)["NodeNames"], json!(["low", "high"]));
    for (sets, why) in [
        ("-d input=recon", "input is the name of the data set itself"),
        ("-d recon", "give a name of letters and digits, and a folder"),
    ] {
        let ran = folder.run(&format!("{PARTICIPANT} {sets}"));
        assert!(ran.code == Some(2) && ran.stderr.contains(why), "{}", ran.stderr);
    }
    let twice = folder.failed(&format!("{PARTICIPANT} -d a=recon a=p"));
    assert!(twice.contains("two data sets are called a"), "{twice}");
}

#[test]
fn thread_counts_do_not_change_the_digest_of_a_connectome() {
    let folder = with_shells();
    halves(&folder, "in/sub-ABCD/anat");
    let digest = |threads: u32| {
        let line = format!(
            "bids in {threads} participant --device cpu --preset connectome --set track.select=500 \
             --nprocs {threads} --digest"
        );
        folder.done(&line).stdout
    };
    let one = digest(1);
    for what in ["tractogram.trx", "meas-count_relmat.tsv", "param-mk_dwimap.nii.gz"] {
        assert!(one.contains(what), "no {what} in {one}");
    }
    assert_eq!(one, digest(2));
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
    let at = "out/sub-ABCD/dwi/sub-ABCD_acq-10per000_space-T1w_track-ptt_tractogram.json";
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
    // Streamlines that may end elsewhere are others.
    let said = folder.failed(&connectome);
    assert!(said.contains("holds results of track"), "{said}");
    let said = folder.done(&format!("{connectome} --force")).stderr;
    assert!(said.contains("1 of 1 done"), "{said}");
    let (act, anatomy, sidecar) = of_run();
    assert!(act.unwrap().ends_with("sub-ABCD_space-T1w_seg-hsvs_dseg.nii.gz"));
    assert_eq!(anatomy["backtrack"], true);
    assert_eq!(sidecar["AnatomicalConstraint"]["BackTrack"], true);
    let source = "bids:input:sub-ABCD/anat/sub-ABCD_space-T1w_seg-hsvs_dseg.nii.gz";
    assert!(sidecar["Sources"].as_array().unwrap().iter().any(|s| s == source), "{sidecar}");
    let methods = fs::read_to_string(folder.join("out/logs/CITATION.md")).unwrap();
    assert!(methods.contains("both ends had to lie in grey matter"), "{methods}");
    folder.done(&format!("{connectome} --force --set track.crop=false"));
    assert_eq!(of_run().2["AnatomicalConstraint"]["CropAtBoundary"], false);
    folder.done(&format!("{connectome} --force --no-act"));
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
