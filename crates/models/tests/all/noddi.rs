//! NODDI: known neurites come back, with noise as well as the noise allows, and what cannot be known is
//! refused or marked.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{GradientTable, Image, Mask, Status};
use fimbria_models::Fitted;
use fimbria_models::curve::{CurveOptions, Likelihood};
use fimbria_models::dti::Precision;
use fimbria_models::noddi::{self, Compat, NoddiOptions, Tissue};
use fimbria_testing::{Noise, acquisition};

use crate::noddi_truth::{S0, direction, errors, series, truth};

/// That of many studies.
fn table() -> GradientTable {
    acquisition(6, &[(700.0, 24), (2000.0, 48)])
}

fn fitted(series: &(Image, Mask), table: &GradientTable, options: &NoddiOptions) -> Fitted {
    let workers = Workers::new(2).unwrap();
    let (image, mask) = series;
    noddi::fit(image, mask, table, options, &Backend::cpu(&workers), &Silent).unwrap()
}

fn value(fit: &Fitted, name: &str, volume: usize, voxel: usize) -> f64 {
    let map = fit.maps.iter().find(|map| map.spec.name == name).unwrap();
    f64::from(map.image.volume(volume)[voxel])
}

#[test]
fn known_neurites_come_back() {
    let table = table();
    let largest = acquisition(6, &[(1000.0, 24), (6000.0, 48)]);
    for (table, tissue) in
        [(&table, Tissue::White), (&table, Tissue::Grey), (&largest, Tissue::White)]
    {
        let options = NoddiOptions { tissue, ..NoddiOptions::default() };
        let fit = fitted(&series(table, tissue, 1, |s| s), table, &options);
        for voxel in 0..224 {
            // Rounding of the samples (6e-8) times a condition of 1e4 where little tissue shows.
            assert!(distance(&fit, voxel) < 2e-3, "{tissue:?} {voxel} {:?}", truth(voxel));
            assert!((value(&fit, "S0", 0, voxel) / S0 - 1.0).abs() < 1e-3);
            let [f, _, v] = truth(voxel);
            assert!((value(&fit, "icvf_modulated", 0, voxel) - f * (1.0 - v)).abs() < 2e-3);
            let cos: f64 =
                (0..3).map(|i| value(&fit, "direction", i, voxel) * direction(voxel)[i]).sum();
            // Dispersed fibres hardly have a direction.
            assert!(cos.abs() > 0.999, "{tissue:?} {voxel}: {cos}");
        }
    }
}

/// How far icvf, od or isovf of a voxel is from the truth, the worst of them.
fn distance(fit: &Fitted, voxel: usize) -> f64 {
    let off = |(name, truth): (&str, f64)| (value(fit, name, 0, voxel) - truth).abs();
    ["icvf", "od", "isovf"].into_iter().zip(truth(voxel)).map(off).fold(0.0, |most, d| {
        // NaN counts as far.
        if d <= most { most } else { d }
    })
}

#[test]
fn known_neurites_of_fixed_tissue_come_back_or_are_marked() {
    let table = acquisition(6, &[(1000.0, 24), (3000.0, 36), (8000.0, 60)]);
    let options = NoddiOptions { tissue: Tissue::ExVivo, ..NoddiOptions::default() };
    let fit = fitted(&series(&table, Tissue::ExVivo, 1, |s| s), &table, &options);
    // Still water, sticks everywhere and free water hardly differ where there are few sticks: rounding
    // ends some of those fits where the samples determine nothing, which the status says.
    let is_known =
        |voxel: &usize| value(&fit, "status", 0, *voxel) == f64::from(Status::Fitted.code());
    let known: Vec<usize> = (0..224).filter(is_known).collect();
    let near = (0..224).filter(|&voxel| distance(&fit, voxel) < 2e-2).count();
    assert!(near >= 200, "{near} of 224 come back");
    let wrong = known.iter().filter(|&&voxel| distance(&fit, voxel) > 0.1).count();
    assert!(wrong == 0, "{wrong} of {} that say so are wrong", known.len());
}

#[test]
fn the_mean_of_a_magnitude_takes_the_bias_of_noise_from_density_and_free_water() {
    let table = acquisition(8, &[(700.0, 24), (2000.0, 48), (3000.0, 48)]);
    let (sigma, mut noise) = (S0 / 30.0, Noise(7));
    let series = series(&table, Tissue::White, 3, |s| noise.rician(s, sigma));
    let of = |likelihood| {
        let curve = CurveOptions { likelihood, sigma: Some(sigma), ..CurveOptions::default() };
        errors(&fitted(&series, &table, &NoddiOptions { curve, ..NoddiOptions::default() }))
    };
    let (squares, mean) = (of(Likelihood::Gaussian), of(Likelihood::RicianMean));
    // By least squares too much of both; the standard error of these means is 0.003.
    for k in [0, 2] {
        assert!(squares[k][0] > 0.02, "{squares:?}");
        assert!(mean[k][0].abs() < 0.012, "{mean:?}");
        assert!(mean[k][1] < 0.8 * squares[k][1], "{mean:?} {squares:?}");
    }
}

/// AMICO's problem.
fn convex() -> NoddiOptions {
    NoddiOptions { compat: Some(Compat::Amico), ..NoddiOptions::default() }
}

