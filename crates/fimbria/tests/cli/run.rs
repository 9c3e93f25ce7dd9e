//! `fimbria run`.

use std::fs;

use fimbria_image::{WriteOptions, write_image};

use crate::util::{Folder, five_tissues};

const RUN: &str = "run dwi.nii --mask mask.nii --bvec-frame scanner --set run.fits=[]";

#[test]
fn flags_and_a_file_give_the_same_maps() {
    let folder = Folder::with_subject();
    folder.done(&format!("{RUN} -o flags --set dti.method=ols"));
    let config = "[input]\ndwi = \"dwi.nii\"\nmask = \"mask.nii\"\nbvec_frame = \"scanner\"\n\
                  [run]\nfits = []\n[dti]\nmethod = \"ols\"\n";
    fs::write(folder.join("subject.toml"), config).unwrap();
    folder.done("run --config subject.toml -o file");
    let fa = |out: &str| fs::read(folder.join(&format!("{out}/dti/FA.nii.gz"))).unwrap();
    assert!(fa("flags") == fa("file"));
    assert!(folder.join("flags/report/report.html").exists());
}

#[test]
fn resuming_runs_only_what_changed() {
    let folder = Folder::with_subject();
    folder.done(&format!("{RUN} -o out"));
    let error = folder.failed(&format!("{RUN} -o out"));
    assert!(error.contains("dti/FA.nii.gz") && error.contains("--resume"), "{error}");

    let resumed = |line: &str| -> Vec<(String, bool)> {
        folder.done(line);
        let record = folder.json("out/run.json");
        let stages = record["stages"].as_array().unwrap();
        let entry =
            |s: &serde_json::Value| (s["name"].as_str().unwrap().to_owned(), s["resumed"] == true);
        stages.iter().map(entry).collect()
    };
    let all = resumed(&format!("{RUN} -o out --resume"));
    assert!(all.iter().all(|(_, resumed)| *resumed), "{all:?}");
    let changed = resumed(&format!("{RUN} -o out --resume --set dti.method=iwls"));
    assert!(changed.iter().all(|(_, resumed)| !resumed), "{changed:?}");
    let titled =
        resumed(&format!("{RUN} -o out --resume --set dti.method=iwls --set report.title=x"));
    // The check of gradients has no files: its result is made again for the page.
    let expected = [("dti", true), ("gradients", false), ("quality", true), ("report", false)];
    assert_eq!(titled, expected.map(|(name, resumed)| (name.to_owned(), resumed)));
}

#[test]
fn the_page_tells_of_voxels_with_few_effective_samples() {
    let folder = Folder::with_subject();
    // After hardly any jumps, 200 that are all kept: each is nearly the one before.
    folder.done(&format!(
        "{RUN} -o out --set run.fits=[\"sticks\"] --set sticks.fibres=1 --set sticks.burn_in=5 \
         --set sticks.jumps=200 --set sticks.sample_every=1"
    ));
    let record = folder.json("out/run.json");
    let stages = record["stages"].as_array().unwrap();
    let counts = &stages.iter().find(|stage| stage["name"] == "sticks").unwrap()["counts"];
    let (few, sampled) = (&counts["few_effective_samples"], &counts["sampled"]);
    assert!(few.as_u64().unwrap() > 0, "{counts}");
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    let sentence = format!("{few} of {sampled} voxels: fewer effective samples than a fifth");
    assert!(page.contains(&sentence), "no `{sentence}`");
}

#[test]
fn the_record_lists_the_outputs_of_all_stages() {
    let folder = Folder::with_subject();
    folder.done(&format!("{RUN} -o out --set dti.maps=[\"FA\",\"V1\"]"));
    let record = folder.json("out/run.json");
    let outputs = record["outputs"].as_array().unwrap();
    let files: Vec<_> = outputs.iter().map(|o| o["file"].as_str().unwrap()).collect();
    let maps = ["dti/FA.nii.gz", "dti/V1.nii.gz", "dti/status.nii.gz"];
    let expected = [&maps[..], &["quality/quality.json", "report/report.html"]].concat();
    assert_eq!(files, expected);
    assert_eq!(record["parameters"]["dti"]["fit"]["maps"][1], "V1");
}

