//! DIPY and MRtrix3 on the same real series, where they are installed.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::reference::succeeds;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::frames::{turn_quartics, turn_tensors};
use fimbria_image::{BvecFrame, Image, KurtosisOrder, Status, TensorOrder, read_image};
use fimbria_models::Fitted;
use fimbria_models::dki::{Compat, DkiMap, DkiOptions, Method, fit};
use fimbria_testing::{Series, missing, refdata};

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

fn ours(series: &Series, method: Method, compat: Compat) -> Fitted {
    let options = DkiOptions { method, compat: Some(compat), ..DkiOptions::default() };
    let workers = Workers::new(0).unwrap();
    let on = Backend::cpu(&workers);
    fit(&series.dwi, &series.mask, &series.gradients, &options, &on, &Silent).unwrap()
}

/// Voxels whose smallest eigenvalue is at least this, mm²/s, are compared: below, kurtosis is a
/// ratio of two noises, and DIPY clips its eigenvalues.
const LEAST_EIGENVALUE: f64 = 5e-5;
/// And kurtosis below this: programs clip.
const LARGEST_KURTOSIS: f64 = 9.0;

/// Voxels where the tensor is far from singular, by our own maps.
fn sound(series: &Series, ours: &Fitted) -> Vec<usize> {
    let map = |map: DkiMap| ours.map(map.name()).unwrap();
    let [ad, rd, rk] = [map(DkiMap::Ad), map(DkiMap::Rd), map(DkiMap::Rk)];
    let tensor = map(DkiMap::Tensor);
    series
        .mask
        .voxels
        .iter()
        .map(|&voxel| voxel as usize)
        .filter(|&voxel| {
            let t = |k: usize| f64::from(tensor.volume(k)[voxel]);
            let minor = t(0) * t(3) - t(1) * t(1);
            let determinant = t(0) * (t(3) * t(5) - t(4) * t(4))
                - t(1) * (t(1) * t(5) - t(4) * t(2))
                + t(2) * (t(1) * t(4) - t(3) * t(2));
            let (l1, l23) = (f64::from(ad.data[voxel]), 2.0 * f64::from(rd.data[voxel]));
            // The two smaller eigenvalues from their sum and product.
            let product = determinant / l1;
            let l3 = l23 / 2.0 - (l23 * l23 / 4.0 - product).max(0.0).sqrt();
            let kurtosis = f64::from(rk.data[voxel]);
            minor > 0.0 && l3 > LEAST_EIGENVALUE && kurtosis.abs() < LARGEST_KURTOSIS
        })
        .collect()
}

/// What differences are measured in (or the value itself, where that is larger), the largest that
/// counts as agreement, and the share of voxels that may be beyond it.
struct Limits {
    scale: f64,
    limit: f64,
    strays: f64,
}

fn assert_close(what: &str, ours: &Image, theirs: &Image, voxels: &[usize], limits: &Limits) {
    assert_eq!(ours.n_volumes, theirs.n_volumes);
    let Limits { scale, limit, strays } = *limits;
    let error = |voxel: usize| -> f64 {
        let of = |volume| {
            let (a, b) = (ours.volume(volume)[voxel], theirs.volume(volume)[voxel]);
            let error = f64::from(a - b).abs() / f64::from(b).abs().max(scale);
            if error.is_nan() { f64::INFINITY } else { error }
        };
        (0..ours.n_volumes).map(of).fold(0.0, f64::max)
    };
    let errors: Vec<f64> = voxels.iter().map(|&voxel| error(voxel)).collect();
    let worst = errors.iter().fold(0.0f64, |worst, &e| worst.max(e));
    let share = errors.iter().filter(|&&e| e > limit).count() as f64 / voxels.len() as f64;
    println!("{what}: up to {worst:.1e}, {share:.1e} of {} voxels beyond {limit}", voxels.len());
    assert!(share <= strays, "{what}: {share} beyond {limit}, up to {worst:e}");
}

