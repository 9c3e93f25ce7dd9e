//! `fimbria qsm --dqsm-files`: the original program's files, read and written.

use std::fs;

use fimbria_image::{Affine, Grid, Image, WriteOptions, write_image};

use crate::util::Folder;

const DIMS: [usize; 3] = [20, 18, 16];
const B0_TESLA: f64 = 4.7;
const B0: [f64; 3] = [0.0, 0.6, 0.8];
const RADIUS: f64 = 3.0;

fn grid() -> Grid {
    Grid { dims: DIMS, ras_from_vox: Affine::from_spacing([1.0; 3]) }
}

/// From the middle.
fn at(voxel: usize) -> [f64; 3] {
    let at = grid().voxel(voxel);
    [0, 1, 2].map(|a| at[a] as f64 - (DIMS[a] / 2) as f64)
}

fn length(p: [f64; 3]) -> f64 {
    p.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The field of a sphere of 0.3 ppm, in ppm.
fn field(voxel: usize) -> f64 {
    let (p, r) = (at(voxel), length(at(voxel)));
    let along = (0..3).map(|a| B0[a] * p[a]).sum::<f64>() / r;
    if r > RADIUS { 0.1 * (RADIUS / r).powi(3) * (3.0 * along * along - 1.0) } else { 0.0 }
}

fn is_inside(voxel: usize) -> bool {
    length(at(voxel)) < 7.5
}

/// FA times V1, in voxel axes.
fn model(voxel: usize, axis: usize) -> f64 {
    if at(voxel)[0] > 4.0 { [0.0, 0.36, 0.48][axis] } else { 0.0 }
}

fn file(header: &[f64], data: Vec<u8>) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0x1234_5678_u32, 1].iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes.extend(header.iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend(data);
    bytes
}

/// deltab.bin, mask.bin and models.bin, and the same as NIfTI.
pub(crate) fn subject() -> Folder {
    let folder = Folder::new();
    let [x, y, z] = DIMS.map(|n| n as f64);
    let n = x * y * z;
    let voxels = || 0..grid().len();
    let tesla = voxels().flat_map(|v| (field(v) * B0_TESLA * 1e-6).to_le_bytes()).collect();
    let header = [n, x, y, z, B0_TESLA, B0[0], B0[1], B0[2], 1.0, 1.0, 1.0];
    fs::write(folder.join("deltab.bin"), file(&header, tesla)).unwrap();
    let mask = voxels().map(|v| u8::from(is_inside(v))).collect();
    fs::write(folder.join("mask.bin"), file(&[n, x, y, z], mask)).unwrap();
    let models = (0..3).flat_map(|a| voxels().flat_map(move |v| model(v, a).to_le_bytes()));
    let header = [3.0 * n, x, y, z, 3.0];
    fs::write(folder.join("models.bin"), file(&header, models.collect())).unwrap();
    let write = |name: &str, volumes: usize, value: &dyn Fn(usize, usize) -> f64| {
        let numbers = (0..volumes).flat_map(|a| voxels().map(move |v| value(v, a) as f32));
        let image = Image { grid: grid(), n_volumes: volumes, data: numbers.collect() };
        write_image(folder.join(name), &image, &WriteOptions::default()).unwrap();
    };
    write("field.nii", 1, &|v, _| field(v));
    write("mask.nii", 1, &|v, _| f64::from(u8::from(is_inside(v))));
    write("models.nii", 3, &model);
    folder
}

const FILES: &str = "qsm deltab.bin --dqsm-files --mask mask.bin --v1 models.bin";

#[test]
fn its_files_are_mapped_as_the_same_data_elsewhere_and_written_back() {
    let folder = subject();
    folder.done(&format!("{FILES} --iterations 12 -o out"));
    let chi = folder.image("out/chi.nii.gz");
    let middle = grid().index([DIMS[0] / 2, DIMS[1] / 2, DIMS[2] / 2]);
    assert!(chi.data[middle] > 0.1, "{}", chi.data[middle]);
    let bytes = fs::read(folder.join("out/chi.bin")).unwrap();
    let (numbers, []) = bytes.as_chunks::<4>() else { panic!("not whole numbers") };
    assert_eq!(numbers.len(), chi.data.len());
    for (bytes, ppm) in numbers.iter().zip(&chi.data) {
        assert_eq!(f32::from_le_bytes(*bytes), ppm * 1e-6);
    }
    let record = folder.json("out/run.json");
    assert!(record["stages"][0]["counts"]["cylinders"].as_u64().unwrap() > 50, "{record}");
    let load = &record["parameters"]["load"];
    assert_eq!((&load["field_unit"], &load["v1_frame"]), (&"tesla".into(), &"voxel".into()));
    assert!(load["b0_dir"].is_null(), "{load}");
    assert_eq!((&record["b0_tesla"], &record["b0_dir_vox"][1]), (&4.7.into(), &0.6.into()));
    folder.done(
        "qsm field.nii --method dqsm --mask mask.nii --v1 models.nii --b0-dir-vox 0 0.6 0.8 --iterations 12 -o nifti",
    );
    let other = folder.image("nifti/chi.nii.gz");
    let worst = chi.data.iter().zip(&other.data).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
    // The f32 field was rounded in tesla or in ppm.
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn it_is_the_published_program_on_its_own_files() {
    let folder = subject();
    folder.done(&format!("{FILES} --compat dqsm --iterations 4 -o out"));
    let record = folder.json("out/run.json");
    let qsm = &record["parameters"]["qsm"]["qsm"];
    assert_eq!((&qsm["solver"], &qsm["kappa"]), (&"landweber".into(), &0.75.into()));
    assert_eq!(record["stages"][1]["counts"]["iterations"], 4);
    assert!(folder.join("out/chi.bin").exists());
}

#[test]
fn files_that_do_not_fit_are_one_clear_error() {
    let folder = subject();
    let mut other = fs::read(folder.join("mask.bin")).unwrap();
    other.truncate(200);
    fs::write(folder.join("short.bin"), &other).unwrap();
    fs::write(folder.join("swapped.bin"), fs::read(folder.join("models.bin")).unwrap()).unwrap();
    for (line, words) in [
        ("qsm deltab.bin --dqsm-files --mask short.bin", "200 bytes"),
        ("qsm deltab.bin --dqsm-files --mask swapped.bin", "values and"),
        ("qsm mask.bin --dqsm-files", "bytes"),
        ("qsm field.nii --dqsm-files", "starts with"),
        ("qsm deltab.bin --mask mask.nii", "deltab.bin"),
        ("qsm deltab.bin --dqsm-files --mask mask.bin --b0 1.2345", "leave it out"),
    ] {
        let said = folder.failed(&format!("{line} -o out"));
        assert!(said.contains(words), "`{line}`: {said}");
        assert!(!folder.join("out").exists(), "`{line}` left an output");
    }
    for option in ["--field-unit ppm", "--b0-dir 0 0 1", "--resample", "--fa field.nii"] {
        let ran = folder.run(&format!("{FILES} {option} -o out"));
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.stderr);
    }
}