#[test]
fn the_convex_problem_comes_near_known_neurites_along_one_axis() {
    let table = acquisition(6, &[(700.0, 24), (2000.0, 48), (3000.0, 48)]);
    let fit = fitted(&series(&table, Tissue::White, 1, |s| s), &table, &convex());
    let [density, dispersion, water] = errors(&fit);
    // What the dictionary's steps and the net's shrinking leave: half of these limits.
    assert!(density[1] < 0.008, "{density:?}");
    assert!(dispersion[1] < 0.008 && water[1] < 0.005, "{dispersion:?} {water:?}");
    for voxel in 0..224 {
        assert!((value(&fit, "S0", 0, voxel) / S0 - 1.0).abs() < 1e-5);
        assert_eq!(value(&fit, "status", 0, voxel), f64::from(Status::Fitted.code()));
        let dispersion = value(&fit, "od", 0, voxel);
        let kappa = 1.0 / (std::f64::consts::FRAC_PI_2 * dispersion).tan();
        assert!((value(&fit, "kappa", 0, voxel) / kappa - 1.0).abs() < 1e-4);
        let tissue = 1.0 - value(&fit, "isovf", 0, voxel);
        assert!((value(&fit, "tf", 0, voxel) - tissue).abs() < 1e-6);
        let cos: f64 =
            (0..3).map(|i| value(&fit, "direction", i, voxel) * direction(voxel)[i]).sum();
        // The tensor's axis of fibres that are dispersed most is the least certain.
        assert!(cos.abs() > 0.999, "{voxel}: {cos}");
    }
}

#[test]
fn the_convex_problem_is_refused_where_it_cannot_be_posed() {
    let weighted = acquisition(0, &[(700.0, 24), (1500.0, 24), (2500.0, 24)]);
    let error = noddi::check(&weighted, &convex()).unwrap_err().to_string();
    assert!(error.contains("without weighting"), "{error}");
    let fixed = NoddiOptions { tissue: Tissue::ExVivo, ..convex() };
    let error = noddi::check(&table(), &fixed).unwrap_err().to_string();
    assert!(error.contains("in vivo"), "{error}");
    noddi::check(&table(), &convex()).unwrap();
}

#[test]
fn fluid_has_no_neurites_to_tell_of() {
    let table = table();
    let (mut image, mask) = series(&table, Tissue::White, 1, |s| s);
    let n = image.grid.len();
    for (volume, b) in table.b_s_per_mm2.iter().enumerate() {
        image.data[volume * n] = (S0 * (-b * 3.0e-3).exp()) as f32;
    }
    let fit = fitted(&(image, mask), &table, &NoddiOptions::default());
    let isovf = value(&fit, "isovf", 0, 0);
    assert!((isovf - 1.0).abs() < 1e-3, "{isovf}");
    assert!(value(&fit, "icvf_modulated", 0, 0).abs() < 1e-3);
    assert!(value(&fit, "od_modulated", 0, 0).abs() < 1e-3);
    let status = Status::from_code(value(&fit, "status", 0, 0) as f32);
    assert!(matches!(status, Status::Undefined | Status::Constrained), "{status:?}");
}

#[test]
fn one_shell_is_refused_and_so_is_a_b_beyond_the_sums() {
    let options = NoddiOptions::default();
    let error = noddi::check(&acquisition(4, &[(1000.0, 60)]), &options).unwrap_err().to_string();
    assert!(error.contains("one shell") && error.contains("2 such b-values"), "{error}");
    let far = acquisition(4, &[(1000.0, 30), (20_000.0, 30)]);
    let error = noddi::check(&far, &options).unwrap_err().to_string();
    assert!(error.contains("34.0"), "{error}");
    noddi::check(&acquisition(1, &[(1000.0, 15), (2000.0, 15)]), &options).unwrap();
}

#[test]
fn double_precision_finds_the_same() {
    let table = table();
    let (mut noise, sigma) = (Noise(3), S0 / 40.0);
    let series = series(&table, Tissue::White, 1, |s| noise.rician(s, sigma));
    let of = |precision| {
        let curve = CurveOptions { precision, ..CurveOptions::default() };
        fitted(&series, &table, &NoddiOptions { curve, ..NoddiOptions::default() })
    };
    let (single, double) = (of(Precision::Single), of(Precision::Double));
    let differs = |voxel: &usize| {
        let difference = |name| value(&single, name, 0, *voxel) - value(&double, name, 0, *voxel);
        // Far below what noise does; of voxels at bounds some end at another of two minima.
        ["icvf", "od", "isovf"].into_iter().any(|name| difference(name).abs() > 2e-3)
    };
    let differing = (0..224).filter(differs).count();
    assert!(differing <= 6, "{differing} of 224 voxels differ");
}

#[test]
fn a_device_gives_the_bits_of_the_lanes() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let table = table();
    let (mut noise, sigma) = (Noise(5), S0 / 30.0);
    let (image, mask) = series(&table, Tissue::White, 1, |s| noise.rician(s, sigma));
    let workers = Workers::new(2).unwrap();
    let devices = [device];
    let curve = CurveOptions {
        likelihood: Likelihood::RicianMean,
        sigma: Some(sigma),
        errors: true,
        ..CurveOptions::default()
    };
    let options = NoddiOptions { curve, ..NoddiOptions::default() };
    let fit = |on: &Backend<'_>| noddi::fit(&image, &mask, &table, &options, on, &Silent).unwrap();
    let (cpu, gpu) = (fit(&Backend::cpu(&workers)), fit(&Backend::new(&workers, &devices)));
    assert_eq!(gpu.shares.cpu, 0, "the device did not do it");
    if workers.simd().fuses() {
        for (one, other) in cpu.maps.iter().zip(&gpu.maps) {
            let bits = |image: &Image| image.data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&one.image), bits(&other.image), "{}", one.spec.name);
        }
    }
}
