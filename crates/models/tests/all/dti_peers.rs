//! DIPY and MRtrix3 on the same real series, where they are installed.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::reference::{Pair, absolute, fitted, succeeds};
use fimbria_image::frames::turn_vectors;
use fimbria_image::{BvecFrame, Image, read_image};
use fimbria_models::Fitted;
use fimbria_models::dti::{Compat, DtiMap, DtiOptions, Method};
use fimbria_testing::{Series, angle, missing, refdata};

/// Files of the series that the peers read too.
struct Files {
    dwi: PathBuf,
    bval: PathBuf,
    bvec: PathBuf,
    mask: PathBuf,
}

impl Files {
    fn new(series: &Path, name: &str) -> Self {
        let at = |file: &str| series.join(name).join(file);
        Self {
            dwi: at("dwi.nii.gz"),
            bval: at("dwi.bval"),
            bvec: at("dwi.bvec"),
            mask: at("mask.nii.gz"),
        }
    }
}

fn options(method: Method, compat: Compat) -> DtiOptions {
    DtiOptions { method, compat: Some(compat), ..DtiOptions::default() }
}

/// Below this, mm²/s, a mean diffusivity is the rest that eigenvalues of both signs leave (water
/// has 3e-3), and differences are measured against it instead.
const LEAST_MD: f64 = 5e-5;

/// Holds all voxels but a share `allowed` to the limits: FA 1e-4, MD 1e-4 of itself, vectors 0.1
/// degrees where the gap to the next eigenvalue exceeds 1e-5 mm²/s.
fn assert_agrees(
    series: &Series,
    ours: &Fitted,
    theirs: &dyn Fn(DtiMap) -> Image,
    allowed: f64,
    what: &str,
) {
    let pair = Pair { mask: &series.mask, ours, theirs };
    let mut beyond = Vec::new();
    let mut judge = |map: DtiMap, limit: f64, (strays, worst): (f64, f64)| {
        let result = format!("{}: up to {worst:.2e}, {strays:.1e} beyond {limit}", map.name());
        println!("{what} {result}");
        if strays > allowed {
            beyond.push(result);
        }
    };
    judge(DtiMap::Fa, 1e-4, pair.beyond(DtiMap::Fa, 1e-4, absolute));
    let of_md = |a: &[f64], b: &[f64], _| (a[0] - b[0]).abs() / b[0].abs().max(LEAST_MD);
    judge(DtiMap::Md, 1e-4, pair.beyond(DtiMap::Md, 1e-4, of_md));
    for map in [DtiMap::V1, DtiMap::V2, DtiMap::V3] {
        let turn = |a: &[f64], b: &[f64], voxel: u32| {
            if pair.gap(map, voxel) > 1e-5 { angle(a, b) } else { 0.0 }
        };
        judge(map, 0.1, pair.beyond(map, 0.1, turn));
    }
    assert!(beyond.is_empty(), "{what}: {beyond:?}");
}

fn against_dipy(series_name: &str, method: Method, peer: &str, allowed: f64) {
    let Some(real) = refdata("dwi_real") else { return };
    let files = Files::new(&real, series_name);
    let out = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/dipy_dti.py");
    let Some(mut python) = fimbria_testing::python("dipy") else { return };
    let read = [&files.dwi, &files.bval, &files.bvec, &files.mask];
    let ran = python.arg(script).args(read).arg(peer).arg(out.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let series = Series::read(&files.dwi, &files.mask);
    let ours = fitted(&series, &options(method, Compat::Dipy));
    let theirs = |map: DtiMap| {
        let mut image = read_image(out.path().join(format!("{}.nii", map.name()))).unwrap();
        if image.n_volumes == 3 {
            // DIPY leaves directions in the axes of the bvecs, which are FSL's.
            let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
            turn_vectors(&mut image, &turn);
        }
        image
    };
    assert_agrees(&series, &ours, &theirs, allowed, &format!("DIPY {peer} {series_name}"));
}

#[test]
fn weighted_fits_are_those_of_dipy() {
    against_dipy("human_b1k_b2k", Method::Wls, "WLS", 0.0);
}

#[test]
fn nonlinear_fits_are_those_of_dipy() {
    // DIPY stops where the sum of squares changes by 1.5e-8: its own estimates are exact to the
    // root of that. Where most samples are zero or less, the sum is flat and has several minima.
    against_dipy("human_b1k_b2k_detpos", Method::Nlls, "NLLS", 2e-3);
}

fn against_mrtrix(series_name: &str, method: Method, iterations: &str) {
    let Some(real) = refdata("dwi_real") else { return };
    let files = Files::new(&real, series_name);
    let out = tempfile::tempdir().unwrap();
    let tensor = out.path().join("tensor.mif");
    let mut fit = Command::new("dwi2tensor");
    fit.arg(&files.dwi).arg(&tensor).args(["-iter", iterations, "-nthreads", "1", "-fslgrad"]);
    fit.args([&files.bvec, &files.bval]).arg("-mask").arg(&files.mask);
    let to = |map: DtiMap| out.path().join(format!("{}.nii", map.name()));
    let vectors = [DtiMap::V1, DtiMap::V2, DtiMap::V3];
    let values = [DtiMap::L1, DtiMap::L2, DtiMap::L3];
    let ran = succeeds(&mut fit)
        && succeeds(
            Command::new("tensor2metric")
                .arg(&tensor)
                .arg("-fa")
                .arg(to(DtiMap::Fa))
                .arg("-adc")
                .arg(to(DtiMap::Md)),
        )
        && vectors.into_iter().zip(values).enumerate().all(|(i, (vector, value))| {
            succeeds(
                Command::new("tensor2metric")
                    .arg(&tensor)
                    .args(["-num", &(i + 1).to_string(), "-modulate", "none", "-vector"])
                    .arg(to(vector))
                    .arg("-value")
                    .arg(to(value)),
            )
        });
    if !ran {
        return missing("MRtrix3");
    }
    let series = Series::read(&files.dwi, &files.mask);
    let ours = fitted(&series, &options(method, Compat::Mrtrix));
    let theirs = |map: DtiMap| read_image(to(map)).unwrap();
    assert_agrees(
        &series,
        &ours,
        &theirs,
        0.0,
        &format!("MRtrix -iter {iterations} {series_name}"),
    );
}

#[test]
fn reweighted_fits_are_those_of_mrtrix() {
    against_mrtrix("human_b1k_b2k", Method::Iwls, "2");
}

#[test]
fn measured_weights_are_those_of_mrtrix() {
    against_mrtrix("human_b1k_b2k_detpos", Method::Wls, "0");
}
