//! The models of Levenberg and Marquardt's method on devices: kernels made from their signals.

use fimbria_compute::device::Device;
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::curve::CurveOptions;
use fimbria_models::dki1d::{self, Dki1dOptions};
use fimbria_models::dti::Precision;
use fimbria_models::{Fitted, ivim, mono, stremi1d};

const GRID: Grid = Grid { dims: [20, 10, 2], ras_from_vox: Affine::IDENTITY };

/// Two unweighted volumes, then three axes at each of eight b.
fn table() -> GradientTable {
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0; 2],
        dirs_ras: vec![[0.0; 3]; 2],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    for b in [50.0, 200.0, 500.0, 900.0, 1400.0, 2000.0, 2500.0, 3000.0] {
        table.b_s_per_mm2.extend([b; 3]);
        table.dirs_ras.extend([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    }
    table
}

/// Noisy decays of two pools; a few voxels are dark or not finite.
fn series() -> Image {
    let table = table();
    let philox = Philox::new(21);
    let mut image = Image::zeros(GRID, table.len());
    for v in 0..table.len() {
        let b = table.b_s_per_mm2[v] as f32 / 1000.0;
        for voxel in 0..GRID.len() {
            let noise = normals::<f32>(philox.at(voxel as u64, v as u32))[0];
            let slow = 0.4 + (voxel % 17) as f32 / 20.0;
            // A third without the fast pool, whose rate nothing then tells.
            let fast = if voxel % 3 == 0 { 0.0 } else { 0.1 };
            let signal = (1.0 - fast) * (-b * slow).exp() + fast * (-b * 10.0).exp();
            image.volume_mut(v)[voxel] = match voxel {
                40 => 0.0,
                41 if v == 5 => f32::NAN,
                _ => 400.0 * (signal + 0.03 * noise),
            };
        }
    }
    image
}

fn same_maps(fit: impl Fn(&Image, &GradientTable, &Backend<'_>) -> Fitted) {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let devices: [Device; 1] = [device];
    let (image, table) = (series(), table());
    let expected = fit(&image, &table, &Backend::cpu(&workers));
    let found = fit(&image, &table, &Backend::new(&workers, &devices));
    assert_eq!(found.shares.cpu, 0, "the device did not do it");
    assert_eq!(found.status, expected.status);
    if !workers.simd().fuses() {
        return fimbria_testing::skipped("the bits: this processor does not fuse a * b + c");
    }
    for (a, b) in expected.maps.iter().zip(&found.maps) {
        // As bits: NaN is what a voxel does not determine.
        let bits = |image: &Image| image.data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&a.image) == bits(&b.image), "{}", a.spec.name);
    }
}

fn mask() -> Mask {
    Mask::full(GRID)
}

#[test]
fn exponentials_have_the_bits_of_the_lanes() {
    same_maps(|image, table, on| {
        mono::fit(image, &mask(), table, &CurveOptions::default(), on, &Silent).unwrap()
    });
}

#[test]
fn two_exponentials_have_the_bits_of_the_lanes() {
    same_maps(|image, table, on| {
        ivim::fit(image, &mask(), table, &CurveOptions::default(), on, &Silent).unwrap()
    });
}

#[test]
fn kurtosis_by_direction_has_the_bits_of_the_lanes() {
    same_maps(|image, table, on| {
        let mut options = Dki1dOptions::default();
        options.curve.sigma = Some(12.0);
        dki1d::fit(image, &mask(), table, &options, on, &Silent).unwrap()
    });
}

#[test]
fn stretched_exponentials_by_direction_have_the_bits_of_the_lanes() {
    same_maps(|image, table, on| {
        stremi1d::fit(image, &mask(), table, &CurveOptions::default(), on, &Silent).unwrap()
    });
}

#[test]
fn devices_fit_in_double_precision() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    if !device.info().has_f64 {
        return fimbria_testing::missing("a device with double precision");
    }
    let workers = Workers::new(2).unwrap();
    let devices = [device];
    let (image, table, mask) = (series(), table(), mask());
    let options = CurveOptions { precision: Precision::Double, ..CurveOptions::default() };
    let fit = |on: &Backend<'_>| mono::fit(&image, &mask, &table, &options, on, &Silent).unwrap();
    let expected = fit(&Backend::cpu(&workers));
    let found = fit(&Backend::new(&workers, &devices));
    assert_eq!(found.shares.cpu, 0, "the device did not do it");
    for (a, b) in expected.maps.iter().zip(&found.maps) {
        let scale =
            a.image.data.iter().filter(|x| x.is_finite()).fold(0.0, |m: f32, x| m.max(x.abs()));
        for (voxel, (x, y)) in a.image.data.iter().zip(&b.image.data).enumerate() {
            // Both stop where a step no longer changes single precision.
            let agree = x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-6 * scale;
            assert!(agree, "{} of voxel {voxel}: {x} and {y}", a.spec.name);
        }
    }
}