/// On both real series no constrained voxel has a negative kurtosis, none is given up, and where the
/// mean kurtosis is near zero the data themselves say so: there the unconstrained fit finds that the
/// apparent diffusivity does not fall with b (ringing and perfusion at small b do that).
#[test]
fn constrained_kurtosis_of_real_series_is_never_negative_and_seldom_zero() {
    let Some(real) = refdata("dwi_real") else { return };
    let workers = Workers::new(0).unwrap();
    let on = Backend::cpu(&workers);
    for name in ["human_b6k", "kurtosis_slice"] {
        let files = Files::new(&real, name);
        let series = Series::read(&files.dwi, &files.mask);
        let run = |constrained| {
            let options = DkiOptions { constrained, ..DkiOptions::default() };
            fit(&series.dwi, &series.mask, &series.gradients, &options, &on, &Silent).unwrap()
        };
        let (ours, free) = (run(true), run(false));
        assert_eq!(ours.status.count(Status::NotConverged), 0, "{:?}", ours.status);
        let map = |of: &Fitted, map: DkiMap| of.map(map.name()).unwrap().clone();
        let (mk, kmin) = (map(&ours, DkiMap::Mk), map(&ours, DkiMap::Kmin));
        let free_mkt = map(&free, DkiMap::Mkt);
        let (mut dark, mut between) = (0, 0);
        for &voxel in &series.mask.voxels {
            let voxel = voxel as usize;
            let (mk, kmin) = (mk.data[voxel], kmin.data[voxel]);
            assert!(mk >= 0.0 && mk.is_finite(), "{name}: MK {mk} at {voxel}");
            between += usize::from(kmin < -0.05);
            if mk < 0.05 {
                dark += 1;
                let free_mkt = free_mkt.data[voxel];
                assert!(free_mkt.is_nan() || free_mkt < 0.05, "{name}: {mk} for {free_mkt}");
            }
        }
        let n = series.mask.len();
        println!("{name}: MK below 0.05 in {dark}, Kmin below -0.05 in {between} of {n} voxels");
        // Between directions of the set, where there is little diffusion to divide by.
        assert!(dark * 100 < n && between * 20 < n);
    }
}

