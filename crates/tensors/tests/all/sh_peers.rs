//! The bases of DIPY and MRtrix3, asked of the programs themselves where they are installed.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fimbria_image::{Affine, Grid, Image, WriteOptions, read_image, write_image};
use fimbria_tensors::sh::{ShBasis, evaluate, sh_count};

const LMAX: usize = 8;

/// Unit directions spread over the whole sphere, off every axis.
fn directions() -> Vec<[f64; 3]> {
    let on_spiral = |i: i32| {
        let z = -0.95 + 0.1 * f64::from(i);
        let (s, c) = (2.4 * f64::from(i) + 0.3).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * c, r * s, z]
    };
    (0..20).map(on_spiral).collect()
}

fn write_directions(path: &Path) {
    let mut text = String::new();
    for [x, y, z] in directions() {
        writeln!(text, "{x:.17} {y:.17} {z:.17}").unwrap();
    }
    std::fs::write(path, text).unwrap();
}

/// Values of all basis functions, one direction after the other.
fn ours(basis: ShBasis) -> Vec<f64> {
    directions().into_iter().flat_map(|dir| evaluate(basis, LMAX, dir)).collect()
}

fn assert_close(ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let (direction, place) = (i / sh_count(LMAX), i % sh_count(LMAX));
        let error = (a - b).abs();
        assert!(error < tolerance, "function {place}, direction {direction}: {a} against {b}");
    }
}

fn against_dipy(basis: ShBasis, legacy: &str) {
    let folder = tempfile::tempdir().unwrap();
    let dirs = folder.path().join("dirs.txt");
    write_directions(&dirs);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/dipy_sh.py");
    let lmax = LMAX.to_string();
    let Some(mut python) = fimbria_testing::python("dipy") else { return };
    let run = python.arg(script).arg(&dirs).args([&lmax, legacy]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    let theirs: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    // Both in f64, theirs from angles: some hundred roundings of values up to 1.5.
    assert_close(&ours(basis), &theirs, 1e-12);
}

#[test]
fn the_dipy_basis_is_dipys() {
    against_dipy(ShBasis::Dipy, "0");
}

#[test]
fn the_legacy_basis_is_dipys() {
    against_dipy(ShBasis::DipyLegacy, "1");
}

#[test]
fn the_mrtrix_basis_is_mrtrixs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_directions(&at("dirs.txt"));
    // One voxel per coefficient, with that one set: amplitudes are the basis functions.
    let n = sh_count(LMAX);
    let mut unit = Image::zeros(Grid { dims: [n, 1, 1], ras_from_vox: Affine::IDENTITY }, n);
    for i in 0..n {
        unit.volume_mut(i)[i] = 1.0;
    }
    write_image(at("unit.nii"), &unit, &WriteOptions::default()).unwrap();
    let mut sh2amp = Command::new("sh2amp");
    sh2amp.arg("-quiet").arg(at("unit.nii")).arg(at("dirs.txt")).arg(at("amplitudes.nii"));
    let Ok(status) = sh2amp.stderr(Stdio::null()).status() else {
        return fimbria_testing::missing("sh2amp (MRtrix3)");
    };
    assert!(status.success());
    let theirs: Vec<f64> =
        read_image(at("amplitudes.nii")).unwrap().data.into_iter().map(f64::from).collect();
    // f32 files of values up to 1.5.
    assert_close(&ours(ShBasis::Mrtrix), &theirs, 1e-6);
}
