//! `fimbria maps` and its short form `fit A,B`: several models in one pass.

use std::fs;

use serde_json::Value;

use crate::util::Folder;

/// Crossings of two shells.
fn folder() -> Folder {
    let folder = Folder::new();
    let shells = "--shells 1000:30,2000:30 --format nii";
    folder.done(&format!("phantom crossing --size 12,14,11 --voxel 14 {shells} -o p"));
    folder
}

fn record(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

const SERIES: &str = "p/dwi.nii --mask p/mask.nii --format nii";

#[test]
fn one_pass_writes_the_bytes_that_single_commands_write() {
    let folder = folder();
    let list = "dti,msdki,noddi,mapmri";
    let set = "--set noddi.tissue=grey --set mapmri.order=4 --set dti.method=ols";
    folder.done(&format!("fit {list} {SERIES} {set} -o maps"));
    for (model, options) in [
        ("dti", "--method ols"),
        ("msdki", ""),
        ("noddi", "--tissue grey"),
        ("mapmri", "--order 4"),
    ] {
        folder.done(&format!("fit {model} {SERIES} {options} -o {model}"));
        let mut compared = 0;
        for entry in fs::read_dir(folder.join(model)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".nii") {
                let [one, of_list] = ["", "maps/"]
                    .map(|of| fs::read(folder.join(&format!("{of}{model}/{name}"))).unwrap());
                assert!(one == of_list, "{model}/{name}");
                compared += 1;
            }
        }
        assert!(compared > 3, "{model}");
    }
    let record = record(&folder, "maps/run.json");
    let read = record["inputs"].as_array().unwrap();
    assert_eq!(read.iter().filter(|input| input["role"] == "dwi").count(), 1);
    let stages: Vec<_> = record["stages"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(stages, ["load", "dti", "msdki", "noddi", "mapmri"]);
}

#[test]
fn a_study_has_one_model_twice() {
    let folder = folder();
    folder.done(&format!("maps {SERIES} --preset abcd --set mapmri.big_delta=40 -o abcd"));
    let [white, grey] =
        ["white", "grey"].map(|of| folder.image(&format!("abcd/noddi_{of}/icvf.nii")).data);
    assert_ne!(white, grey);
    let record = record(&folder, "abcd/run.json");
    assert_eq!(record["parameters"]["noddi_grey"]["fit"]["tissue"], "grey");
    assert_eq!(record["parameters"]["mapmri"]["fit"]["order"], "4");
    assert_eq!(record["parameters"]["mapmri"]["fit"]["axes_bmax"], 1200.0);
    let said = folder.failed(&format!("maps {SERIES} --preset abcd --set noddi.tissue=white -o x"));
    assert!(said.contains("noddi.tissue is set by the study"), "{said}");
}

/// Of a model that is fitted twice none starts from the maps of the other, and the tensor of the page is its own.
#[test]
fn a_run_makes_the_models_of_a_study_as_maps_does() {
    let folder = folder();
    let set = "--set mapmri.big_delta=40 --set mapmri.small_delta=10";
    folder.done(&format!("maps {SERIES} --preset abcd {set} -o maps"));
    let run = format!("run {SERIES} --device cpu {set}");
    folder.done(&format!("{run} --set run.preset=abcd -o abcd"));
    folder.done(&format!("{run} --set run.fits=[] -o plain"));
    let bytes = |file: &str| fs::read(folder.join(file)).unwrap();
    for file in ["noddi_white/od.nii", "noddi_grey/od.nii", "mapmri/RTOP.nii", "dki/MK.nii"] {
        assert!(bytes(&format!("abcd/{file}")) == bytes(&format!("maps/{file}")), "{file}");
    }
    for file in ["dti/FA.nii", "dti/residual.nii"] {
        assert!(bytes(&format!("abcd/{file}")) == bytes(&format!("plain/{file}")), "{file}");
    }
    // Both tissues in words, and options of a model that is made have an effect.
    let page = fs::read_to_string(folder.join("abcd/report/report.html")).unwrap();
    assert!(!page.contains("no effect"));
    let error = folder.failed(&format!("{run} --set run.preset=abcd --set mapmri.order=6 -o x"));
    assert!(error.contains("mapmri.order is set by the study"), "{error}");
    folder.done("report abcd -o again.html");
    let again = fs::read_to_string(folder.join("again.html")).unwrap();
    for page in [page, again] {
        assert_eq!(page.matches("NODDI (sticks").count(), 2);
    }
}

#[test]
fn displacements_say_which_basis_they_are_in() {
    let folder = folder();
    folder.done(&format!("fit mapmri {SERIES} --order 4 --odf -o m"));
    folder.done("peaks m/odf.nii --format nii -o maxima");
    assert!(folder.image("maxima/count.nii").data.iter().any(|&n| n > 0.0));
    folder.done(&format!("fit gqi {SERIES} -o g"));
    folder.done("peaks g/odf.nii --format nii -o q");
    assert!(folder.image("q/count.nii").data.iter().any(|&n| n > 0.0));
}

#[test]
fn what_one_shell_does_not_carry_is_left_out_of_a_study_and_refused_by_name() {
    let folder = Folder::with_subject();
    let series = "dwi.nii --mask mask.nii --bvec-frame scanner";
    let said = folder.done(&format!("maps {series} --preset hbcd -o hbcd")).stderr;
    assert!(said.contains("dki is left out"), "{said}");
    assert!(folder.join("hbcd/dti_b1200/FA.nii.gz").exists());
    assert!(!folder.join("hbcd/mapmri").exists());
    assert!(folder.join("hbcd/gqi/QA.nii.gz").exists());
    let said = folder.failed(&format!("fit dti,dki {series} -o maps"));
    assert!(said.contains("shell"), "{said}");
    assert!(!folder.join("maps").exists());
    let said = folder.failed(&format!("fit dti,dkj {series} -o maps"));
    assert!(said.contains("`dkj` is none of the fits"), "{said}");
}