#[test]
fn peaks_of_a_run_are_those_of_the_command() {
    let folder = Folder::with_subject();
    let fits = "--set run.fits=[\"peaks\",\"track\"] --set fod.order=4";
    folder.done(&format!("{RUN} -o out {fits}"));
    folder.done("peaks out/fod/fod.nii.gz --mask mask.nii -o peaks");
    let (ours, theirs) =
        (folder.image("out/peaks/count.nii.gz"), folder.image("peaks/count.nii.gz"));
    assert!(ours.data == theirs.data && ours.data.iter().any(|n| *n > 0.0));
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("whose density has a peak above 0.15"), "{page}");
}

/// A crossing, `p`, and tissues of its box, `5tt.nii.gz`.
fn with_crossing() -> Folder {
    let folder = Folder::new();
    folder.done("phantom crossing --size 14,16,10 --voxel 11 --b0s 2 --shells 2000:30 -o p");
    let tissues = five_tissues(folder.image("p/mask.nii.gz").grid);
    let options = WriteOptions::default();
    write_image(folder.join("5tt.nii.gz"), &tissues, &options).unwrap();
    folder
}

#[test]
fn a_run_tracks_densities_as_the_command_does() {
    let folder = with_crossing();
    let fits = "--set run.fits=[\"peaks\",\"track\"] --set fod.order=4 --set track.tracks=tck";
    let run = format!("run p/dwi.nii.gz --mask p/mask.nii.gz --device cpu {fits} -f");
    let mut seeds = None;
    for (settings, options) in [
        ("", ""),
        ("--set track.act=5tt.nii.gz --set track.select=10", "--act 5tt.nii.gz --select 10"),
        (
            "--set track.act=5tt.nii.gz --set track.samples=2 --set track.backtrack=false \
             --set track.crop=true",
            "--act 5tt.nii.gz -n 2 --backtrack=false --crop",
        ),
    ] {
        folder.done(&format!("{run} {settings} -o out"));
        // What the run starts from: voxels of which the density has a peak.
        let seeds = seeds.get_or_insert_with(|| {
            let mut peaks = folder.image("out/peaks/values.nii.gz");
            peaks.data.truncate(peaks.grid.len());
            peaks.n_volumes = 1;
            peaks.data.iter_mut().for_each(|value| *value = f32::from(u8::from(*value > 0.15)));
            peaks
        });
        let path = folder.join("seeds.nii.gz");
        write_image(path, seeds, &WriteOptions::default()).unwrap();
        let track = "track out/fod/fod.nii.gz --mask out/fod/status.nii.gz --seeds seeds.nii.gz";
        folder.done(&format!("{track} --tracks tck --device cpu {options} -o track -f"));
        let lines = |at: &str| fs::read(folder.join(at)).unwrap();
        assert!(lines("out/track/tracks.tck") == lines("track/tracks.tck"), "{settings}");
        let through = |at: &str| folder.image(at).data;
        assert!(through("out/track/visits.nii.gz") == through("track/visits.nii.gz"));
    }
    let record = folder.json("out/run.json");
    assert_eq!(record["parameters"]["track"]["anatomy"]["crop"], true);
    assert!(record["inputs"].as_array().unwrap().iter().any(|input| input["role"] == "act"));
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("both ends had to lie in grey matter") && page.contains("Smith RE"));
}

