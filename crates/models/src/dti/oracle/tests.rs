use super::super::{Compat, DtiOptions, Method};
use super::*;
use fimbria_testing::{Noise, acquisition, quadratic, signals, tensor};

fn fit(samples: &[f64], design: &Design, recipe: &Recipe) -> Parameters {
    super::fit(samples, design, recipe).0
}

const METHODS: [Method; 5] =
    [Method::Ols, Method::Wls, Method::Iwls, Method::Nlls, Method::Restore];
const D_MM2_PER_S: [f64; 6] = [1.5e-3, 0.2e-3, -0.1e-3, 0.6e-3, 0.05e-3, 0.4e-3];

fn recipe(method: Method, compat: Option<Compat>) -> Recipe {
    Recipe::new(&DtiOptions { method, compat, ..DtiOptions::default() }, 2.0)
}

fn assert_close(found: [f64; 6], expected: [f64; 6], tolerance: f64) {
    for k in 0..6 {
        assert!((found[k] - expected[k]).abs() <= tolerance, "{found:?} {expected:?}");
    }
}

#[test]
fn every_method_recovers_a_noise_free_tensor() {
    let table = acquisition(3, &[(1000.0, 15), (2000.0, 20)]);
    let design = Design::new(&table).unwrap();
    let s = signals(&table, 800.0, D_MM2_PER_S);
    for method in METHODS {
        for compat in [None, Some(Compat::Fsl), Some(Compat::Dipy), Some(Compat::Mrtrix)] {
            let fit = fit(&s, &design, &recipe(method, compat));
            assert_eq!(fit.status, Status::Fitted, "{method:?}");
            // The condition number of the normal equations is about 2e3.
            assert_close(fit.tensor, D_MM2_PER_S.map(|d| d * 1e3), 1e-11);
            assert!((fit.s0 / 800.0 - 1.0).abs() < 1e-11, "{method:?} {}", fit.s0);
            assert!(fit.residual < 1e-8, "{method:?} {}", fit.residual);
        }
    }
}

#[test]
fn turning_gradients_and_tensor_together_changes_nothing() {
    let table = acquisition(3, &[(1000.0, 30)]);
    let (turned, turn) = tensor([1.0, 2.0, 3.0], [0.7, 1.1, -0.4]);
    assert!(turned.iter().all(|t| t.is_finite()));
    let rotate = |g: [f64; 3]| turn.map(|axis| (0..3).map(|i| axis[i] * g[i]).sum());
    let mut other = table.clone();
    other.dirs_ras = table.dirs_ras.iter().map(|&g| rotate(g)).collect();
    let mut noise = Noise(5);
    let s: Vec<f64> =
        signals(&table, 500.0, D_MM2_PER_S).iter().map(|&s| noise.rician(s, 15.0)).collect();
    for method in METHODS {
        let r = recipe(method, None);
        let a = TensorMaps::new(fit(&s, &Design::new(&table).unwrap(), &r).tensor, &r);
        let b = TensorMaps::new(fit(&s, &Design::new(&other).unwrap(), &r).tensor, &r);
        // Non-linear minima are found to the square root of the rounding of their sum.
        assert!((a.fa - b.fa).abs() < 1e-6, "{method:?}: {} {}", a.fa, b.fa);
        assert!((a.md - b.md).abs() < 1e-6, "{method:?}: {} {}", a.md, b.md);
        assert!((a.mo - b.mo).abs() < 1e-6, "{method:?}: {} {}", a.mo, b.mo);
    }
}

#[test]
fn scaling_b_scales_the_tensor_inversely() {
    let table = acquisition(3, &[(1000.0, 30)]);
    let mut double = table.clone();
    double.b_s_per_mm2.iter_mut().for_each(|b| *b *= 2.0);
    let s = signals(&table, 500.0, D_MM2_PER_S);
    let r = recipe(Method::Wls, None);
    let fit = fit(&s, &Design::new(&double).unwrap(), &r);
    assert_close(fit.tensor, D_MM2_PER_S.map(|d| d * 0.5e3), 1e-11);
}

