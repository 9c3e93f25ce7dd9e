//! What a result depends on is told by its record, and noticed where it changes.

use std::fs;

use fimbria_image::{WriteOptions, write_image};

use crate::util::Folder;

const RUN: &str = "run --mask mask.nii --bvec-frame scanner --set run.fits=[] -o out";

/// Copies the gradient table of dwi.nii for `stem`.
fn with_table(folder: &Folder, stem: &str) {
    for extension in ["bval", "bvec"] {
        let from = folder.join(&format!("dwi.{extension}"));
        fs::copy(from, folder.join(&format!("{stem}.{extension}"))).unwrap();
    }
}

/// Turns some bits of the middle of a file over.
fn change(folder: &Folder, name: &str) {
    let mut bytes = fs::read(folder.join(name)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4].iter_mut().for_each(|byte| *byte ^= 0x11);
    fs::write(folder.join(name), bytes).unwrap();
}

fn roles(folder: &Folder, record: &str) -> Vec<String> {
    let record = folder.json(record);
    let inputs = record["inputs"].as_array().unwrap();
    inputs.iter().map(|input| input["role"].as_str().unwrap().to_owned()).collect()
}

/// True where a resumed run took over what `line` had fitted.
fn resumes(folder: &Folder, line: &str) -> bool {
    folder.done(&format!("{line} --resume"));
    folder.json("out/run.json")["stages"][0]["resumed"] == true
}

#[test]
fn a_changed_data_file_of_a_pair_is_fitted_anew() {
    let folder = Folder::with_subject();
    write_image(folder.join("pair.hdr"), &folder.image("dwi.nii"), &WriteOptions::default())
        .unwrap();
    with_table(&folder, "pair");
    let line = RUN.replace("run ", "run pair.hdr ");
    folder.done(&line);
    assert!(roles(&folder, "out/run.json").contains(&"dwi data".to_owned()));
    assert!(resumes(&folder, &line), "nothing has changed");
    change(&folder, "pair.img");
    assert!(!resumes(&folder, &line), "maps of other data");
}

#[test]
fn a_changed_pair_in_gzip_and_a_changed_mask_are_fitted_anew() {
    let folder = Folder::with_subject();
    for (from, to) in [("dwi.nii", "pair.hdr.gz"), ("mask.nii", "inside.hdr.gz")] {
        write_image(folder.join(to), &folder.image(from), &WriteOptions::default()).unwrap();
    }
    with_table(&folder, "pair");
    let line = RUN.replace("run ", "run pair.hdr.gz ").replace("mask.nii", "inside.hdr.gz");
    folder.done(&line);
    for name in ["pair.img.gz", "inside.img.gz"] {
        assert!(resumes(&folder, &line), "nothing has changed");
        // Another sample, so that what is compressed stays readable.
        let whole = name.replace(".img", ".hdr");
        let mut image = folder.image(&whole);
        let middle = image.data.len() / 2;
        image.data[middle] = if image.data[middle] == 1.0 { 0.0 } else { 1.0 };
        write_image(folder.join(&whole), &image, &WriteOptions::default()).unwrap();
        assert!(!resumes(&folder, &line), "maps of another {name}");
    }
}

#[test]
fn a_changed_sidecar_is_read_anew() {
    let folder = Folder::new();
    folder.done("phantom gre --size 30,36,28 --voxel 5 -o gre");
    let line = "field gre/phase.nii.gz --mask gre/mask.nii.gz --background pdf -o field";
    folder.done(line);
    let of = |record: &serde_json::Value| {
        let inputs = record["inputs"].as_array().unwrap();
        let sidecar = inputs.iter().find(|input| input["role"] == "phase sidecar").unwrap();
        sidecar["xxh3_128"].clone()
    };
    let first = of(&folder.json("field/run.json"));
    let text = fs::read_to_string(folder.join("gre/phase.json")).unwrap();
    fs::write(folder.join("gre/phase.json"), text + "\n").unwrap();
    folder.done(&format!("{line} -f"));
    assert!(first.is_string() && of(&folder.json("field/run.json")) != first);
}