#[test]
fn streamlines_of_a_run_start_at_the_boundary_where_that_is_asked_for() {
    let folder = with_crossing();
    let fits = "--set run.fits=[\"peaks\",\"track\"] --set fod.order=4 --set track.select=30";
    let run = format!("run p/dwi.nii.gz --mask p/mask.nii.gz --device cpu {fits} -f -o out");
    folder.done(&format!("{run} --set track.act=5tt.nii.gz --set track.seed_boundary=true"));
    let record = folder.json("out/run.json");
    let stage = |record: &serde_json::Value| {
        let stages = record["stages"].as_array().unwrap();
        stages.iter().find(|stage| stage["name"] == "track").unwrap()["counts"].clone()
    };
    assert_eq!(stage(&record)["kept"], 30, "{}", stage(&record));
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("boundary of grey and white matter passes"));
    let said = folder.failed(&format!("{run} --set track.backtrack=true"));
    assert!(said.contains("[track]") && said.contains("without `act`"), "{said}");
    let sticks = "--set run.fits=[\"sticks\",\"track\"] --set track.act=5tt.nii.gz";
    let said = folder
        .failed(&format!("run p/dwi.nii.gz --mask p/mask.nii.gz --device cpu {sticks} -f -o out"));
    assert!(said.contains("`act` has no use here, through samples"), "{said}");
}