#[test]
fn restore_finds_the_tensor_behind_gross_outliers() {
    let table = acquisition(4, &[(1000.0, 40)]);
    let design = Design::new(&table).unwrap();
    let mut noise = Noise(11);
    let mut s: Vec<f64> =
        signals(&table, 1000.0, D_MM2_PER_S).iter().map(|&s| noise.rician(s, 10.0)).collect();
    let clean = fit(&s, &design, &recipe(Method::Nlls, None));
    for v in [7, 19, 30] {
        s[v] *= 0.4;
    }
    let fooled = fit(&s, &design, &recipe(Method::Nlls, None));
    let robust = fit(&s, &design, &recipe(Method::Restore, None));
    let distance = |a: [f64; 6], b: [f64; 6]| (0..6).map(|k| (a[k] - b[k]).abs()).sum::<f64>();
    // Three of 44 samples are gone: the estimate moves by a fraction of its standard error,
    // which is about 0.02 µm²/ms for each entry.
    assert!(distance(robust.tensor, clean.tensor) < 0.06, "{robust:?} {clean:?}");
    assert!(distance(fooled.tensor, clean.tensor) > 0.3, "{fooled:?}");
}

#[test]
fn restore_without_outliers_is_nlls() {
    let table = acquisition(4, &[(1000.0, 40)]);
    let design = Design::new(&table).unwrap();
    let mut noise = Noise(12);
    let s: Vec<f64> = signals(&table, 1000.0, D_MM2_PER_S)
        .iter()
        .map(|&s| s + 10.0 * (2.0 * noise.uniform() - 1.0))
        .collect();
    // Uniform noise has no tails.
    let options = |method, sigma| DtiOptions { method, sigma, ..DtiOptions::default() };
    let restore = Recipe::new(&options(Method::Restore, Some(10.0)), 1.0);
    assert_eq!(
        fit(&s, &design, &restore),
        fit(&s, &design, &Recipe::new(&options(Method::Nlls, None), 1.0))
    );
}