fn against_dipy(name: &str) {
    let Some(real) = refdata("dwi_real") else { return };
    let files = Files::new(&real, name);
    let out = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/dipy_dki.py");
    let Some(mut python) = fimbria_testing::python("dipy") else { return };
    let read = [&files.dwi, &files.bval, &files.bvec, &files.mask];
    let ran = python.arg(script).args(read).arg("3150").arg(out.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let series = Series::read(&files.dwi, &files.mask);
    let ours = ours(&series, Method::Wls, Compat::Dipy);
    let voxels = sound(&series, &ours);
    assert!(voxels.len() * 2 > series.mask.len(), "{} of {}", voxels.len(), series.mask.len());
    let theirs = |name: &str| read_image(out.path().join(format!("{name}.nii"))).unwrap();
    let of = |map: DkiMap| ours.map(map.name()).unwrap();
    // DIPY leaves tensors in the axes of the bvecs, which are FSL's: its order, then a turn.
    let reordered = |stored: &Image, entries: &[usize]| {
        let mut map = Image::zeros(stored.grid, stored.n_volumes);
        for (volume, &entry) in entries.iter().enumerate() {
            map.volume_mut(entry).copy_from_slice(stored.volume(volume));
        }
        map
    };
    let mut d = reordered(&theirs("D"), &TensorOrder::DIPY.entries());
    let mut w = reordered(&theirs("W"), &KurtosisOrder::DIPY.entries());
    let turn = BvecFrame::Fsl.ras_from_frame(&d.grid.ras_from_vox);
    turn_tensors(&mut d, &turn);
    turn_quartics(&mut w, &turn);
    let close = |map: DkiMap, theirs: &Image, scale: f64, limit: f64, strays: f64| {
        let what = format!("DIPY {name} {}", map.name());
        assert_close(&what, of(map), theirs, &voxels, &Limits { scale, limit, strays });
    };
    // Both solve the same weighted equations; ours in f32, refined once. 1e-4 of a tensor's size
    // is far below noise (1e-2) and above f32 rounding times the condition of the design (47 to
    // 200, and more where weights differ much).
    close(DkiMap::Tensor, &d, 1e-3, 1e-4, 0.0);
    close(DkiMap::Kurtosis, &w, 1.0, 1e-4, 0.0);
    close(DkiMap::Fa, &theirs("FA"), 1.0, 1e-4, 0.0);
    close(DkiMap::Md, &theirs("MD"), 1e-3, 1e-4, 0.0);
    // Along single directions kurtosis divides by D², here down to 0.05² of its usual size.
    close(DkiMap::Ak, &theirs("AK"), 1.0, 1e-3, 0.0);
    // DIPY takes eigenvalues within 2.5 % of each other as equal, which costs it up to 1.3e-3 of
    // the terms of MK; these are larger than MK where they cancel.
    close(DkiMap::Mk, &theirs("MK"), 1.0, 2e-3, 0.05);
    close(DkiMap::Rk, &theirs("RK"), 1.0, 2e-3, 0.05);
}

#[test]
fn weighted_fits_and_metrics_are_those_of_dipy_on_many_shells() {
    against_dipy("kurtosis_slice");
}

#[test]
fn weighted_fits_and_metrics_are_those_of_dipy_on_few_volumes() {
    against_dipy("human_b6k");
}

fn against_mrtrix(name: &str, method: Method, iterations: &str) {
    let Some(real) = refdata("dwi_real") else { return };
    let files = Files::new(&real, name);
    let out = tempfile::tempdir().unwrap();
    let at = |name: &str| out.path().join(name);
    // dwi2tensor takes all volumes it is given.
    let chosen = at("dwi.mif");
    let table: Vec<f64> = std::fs::read_to_string(&files.bval)
        .unwrap()
        .split_whitespace()
        .map(|b| b.parse().unwrap())
        .collect();
    let volumes: Vec<String> =
        (0..table.len()).filter(|&v| table[v] <= 3150.0).map(|v| v.to_string()).collect();
    let ran = succeeds(
        Command::new("mrconvert")
            .arg(&files.dwi)
            .arg(&chosen)
            .arg("-fslgrad")
            .args([&files.bvec, &files.bval])
            .args(["-coord", "3", &volumes.join(",")]),
    ) && succeeds(
        Command::new("dwi2tensor")
            .arg(&chosen)
            .arg(at("dt.nii"))
            .arg("-dkt")
            .arg(at("dkt.nii"))
            .args(["-iter", iterations, "-nthreads", "1", "-mask"])
            .arg(&files.mask),
    );
    if !ran {
        return missing("MRtrix3");
    }
    let series = Series::read(&files.dwi, &files.mask);
    let ours = ours(&series, method, Compat::Mrtrix);
    let voxels = sound(&series, &ours);
    let of = |map: DkiMap| ours.map(map.name()).unwrap();
    let d = TensorOrder::MRTRIX.to_fimbria(&read_image(at("dt.nii")).unwrap());
    let w = KurtosisOrder::MRTRIX.to_fimbria(&read_image(at("dkt.nii")).unwrap());
    let what = |map: &str| format!("MRtrix -iter {iterations} {name} {map}");
    // The same weighted equations, theirs in f64 and stored in f32. With 36 volumes for 22
    // unknowns, measured weights leave equations in some voxels that are nearly singular, and each
    // pass makes more of a difference in the one before it.
    let limits = |scale: f64, limit: f64| Limits { scale, limit, strays: 2e-3 };
    assert_close(&what("D"), of(DkiMap::Tensor), &d, &voxels, &limits(1e-3, 1e-4));
    assert_close(&what("W"), of(DkiMap::Kurtosis), &w, &voxels, &limits(1.0, 1e-3));
}

#[test]
fn reweighted_fits_are_those_of_mrtrix() {
    against_mrtrix("kurtosis_slice", Method::Iwls, "2");
    against_mrtrix("human_b6k", Method::Iwls, "2");
}

#[test]
fn measured_weights_are_those_of_mrtrix() {
    against_mrtrix("kurtosis_slice", Method::Wls, "0");
}
