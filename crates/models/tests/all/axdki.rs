//! Axially symmetric kurtosis: what is symmetric comes back, as `dki` has it, and noise scatters it less.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::curve::CurveOptions;
use fimbria_models::dki::{DkiOptions, KurtosisRange};
use fimbria_models::{Fitted, axdki, dki};
use fimbria_testing::{Noise, acquisition, angle, tensor};

const N: usize = 240;
const S0: f64 = 800.0;

fn table() -> GradientTable {
    acquisition(6, &[(1000.0, 30), (2500.0, 45)])
}

/// D∥, D⊥ (µm²/ms), W∥, W⊥, W̄ and the axis of a voxel: from nearly a ball to a fibre.
fn truth(voxel: usize) -> ([f64; 2], [f64; 3], [f64; 3]) {
    let turn = voxel as f64;
    let axis = tensor([1.0, 0.0, 0.0], [turn, 1.7 * turn, 0.4 * turn]).1[0];
    let along = 0.7 + 0.1 * (voxel % 12) as f64;
    let w = [0.4 + 0.02 * (voxel % 7) as f64, 1.2 - 0.04 * (voxel % 9) as f64, 0.9];
    ([along, 0.75 - 0.02 * (voxel % 12) as f64], w, axis)
}

/// The expansion to b², which none of the fits can be better than.
fn series(table: &GradientTable, mut noisy: impl FnMut(f64) -> f64) -> (Image, Mask) {
    let grid = Grid { dims: [N, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    for voxel in 0..N {
        let (d, w, axis) = truth(voxel);
        let mean = (d[0] + 2.0 * d[1]) / 3.0;
        for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            let (b, c) = (1e-3 * b, axis[0] * g[0] + axis[1] * g[1] + axis[2] * g[2]);
            let (second, fourth) = ((2.0 * c.acos()).cos(), (4.0 * c.acos()).cos());
            let w = (fourth * (10.0 * w[1] + 5.0 * w[0] - 15.0 * w[2])
                + 8.0 * second * (w[0] - w[1])
                + 3.0 * w[0]
                - 2.0 * w[1]
                + 15.0 * w[2])
                / 16.0;
            let along = d[1] + (d[0] - d[1]) * c * c;
            let signal = S0 * (-b * along + b * b * mean * mean * w / 6.0).exp();
            image.data[volume * N + voxel] = noisy(signal) as f32;
        }
    }
    (image, Mask { grid, voxels: (0..N as u32).collect() })
}

fn fitted((image, mask): &(Image, Mask), table: &GradientTable) -> Fitted {
    let (workers, options) = (Workers::new(2).unwrap(), CurveOptions::default());
    axdki::fit(image, mask, table, &options, &Backend::cpu(&workers), &Silent).unwrap()
}

fn kurtosis((image, mask): &(Image, Mask), table: &GradientTable) -> Fitted {
    let workers = Workers::new(2).unwrap();
    let options = DkiOptions {
        method: dki::Method::Nlls,
        constrained: false,
        clip: KurtosisRange { low: -10.0, high: 20.0 },
        ..DkiOptions::default()
    };
    dki::fit(image, mask, table, &options, &Backend::cpu(&workers), &Silent).unwrap()
}

fn value(fit: &Fitted, name: &str, voxel: usize) -> f64 {
    f64::from(fit.map(name).unwrap().data[voxel])
}

#[test]
fn symmetric_tissue_comes_back() {
    let table = table();
    let fit = fitted(&series(&table, |s| s), &table);
    for voxel in 0..N {
        let (d, w, axis) = truth(voxel);
        if d[0] - d[1] < 0.15 {
            // Of a ball no axis is known, nor what is along it.
            continue;
        }
        // Rounding of samples (6e-8) times a condition of some 1e3: b² differs little over two shells.
        for (name, expected) in [("AD", d[0]), ("RD", d[1])] {
            let off = (1e3 * value(&fit, name, voxel) - expected).abs();
            assert!(off < 1e-4, "{voxel} {name} {off}");
        }
        for (name, expected) in [("Wpar", w[0]), ("Wperp", w[1]), ("MKT", w[2])] {
            let off = (value(&fit, name, voxel) - expected).abs();
            assert!(off < 1e-4, "{voxel} {name} {off}");
        }
        let direction = fit.map("direction").unwrap();
        let direction: Vec<f64> = (0..3).map(|i| f64::from(direction.volume(i)[voxel])).collect();
        assert!(angle(&direction, &axis) < 0.2, "{voxel}");
    }
}

#[test]
fn all_entries_of_the_tensors_give_the_same_where_they_are_symmetric() {
    let table = table();
    let series = series(&table, |s| s);
    let (symmetric, full) = (fitted(&series, &table), kurtosis(&series, &table));
    for voxel in 0..N {
        let (d, ..) = truth(voxel);
        if d[0] - d[1] < 0.15 {
            // The first eigenvector is the axis of a fibre alone.
            continue;
        }
        for name in ["MD", "AD", "RD"] {
            let [a, b] = [&symmetric, &full].map(|fit| value(fit, name, voxel));
            assert!((a / b - 1.0).abs() < 1e-4, "{voxel} {name} {a} {b}");
        }
        for name in ["MK", "AK", "RK", "MKT"] {
            let [a, b] = [&symmetric, &full].map(|fit| value(fit, name, voxel));
            // Rounding as above.
            assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{voxel} {name} {a} {b}");
        }
    }
}

#[test]
fn eight_numbers_are_known_better_than_twenty_two() {
    let table = table();
    let mut noise = Noise(5);
    let series = series(&table, |s| noise.rician(s, S0 / 40.0));
    let (symmetric, full) = (fitted(&series, &table), kurtosis(&series, &table));
    let spread = |fit: &Fitted| {
        let off = |voxel: usize| {
            let (d, w, _) = truth(voxel);
            let mean = (d[0] + 2.0 * d[1]) / 3.0;
            value(fit, "RK", voxel) - w[1] * (mean / d[1]).powi(2)
        };
        let mut off: Vec<f64> = (0..N).map(off).map(f64::abs).filter(|x| x.is_finite()).collect();
        off.sort_by(f64::total_cmp);
        off[off.len() / 2]
    };
    let [ours, theirs] = [spread(&symmetric), spread(&full)];
    // Of 240 voxels some 0.83; medians scatter by a tenth.
    assert!(ours < 0.95 * theirs, "{ours} {theirs}");
}

#[test]
fn one_shell_is_refused_and_three_directions_of_a_shell_are_not() {
    let error = axdki::check(&acquisition(4, &[(1000.0, 60)]), None).unwrap_err().to_string();
    assert!(error.contains("2 such b-values"), "{error}");
    // Nineteen images, or so: the fast protocols.
    axdki::check(&acquisition(1, &[(1000.0, 3), (2500.0, 9)]), None).unwrap();
}

#[test]
fn a_device_gives_the_bits_of_the_lanes() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let table = table();
    let (mut noise, workers) = (Noise(9), Workers::new(2).unwrap());
    let (image, mask) = series(&table, |s| noise.rician(s, S0 / 30.0));
    let (options, devices) = (CurveOptions::default(), [device]);
    let fit = |on: &Backend<'_>| axdki::fit(&image, &mask, &table, &options, on, &Silent).unwrap();
    let (cpu, gpu) = (fit(&Backend::cpu(&workers)), fit(&Backend::new(&workers, &devices)));
    assert_eq!(gpu.shares.cpu, 0, "the device did not do it");
    if workers.simd().fuses() {
        for (one, other) in cpu.maps.iter().zip(&gpu.maps) {
            let bits = |image: &Image| image.data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&one.image), bits(&other.image), "{}", one.spec.name);
        }
    }
}