#[test]
fn nlls_has_no_gradient_left_at_its_minimum() {
    let table = acquisition(3, &[(1000.0, 20), (2500.0, 20)]);
    let design = Design::new(&table).unwrap();
    let mut noise = Noise(3);
    let s: Vec<f64> =
        signals(&table, 300.0, D_MM2_PER_S).iter().map(|&s| noise.rician(s, 20.0)).collect();
    let fit = fit(&s, &design, &recipe(Method::Nlls, None));
    let mut p = [fit.s0.ln(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    p[1..].copy_from_slice(&fit.tensor);
    for k in 0..N_PARAMS {
        let (mut gradient, mut size) = (0.0, 0.0);
        for (x, s) in design.rows.iter().zip(&s) {
            let predicted = predict(x, &p).exp();
            gradient += x[k] * predicted * (s - predicted);
            size += (x[k] * predicted * s).abs();
        }
        // The sum is flat to rounding over steps of sqrt(epsilon).
        assert!(gradient.abs() < 1e-7 * size, "{k}: {gradient} of {size}");
    }
}

#[test]
fn bad_samples_are_told_from_singular_equations() {
    let table = acquisition(3, &[(1000.0, 15)]);
    let design = Design::new(&table).unwrap();
    let r = recipe(Method::Wls, None);
    let good = signals(&table, 100.0, D_MM2_PER_S);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut s = good.clone();
        s[5] = bad;
        assert_eq!(fit(&s, &design, &r), Parameters::none(Status::BadSignal));
    }
    let dark = vec![0.0; good.len()];
    assert_eq!(fit(&dark, &design, &r), Parameters::none(Status::BadSignal));
    // Only three directions have a weight worth the name.
    let mut lone = vec![1e-12; good.len()];
    lone[..6].fill(1.0);
    let measured = recipe(Method::Wls, Some(Compat::Fsl));
    let fsl = Recipe { floor: super::super::recipe::Floor::SmallestPositive, ..measured };
    assert_eq!(fit(&lone, &design, &fsl), Parameters::none(Status::Singular));
}

#[test]
fn a_zero_sample_is_raised_to_the_smallest_positive_one() {
    let table = acquisition(3, &[(1000.0, 15)]);
    let design = Design::new(&table).unwrap();
    let r = recipe(Method::Ols, None);
    let mut s = signals(&table, 100.0, D_MM2_PER_S);
    let smallest = s.iter().copied().fold(f64::INFINITY, f64::min);
    s[6] = 0.0;
    let zero = fit(&s, &design, &r);
    s[6] = s.iter().copied().filter(|&s| s > 0.0).fold(f64::INFINITY, f64::min);
    assert!(s[6] >= smallest);
    assert_eq!(zero.tensor, fit(&s, &design, &r).tensor);
}

#[test]
fn fsl_never_lets_s0_fall_below_the_mean() {
    // Signal that grows with b: the intercept lies below every weighted sample.
    let table = acquisition(1, &[(1000.0, 20)]);
    let design = Design::new(&table).unwrap();
    let s = signals(&table, 100.0, [-1e-3, 0.0, 0.0, -1e-3, 0.0, -1e-3]);
    let mean = s.iter().sum::<f64>() / s.len() as f64;
    assert!((fit(&s, &design, &recipe(Method::Ols, Some(Compat::Fsl))).s0 - mean).abs() < 1e-9);
    assert!((fit(&s, &design, &recipe(Method::Ols, None)).s0 - 100.0).abs() < 1e-9);
}

#[test]
fn known_eigenvalues_give_known_maps() {
    let r = recipe(Method::Wls, None);
    // FA by its definition, mode 1 for a prolate and -1 for an oblate tensor, 0 in between.
    for (l, mo) in [([1.7, 0.3, 0.3], 1.0), ([1.2, 1.2, 0.2], -1.0), ([1.5, 1.0, 0.5], 0.0)] {
        let (d, v) = tensor(l, [0.3, 1.2, 2.0]);
        let maps = TensorMaps::new(d, &r);
        let md: f64 = l.iter().sum::<f64>() / 3.0;
        let deviation: f64 = l.iter().map(|l| (l - md).powi(2)).sum();
        let fa = (1.5 * deviation / l.iter().map(|l| l * l).sum::<f64>()).sqrt();
        assert!((maps.md - md).abs() < 1e-14 && (maps.fa - fa).abs() < 1e-14);
        assert!((maps.mo - mo).abs() < 1e-12, "{maps:?}");
        assert!((maps.ad - l[0]).abs() < 1e-14 && (maps.rd - 0.5 * (l[1] + l[2])).abs() < 1e-14);
        if l[0] > l[1] {
            let cos: f64 = (0..3).map(|i| maps.eigenvectors[0][i] * v[0][i]).sum();
            assert!(cos.abs() > 1.0 - 1e-14);
        }
        // The quadratic form along V1 is L1.
        assert!((quadratic(d, maps.eigenvectors[0]) - l[0]).abs() < 1e-14);
    }
}

#[test]
fn an_isotropic_tensor_has_neither_anisotropy_nor_mode() {
    let maps = TensorMaps::new([0.7, 0.0, 0.0, 0.7, 0.0, 0.7], &recipe(Method::Wls, None));
    assert!(maps.fa < 1e-15 && maps.mo == 0.0, "{maps:?}");
    let none = TensorMaps::new([0.0; 6], &recipe(Method::Wls, None));
    assert_eq!((none.fa, none.mo), (0.0, 0.0));
}

#[test]
fn dipy_clips_eigenvalues_and_mrtrix_orders_them_by_magnitude() {
    let (d, _) = tensor([1.0, 0.1, -0.4], [0.3, 1.2, 2.0]);
    let dipy = TensorMaps::new(d, &recipe(Method::Wls, Some(Compat::Dipy)));
    assert!(dipy.clipped && (dipy.eigenvalues[2] - 5e-7).abs() < 1e-15, "{dipy:?}");
    assert!((TensorMaps::new(dipy.tensor, &recipe(Method::Wls, None)).fa - dipy.fa).abs() < 1e-14);
    let mrtrix = TensorMaps::new(d, &recipe(Method::Wls, Some(Compat::Mrtrix)));
    assert!((mrtrix.eigenvalues[1] + 0.4).abs() < 1e-14 && !mrtrix.clipped, "{mrtrix:?}");
}
