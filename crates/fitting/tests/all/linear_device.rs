//! The log-linear fit's kernel, on PoCL where there is no card.

use fimbria_compute::SimdLevel;
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_fitting::linear::{Column, Design, DeviceFit, LogLinearFit, Passes, Problems, Recipe};

/// A form of order 4 on two shells.
fn fit(passes: Passes) -> LogLinearFit {
    let mut covariates = vec![[0.0; 4]; 4];
    for i in 0..60 {
        let (z, angle) = ((f64::from(i) + 0.5) / 60.0, 2.399_963 * f64::from(i));
        let r = (1.0 - z * z).sqrt();
        covariates.push([1.0 + f64::from(i % 2), r * angle.cos(), r * angle.sin(), z]);
    }
    let mut columns = Vec::new();
    for x in 0..=4 {
        for y in 0..=4 - x {
            columns.push(Column { scale: -1.0, powers: [1, x, y, 4 - x - y] });
        }
    }
    let recipe = Recipe { passes, ..Recipe::default() };
    LogLinearFit::new(Design::new(&covariates, &columns).unwrap(), recipe)
}

#[test]
fn a_device_gives_the_bits_of_the_lanes() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let simd = SimdLevel::best();
    if !simd.fuses() {
        return fimbria_testing::skipped("this processor does not fuse a * b + c");
    }
    let n = 300;
    let samples: Vec<f32> =
        (0..64 * n).map(|i| 400.0 * (1.2 + (i as f32 * 0.7).sin()) * 0.5).collect();
    for passes in [Passes::OLS, Passes::WLS, Passes::IWLS] {
        let fit = fit(passes);
        let on_device = DeviceFit::new(&device, &fit, n).unwrap();
        let mut rows = on_device.range().zeros().unwrap();
        on_device.apply(&on_device.domain().upload(&samples).unwrap(), &mut rows).unwrap();
        let mut found = vec![0.0; on_device.range().len()];
        on_device.range().download(&rows, &mut found).unwrap();
        let problems = Problems { samples: &samples, weights: None, stride: n, n };
        fit.refit_singular(problems, &mut found);
        let mut expected = vec![0.0; found.len()];
        fit.fit_lanes(simd, problems, &mut expected);
        let bits = |rows: &[f32]| -> Vec<u32> { rows.iter().map(|x| x.to_bits()).collect() };
        assert!(bits(&found) == bits(&expected), "{passes:?}");
    }
}

#[test]
fn every_kernel_agrees_with_its_oracle() {
    fimbria_testing::kernels_agree(fimbria_fitting::checks);
}

#[test]
fn no_kernel_races_or_leaves_its_buffers() {
    fimbria_testing::kernels_are_clean(fimbria_fitting::checks);
}
