//! Mean-signal kurtosis: known signals come back, and DIPY finds the same.

use std::path::Path;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{
    Affine, GradientTable, Grid, Image, Mask, Status, WriteOptions, read_image, write_image,
};
use fimbria_models::{Fitted, msdki};

/// b of two unweighted volumes and three shells, s/mm².
fn table() -> GradientTable {
    let shells = [(0.0, 2), (700.0, 12), (1500.0, 20), (2800.0, 30)];
    let b_s_per_mm2: Vec<f64> =
        shells.iter().flat_map(|&(b, n)| std::iter::repeat_n(b, n)).collect();
    let dirs_ras = (0..b_s_per_mm2.len())
        .map(|volume| {
            let angle = volume as f64;
            if b_s_per_mm2[volume] > 0.0 { [angle.cos(), angle.sin(), 0.0] } else { [0.0; 3] }
        })
        .collect();
    GradientTable { b_s_per_mm2, dirs_ras, b0_threshold: 50.0 }
}

/// 500 voxels of D and K from tissue's range, and directions that differ from the mean; every mean
/// is that of the model but for the disturbance `noise`.
fn series(gradients: &GradientTable, noise: f64) -> Image {
    let grid = Grid { dims: [10, 10, 5], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, gradients.len());
    let n = grid.len();
    for voxel in 0..n {
        let [d, k] = truth(voxel);
        for (volume, &b) in gradients.b_s_per_mm2.iter().enumerate() {
            let b = 1e-3 * b;
            let mean = 900.0 * f64::exp(-b * d + b * b * d * d * k / 6.0);
            // Irrational steps: as good as random, and the same everywhere.
            let wave = f64::sin(1.7 * (voxel * 67 + volume) as f64 * (volume + 1) as f64);
            image.data[volume * n + voxel] = (mean * (1.0 + noise * wave)) as f32;
        }
    }
    image
}

/// D, µm²/ms, and K of a voxel: such that the signal falls up to the largest b, K < 3 / (b D). Where
/// it does not, weights lie so far apart that DIPY, which has b in s/mm², leaves a term out.
fn truth(voxel: usize) -> [f64; 2] {
    let d = 0.4 + 0.1 * (voxel % 17) as f64;
    [d, f64::min(0.15 * (voxel % 13) as f64, 0.9 * 3.0 / (2.8 * d))]
}

fn fitted(series: &Image, gradients: &GradientTable) -> Fitted {
    let mask = Mask { grid: series.grid, voxels: (0..series.grid.len() as u32).collect() };
    let workers = Workers::new(2).unwrap();
    msdki::fit(series, &mask, gradients, &Backend::cpu(&workers), &Silent).unwrap()
}

#[test]
fn known_signals_give_their_maps_back() {
    let gradients = table();
    let fit = fitted(&series(&gradients, 0.0), &gradients);
    let map = |name: &str| &fit.map(name).unwrap().data;
    for voxel in 0..map("MSD").len() {
        let [d, k] = truth(voxel);
        // Samples are f32; K divides by D², here down to 0.16.
        assert!((f64::from(map("MSD")[voxel]) / (1e-3 * d) - 1.0).abs() < 1e-5, "{voxel}");
        assert!((f64::from(map("MSK")[voxel]) - k).abs() < 1e-5, "{voxel}");
        let [awf, di, mfa] = msdki::compartments(d, k);
        assert!((f64::from(map("AWF")[voxel]) - awf).abs() < 2e-5, "{voxel}");
        assert!((f64::from(map("DI")[voxel]) - 1e-3 * di).abs() < 1e-7, "{voxel}");
        // Its slope is without bound where there are no axons.
        assert!((f64::from(map("MFA")[voxel]) - mfa).abs() < 5e-3, "{voxel}");
        assert_eq!(map("status")[voxel], Status::Fitted.code());
    }
}

#[test]
fn dipy_finds_the_same() {
    let gradients = table();
    let noisy = series(&gradients, 0.05);
    let out = tempfile::tempdir().unwrap();
    let dwi = out.path().join("dwi.nii");
    write_image(&dwi, &noisy, &WriteOptions::default()).unwrap();
    let bval = out.path().join("bval");
    let text: Vec<_> = gradients.b_s_per_mm2.iter().map(ToString::to_string).collect();
    std::fs::write(&bval, text.join(" ")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/dipy_msdki.py");
    let Some(mut python) = fimbria_testing::python("dipy") else { return };
    let ran = python.args([&script, &dwi, &bval]).arg(out.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let fit = fitted(&noisy, &gradients);
    // Of the size of the map: diffusivities in µm²/ms are of order 1. DIPY solves for the fraction
    // to 1.5e-8 in K; both round to f32.
    for (name, scale) in
        [("MSD", 1e-3), ("MSK", 1.0), ("AWF", 1.0), ("DI", 1e-3), ("MFA", 1.0), ("S0", 900.0)]
    {
        let (ours, theirs) =
            (fit.map(name).unwrap(), read_image(out.path().join(format!("{name}.nii"))));
        let mut compared = 0;
        for (voxel, (ours, theirs)) in ours.data.iter().zip(&theirs.unwrap().data).enumerate() {
            // DIPY makes NaN of a fraction of 0 in places, where the root is of -1e-17.
            if theirs.is_finite() {
                let difference = f64::from((ours - theirs).abs()) / scale;
                assert!(difference < 1e-5, "{name} of voxel {voxel}: {ours}, DIPY {theirs}");
                compared += 1;
            }
        }
        assert!(compared > 400, "{name}: {compared}");
    }
}