#[test]
fn an_unknown_setting_is_refused_by_name() {
    let folder = Folder::with_subject();
    let error = folder.failed(&format!("{RUN} -o out --set dti.methood=ols"));
    assert!(error.contains("methood"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn a_failed_stage_leaves_no_record() {
    let folder = Folder::with_subject();
    fs::write(folder.join("mask.nii"), "no image").unwrap();
    let error = folder.failed(&format!("{RUN} -o out"));
    assert!(error.contains("stage load failed"), "{error}");
    assert!(!folder.join("out").exists());
}

#[test]
fn stretched_exponentials_are_fitted_where_the_protocol_has_them() {
    let folder = Folder::new();
    let shells = "--b0s 2 --shells 1000:12,2500:12,5000:12";
    folder.done(&format!("phantom crossing --size 14,16,10 --voxel 11 {shells} -o p"));
    let line = "run p/dwi.nii.gz --mask p/mask.nii.gz --device cpu --set run.fits";
    folder.done(&format!("{line}=[\"stremi\"] -o out"));
    assert!(folder.join("out/stremi/Mgamma.nii.gz").exists());
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("Stretched exponentials") && page.contains("De Santis"), "{page}");
    folder.done(&format!("{line}=[] -o none"));
    assert!(!folder.join("none/stremi").exists());
}

#[test]
fn curves_are_fitted_where_they_are_asked_for() {
    let folder = Folder::new();
    folder.done("phantom protocol --size 12,12,4 --voxel 5,5,4 --snr 100 -o p");
    let config = "[input]\ndwi = \"p/dwi.nii.gz\"\nmask = \"p/mask.nii.gz\"\n\
                  [run]\nfits = [\"dki1d\", \"stremi1d\", \"mono\"]\n\
                  [expr]\nmodel = \"S0*exp(-b*D)\"\nparam = [\"S0=500,0,-\", \"D=0.5\"]\n";
    fs::write(folder.join("run.toml"), config).unwrap();
    folder.done("run --config run.toml --device cpu -o out");
    let record = folder.json("out/run.json");
    let stages: Vec<&str> =
        record["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        stages,
        ["load", "dti", "gradients", "quality", "dki1d", "stremi1d", "mono", "expr", "report"]
    );
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    for part in [
        "Kurtosis by direction",
        "Stretched exponentials by direction",
        "One exponential",
        "S0*exp(-b*D) was fitted",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Drawn again from the files.
    folder.done("report out -o page.html");
    let mono = folder.image("out/mono/D.nii.gz");
    let expr = folder.image("out/expr/D.nii.gz");
    for (mono, expr) in mono.data.iter().zip(&expr.data) {
        assert!((1e3 * mono - expr).abs() < 1e-3, "{mono} mm²/s, {expr} µm²/ms");
    }
}

#[test]
fn a_gradient_echo_scan_is_mapped_beside_the_series() {
    let folder = Folder::new();
    for kind in ["crossing", "gre"] {
        folder.done(&format!("phantom {kind} --size 24,28,22 --voxel 6.5 -o {kind}"));
    }
    let config = r#"
        input = { dwi = "crossing/dwi.nii.gz", mask = "crossing/mask.nii.gz" }
        run.fits = []
        gre = { phase = ["gre/phase.nii.gz"], magnitude = ["gre/magnitude.nii.gz"] }
        field.background = "pdf"
        qsm.method = "dqsm"
        qsm.iterations = 5
        qsm.fa_threshold = 0.3
    "#;
    fs::write(folder.join("subject.toml"), config).unwrap();
    let said = folder.failed("run --config subject.toml -o no --set qsm.method=tkd");
    assert!(said.contains("`fa-threshold` is not used by the method tkd"), "{said}");
    folder.done("run --config subject.toml -o out");
    let all = folder.json("out/run.json");
    assert_eq!(all["parameters"]["guide"]["fa_threshold"], 0.3);
    let record = folder.json("out/qsm/run.json");
    assert_eq!(record["parameters"]["qsm"]["kappa"], 0.95);
    assert_eq!(record["stopped"], "iterations");
    assert_eq!(record["stages"][0]["counts"]["iterations"], 5);
    // Echo times and B0 are those of the sidecar.
    let field = folder.json("out/field/run.json");
    assert_eq!(field["b0_tesla"], 3.0);
    assert!((field["last_echo_ms"].as_f64().unwrap() - 28.0).abs() < 1e-6);
    let chi = folder.image("out/qsm/chi.nii.gz");
    assert!(chi.data.iter().filter(|chi| **chi != 0.0).count() > 3000);
    // The scan lies on the grid of the series, and has its mask: only inside is there a field.
    let masked = |name: &str| {
        let inputs = folder.json(name)["inputs"].as_array().unwrap().clone();
        inputs.iter().any(|input| input["role"] == "mask")
    };
    assert!(masked("out/field/run.json"));
    let mask = folder.image("crossing/mask.nii.gz");
    let local = folder.image("out/field/local_field.nii.gz");
    let outside = local.data.iter().zip(&mask.data).filter(|(_, mask)| **mask == 0.0);
    assert!(outside.into_iter().all(|(field, _)| *field == 0.0));
    let page = fs::read_to_string(folder.join("out/report/report.html")).unwrap();
    assert!(page.contains("Magnetic susceptibility") && page.contains("by conjugate gradients"));
    let before = folder.json("out/run.json");
    folder.done("run --config subject.toml -o out --resume");
    assert_eq!(folder.image("out/qsm/chi.nii.gz").data, chi.data);
    let resumed = |record: &serde_json::Value| {
        let stages = record["stages"].as_array().unwrap();
        stages.iter().filter(|stage| stage["resumed"] == true).count()
    };
    assert!(resumed(&before) == 0 && resumed(&folder.json("out/run.json")) > 2);
}

#[test]
fn all_maps_of_a_run_are_summed_up_over_its_regions() {
    let folder = Folder::new();
    folder
        .done("phantom crossing --size 14,16,10 --voxel 11 --b0s 2 --shells 1000:30,2000:30 -o p");
    let mask = folder.image("p/mask.nii.gz");
    write_image(folder.join("halves.nii"), &mask, &WriteOptions::default()).unwrap();
    fs::write(folder.join("halves.tsv"), "index\tname\n1\tbrain\n").unwrap();
    write_image(folder.join("t1.nii"), &mask, &WriteOptions::default()).unwrap();
    let regions = "--set regions.labels=halves.nii --set regions.map=[\"t1.nii\"]";
    let run = "run p/dwi.nii.gz --mask p/mask.nii.gz --set run.fits=[\"dki\"]";
    folder.done(&format!("{run} {regions} -o out"));
    // The same as the command says of the files.
    folder.done("regions halves.nii --map out/dti/FA.nii.gz out/dki/MK.nii.gz t1.nii -o alone");
    let table = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let (made, alone) = (table("out/regions/regions.tsv"), table("alone/regions.tsv"));
    for line in alone.lines() {
        let of_run = line.replace("\tFA", "\tdti/FA").replace("\tMK", "\tdki/MK");
        assert!(made.lines().any(|own| own == of_run), "no {of_run} in {made}");
    }
    let page = table("out/report/report.html");
    assert!(page.contains("Regions") && page.contains("1 brain"));
    folder.done("report out -o again.html");
    assert!(table("again.html").contains("1 brain"));
    // Another tensor has other values.
    let line = format!("{run} {regions} -o out --resume --set dti.method=ols");
    folder.done(&line);
    assert_ne!(table("out/regions/regions.tsv"), made);
}

#[test]
fn tracks_without_directions_are_refused_before_the_first_stage() {
    let folder = Folder::with_subject();
    for fits in ["[\"track\"]", "[\"life\",\"dki\"]"] {
        let line = format!(
            "run dwi.nii --mask mask.nii --bvec-frame scanner --set run.fits={fits} -o out"
        );
        let error = folder.failed(&line);
        assert!(error.contains("takes the directions of `peaks` or `sticks`"), "{error}");
        assert!(!folder.join("out").exists());
    }
}

#[test]
fn one_word_says_what_a_run_does() {
    let folder = Folder::new();
    let shells = "--b0s 2 --shells 1000:30,2000:30";
    folder.done(&format!("phantom crossing --size 14,16,10 --voxel 11 {shells} -o p"));
    let run = "run p/dwi.nii.gz --mask p/mask.nii.gz --device cpu";
    let stages = |out: &str| -> Vec<String> {
        let record = folder.json(&format!("{out}/run.json"));
        let names = record["stages"].as_array().unwrap().iter();
        names.map(|stage| stage["name"].as_str().unwrap().to_owned()).collect()
    };
    folder.done(&format!("{run} --set run.preset=maps -o maps"));
    assert_eq!(stages("maps"), ["load", "dti", "gradients", "quality", "dki", "msdki", "report"]);
    let tracks = "--set run.preset=connectome --set track.select=50";
    folder.done(&format!("{run} {tracks} --set connectome.labels=p/mask.nii.gz -o all"));
    assert!(stages("all").contains(&"connectome".to_owned()), "{:?}", stages("all"));
    // As the commands weigh and count them.
    folder.done(
        "sift2 all/track/tracks.trx all/normalise/fod_normalised.nii.gz --mask all/fod/status.nii.gz -o sift2",
    );
    let weights = |at: &str| fs::read_to_string(folder.join(&format!("{at}/weights.txt"))).unwrap();
    assert_eq!(weights("all/sift2"), weights("sift2"));
    folder.done(
        "connectome all/track/tracks.trx p/mask.nii.gz --weights sift2/weights.txt -o counted",
    );
    let matrix =
        |at: &str, name| fs::read_to_string(folder.join(&format!("{at}/{name}.csv"))).unwrap();
    for name in ["weights", "counts", "lengths"] {
        let [ours, theirs]: [Vec<f64>; 2] = ["all/connectome", "counted"].map(|at| {
            matrix(at, name).split([',', '\n']).filter_map(|cell| cell.parse().ok()).collect()
        });
        // Weights of the file are decimals of single precision.
        assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= 1e-6 * b), "{name}");
    }
    let page = fs::read_to_string(folder.join("all/report/report.html")).unwrap();
    assert!(page.contains("Weights: as dense as the fibres"));
    folder.done(&format!("{run} {tracks} --set connectome.labels=p/mask.nii.gz -o all --resume"));
    for (settings, said) in [
        ("--set run.preset=maps --set run.fits=[]", "both say what is done"),
        ("--set run.preset=susceptibility", "takes a gradient-echo scan"),
        ("--set run.preset=maps --set connectome.labels=p/mask.nii.gz", "none are made"),
        ("--set run.preset=magic", "magic"),
        ("--set run.fits=[\"sticks\",\"sift2\"]", "by the densities of `peaks`"),
    ] {
        let error = folder.failed(&format!("{run} {settings} -o none"));
        assert!(error.contains(said), "{settings}: {error}");
    }
}