#[test]
fn changed_data_of_a_mih_are_fitted_anew() {
    let folder = Folder::with_subject();
    let image = folder.image("dwi.nii");
    write_image(folder.join("whole.mif"), &image, &WriteOptions::default()).unwrap();
    let bytes = fs::read(folder.join("whole.mif")).unwrap();
    let data = bytes.len() - 4 * image.data.len();
    let header = String::from_utf8_lossy(&bytes[..data]);
    let lines = header.lines().take_while(|line| *line != "END");
    let lines = lines.filter(|line| !line.starts_with("file:"));
    let text = lines.map(|line| format!("{line}\n")).collect::<String>();
    fs::write(folder.join("split.mih"), text + "file: split.dat 0\nEND\n").unwrap();
    fs::write(folder.join("split.dat"), &bytes[data..]).unwrap();
    let line = RUN.replace("run ", "run split.mih --bval dwi.bval --bvec dwi.bvec ");
    folder.done(&line);
    assert!(resumes(&folder, &line), "nothing has changed");
    change(&folder, "split.dat");
    assert!(!resumes(&folder, &line), "maps of other data");
}

#[test]
fn an_output_that_was_changed_is_made_anew() {
    let folder = Folder::with_subject();
    let line = RUN.replace("run ", "run dwi.nii ");
    folder.done(&line);
    let made = fs::read(folder.join("out/dti/FA.nii.gz")).unwrap();
    // Of the same size.
    change(&folder, "out/dti/FA.nii.gz");
    assert!(!resumes(&folder, &line), "a changed map was taken for the one written");
    assert!(fs::read(folder.join("out/dti/FA.nii.gz")).unwrap() == made);
}

#[test]
fn sidecars_that_were_read_are_inputs() {
    let folder = Folder::new();
    folder.done("phantom gre --size 30,36,28 --voxel 5 -o gre");
    folder.done("field gre/phase.nii.gz --mask gre/mask.nii.gz --background pdf -o field");
    assert_eq!(roles(&folder, "field/run.json"), ["phase", "phase sidecar", "mask"]);
}

#[test]
fn folders_are_inputs_by_their_files() {
    let folder = Folder::with_subject();
    folder.done(
        "sticks dwi.nii --mask mask.nii --bvec-frame scanner --fibres 1 --burn-in 50 --jumps 100 \
         --sample-every 10 --device cpu -o bpx",
    );
    let expected =
        ["merged_th1samples", "merged_ph1samples", "merged_f1samples", "nodif_brain_mask"];
    let expected = expected.map(|name| format!("directions {name}.nii.gz"));
    for samples in ["bpx", "bpx/merged"] {
        folder.done(&format!("track {samples} --seeds mask.nii -n 2 -o tracks -f"));
        assert_eq!(roles(&folder, "tracks/run.json")[..4], expected);
    }
    folder.done("convert tracks/tracks.trx --trx-folder -o lines");
    folder.done("convert lines -o lines.tck");
    let roles_of = roles(&folder, "lines.tck.run.json");
    assert!(roles_of.contains(&"tractogram header.json".to_owned()), "{roles_of:?}");
    assert!(roles_of.iter().any(|role| role.contains("positions")), "{roles_of:?}");
    // Base names and lists, as FSL has them.
    fs::write(folder.join("regions.txt"), "mask.nii\n").unwrap();
    folder.done(
        "probtrackx2 -s bpx/merged -m bpx/nodif_brain_mask -x mask --waypoints=regions.txt --opd \
         -P 2 --forcedir --dir=ptx",
    );
    let roles = roles(&folder, "ptx/run.json");
    for role in
        ["samples merged_th1samples.nii.gz", "mask", "seed", "waypoints listed", "waypoints"]
    {
        assert!(roles.contains(&role.to_owned()), "{role}: {roles:?}");
    }
}
