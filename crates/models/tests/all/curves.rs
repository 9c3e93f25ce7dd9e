//! The models fitted by Levenberg and Marquardt's method: recovery of known truth, protocols that
//! do not support them, voxels that cannot be fitted.

use fimbria_compute::philox::Philox;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_fitting::lm::{Likelihood, Model, derivative_error};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_models::curve::{CurveError, CurveOptions};
use fimbria_models::dki1d::{self, Dki1dOptions, Eta};
use fimbria_models::dti::Precision;
use fimbria_models::stremi::{self, Projection, StremiOptions, StretchedTensor};
use fimbria_models::{Fitted, ivim, mono, nlls, stremi1d};
use fimbria_tensors::starts::half_sphere;

/// A uniform number of [0, 1).
fn uniform(item: usize, purpose: usize) -> f64 {
    f64::from(Philox::new(11).at(item as u64, purpose as u32)[0]) / 4_294_967_296.0
}

/// About normal, mean 0 and variance 1.
fn noise(item: usize, purpose: usize) -> f64 {
    let sum: f64 = (0..4).map(|k| uniform(item, 1_000_000 + 4 * purpose + k)).sum();
    (sum - 2.0) * 3f64.sqrt()
}

/// Unweighted volumes, then all directions at every b (s/mm²).
fn table(n_b0: usize, b: &[f64], n_directions: usize) -> GradientTable {
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0; n_b0],
        dirs_ras: vec![[0.0; 3]; n_b0],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    for &b in b {
        table.b_s_per_mm2.extend(vec![b; n_directions]);
        table.dirs_ras.extend(half_sphere(n_directions));
    }
    table
}

/// The paper's b-values up to 3000 s/mm², and beyond.
const PAPER_B: [f64; 10] =
    [100.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0, 4000.0, 6000.0, 8000.0];

/// A series of `n` voxels from the signal of (voxel, b in ms/µm², direction).
fn series(
    n: usize,
    table: &GradientTable,
    signal: impl Fn(usize, f64, [f64; 3]) -> f64,
) -> (Image, Mask) {
    let grid = Grid { dims: [n, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
        for voxel in 0..n {
            image.data[volume * n + voxel] = signal(voxel, b / 1000.0, g) as f32;
        }
    }
    (image, Mask { grid, voxels: (0..n as u32).collect() })
}

fn on_cpu<T>(run: impl FnOnce(&Backend<'_>) -> T) -> T {
    let workers = Workers::new(2).unwrap();
    run(&Backend::new(&workers, &[]))
}

fn value(fit: &Fitted, map: &str, volume: usize, voxel: usize) -> f64 {
    f64::from(fit.map(map).unwrap().volume(volume)[voxel])
}

const S0: f64 = 500.0;

/// D and K of a direction of a voxel.
fn kurtosis_truth(voxel: usize, g: [f64; 3]) -> [f64; 2] {
    let d = 0.4 + 1.4 * uniform(voxel, 0) * (0.4 + 0.6 * g[0] * g[0]);
    [d, (0.2 + 1.0 * uniform(voxel, 1)).min(0.95 / d)]
}

fn kurtosis_signal(voxel: usize, b: f64, g: [f64; 3], floor: f64) -> f64 {
    let [d, k] = kurtosis_truth(voxel, g);
    (S0 * (-b * d + b * b * d * d * k / 6.0).exp()).hypot(floor)
}

#[test]
fn dki1d_recovers_every_direction_and_its_mean() {
    let n = 300;
    let table = table(5, &PAPER_B[..7], 12);
    let floor = 10.0;
    let (image, mask) = series(n, &table, |v, b, g| kurtosis_signal(v, b, g, floor));
    let mut options = Dki1dOptions::default();
    options.curve.sigma = Some(floor);
    for precision in [Precision::Single, Precision::Double] {
        options.curve.precision = precision;
        let fit = on_cpu(|on| dki1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
        assert_eq!(fit.status.count(Status::Fitted), n as u64);
        for voxel in 0..n {
            let mut mean = 0.0;
            for (d, g) in half_sphere(12).into_iter().enumerate() {
                let [diffusivity, kurtosis] = kurtosis_truth(voxel, g);
                let found = value(&fit, "D", d, voxel) * 1e3;
                // What the issue asks of D; K = 6A/D² adds the errors of A and twice that of D.
                assert!((found - diffusivity).abs() < 1e-4 * diffusivity.max(1.0), "{voxel} {d}");
                let found = value(&fit, "K", d, voxel);
                assert!((found - kurtosis).abs() < 1e-3, "{voxel} {d}: {found} {kurtosis}");
                mean += kurtosis / 12.0;
            }
            assert!((value(&fit, "MK", 0, voxel) - mean).abs() < 1e-3);
            assert!((value(&fit, "S0", 0, voxel) / S0 - 1.0).abs() < 1e-4);
            assert!(value(&fit, "residual", 0, voxel) < 1e-3 * S0);
        }
    }
}

#[test]
fn the_fitted_floor_is_found_too() {
    let n = 100;
    let table = table(5, &PAPER_B[..7], 6);
    let (image, mask) = series(n, &table, |v, b, g| kurtosis_signal(v, b, g, 0.0).hypot(20.0));
    let options = Dki1dOptions { eta: Eta::Fit, ..Dki1dOptions::default() };
    let fit = on_cpu(|on| dki1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    for voxel in 0..n {
        for (d, g) in half_sphere(6).into_iter().enumerate() {
            // The floor cannot be told from kurtosis where the signal stays well above it.
            let diffusivity = kurtosis_truth(voxel, g)[0];
            if diffusivity < 1.2 {
                continue;
            }
            let found = value(&fit, "D", d, voxel) * 1e3;
            assert!((found - diffusivity).abs() < 1e-2 * diffusivity.max(1.0), "{voxel} {d}");
        }
    }
}

#[test]
fn sigma_for_eta_is_the_less_biased_choice_at_low_snr() {
    // The experiment of the reference: SNR 10, D = K = 1.
    let n = 3000;
    let table = table(5, &PAPER_B[..7], 1);
    let sigma = 0.1 * S0;
    let magnitude = |v: usize, b: f64, _: [f64; 3]| {
        let k = (b * 1000.0) as usize;
        let s = S0 * (-b + b * b / 6.0).exp();
        (s + sigma * noise(v, 2 * k)).hypot(sigma * noise(v, 2 * k + 1))
    };
    let (image, mask) = series(n, &table, magnitude);
    let median_k = |eta: Eta| {
        let mut options = Dki1dOptions { eta, ..Dki1dOptions::default() };
        options.curve.sigma = Some(sigma);
        let fit = on_cpu(|on| dki1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
        let mut k: Vec<f64> = (0..n).map(|v| value(&fit, "K", 0, v)).collect();
        *k.select_nth_unstable_by(n / 2, f64::total_cmp).1
    };
    let (sigma, rms) = (median_k(Eta::Sigma), median_k(Eta::RootMeanSquare));
    assert!((sigma - 1.0).abs() < (rms - 1.0).abs(), "{sigma} {rms}");
}

#[test]
fn with_one_unweighted_volume_the_noise_comes_from_the_residuals() {
    let n = 400;
    let table = table(1, &PAPER_B[..7], 6);
    let sigma = 15.0;
    let (image, mask) = series(n, &table, |v, b, g| {
        let k = (b * 1000.0 + 100.0 * g[2]) as usize;
        kurtosis_signal(v, b, g, 0.0) + sigma * noise(v, k)
    });
    let fit = on_cpu(|on| dki1d::fit(&image, &mask, &table, &Dki1dOptions::default(), on, &Silent))
        .unwrap();
    let estimated = fimbria_models::noise::from_residuals(&fit, 8, 3).unwrap();
    // The median over 400 voxels of 6 x 5 degrees of freedom, and the floor itself.
    assert!((estimated / sigma - 1.0).abs() < 0.1, "{estimated}");
}

#[test]
fn stremi1d_recovers_exponents() {
    let n = 300;
    let table = table(5, &PAPER_B, 8);
    let truth = |v: usize| (0.3 + 1.2 * uniform(v, 0), 0.4 + 0.55 * uniform(v, 1));
    let (image, mask) = series(n, &table, |v, b, _| {
        let (a, gamma) = truth(v);
        S0 * (-a * b.powf(gamma)).exp()
    });
    let options = CurveOptions::default();
    let fit = on_cpu(|on| stremi1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    assert_eq!(fit.status.count(Status::Fitted), n as u64);
    for voxel in 0..n {
        let (a, gamma) = truth(voxel);
        // Rounding of the samples, 6e-8, times the condition of the problem (below 100).
        assert!((value(&fit, "A", 3, voxel) - a).abs() < 1e-5, "A {voxel}");
        assert!((value(&fit, "Mgamma", 0, voxel) - gamma).abs() < 1e-5, "gamma {voxel}");
    }
}

/// The truth of a voxel of the 7-parameter model: S0, A, gamma, and its axes.
fn stremi_truth(v: usize) -> ([f64; 7], [[f64; 3]; 3]) {
    let u = |k| uniform(v, k);
    let p = [
        1.0,
        1.2 + 0.6 * u(0),
        0.4 + 0.3 * u(1),
        0.1 + 0.2 * u(2),
        0.6 + 0.35 * u(3),
        0.6 + 0.35 * u(4),
        0.6 + 0.35 * u(5),
    ];
    let (sa, ca) = (6.3 * u(6)).sin_cos();
    let (sb, cb) = (3.1 * u(7)).sin_cos();
    (p, [[ca * sb, sa * sb, cb], [ca * cb, sa * cb, -sb], [-sa, ca, 0.0]])
}

#[test]
fn stremi_is_recovered_over_all_volumes() {
    let n = 200;
    let table = table(5, &PAPER_B, 30);
    for projection in [Projection::Dti, Projection::Paper] {
        let model = StretchedTensor { projection };
        let (image, mask) = series(n, &table, |v, b, g| {
            let (p, axes) = stremi_truth(v);
            let constants: Vec<f64> = axes.concat().into_iter().chain([0.0; 3]).collect();
            S0 * model.signal(&p, &[b, g[0], g[1], g[2]], &constants)
        });
        let options = StremiOptions { projection, ..StremiOptions::default() };
        let fit = on_cpu(|on| stremi::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
        let fitted = fit.status.count(Status::Fitted) + fit.status.count(Status::Constrained);
        assert!(fitted * 100 >= 99 * n as u64, "{projection:?}: {fitted} of {n}");
        let mut errors = Vec::new();
        for voxel in 0..n {
            let (p, _) = stremi_truth(voxel);
            let mean = (p[4] + p[5] + p[6]) / 3.0;
            errors.push((value(&fit, "Mgamma", 0, voxel) - mean).abs());
        }
        errors.sort_by(f64::total_cmp);
        // The axes come from a tensor fit to a signal that is none: most of the error.
        assert!(errors[n / 2] < 0.05, "{projection:?}: median error {}", errors[n / 2]);
    }
}

#[test]
fn mono_and_ivim_are_recovered() {
    let n = 300;
    let low = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0];
    let b: Vec<f64> = low.into_iter().chain([200.0, 300.0, 400.0, 600.0, 800.0, 1000.0]).collect();
    let mut table = table(2, &b, 3);
    table.b0_threshold = 5.0;
    let truth = |v: usize| {
        let u = |k| uniform(v, k);
        (0.08 + 0.3 * u(0), 8.0 + 30.0 * u(1), 0.5 + 1.2 * u(2))
    };
    let (image, mask) = series(n, &table, |v, b, _| {
        let (f, fast, slow) = truth(v);
        S0 * (f * (-b * fast).exp() + (1.0 - f) * (-b * slow).exp())
    });
    let options = CurveOptions::default();
    let fit = on_cpu(|on| ivim::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    assert_eq!(fit.status.count(Status::Fitted), n as u64);
    for voxel in 0..n {
        let (f, fast, slow) = truth(voxel);
        // Rounding of the samples times a condition of a few hundred.
        assert!((value(&fit, "f", 0, voxel) - f).abs() < 1e-4);
        assert!((value(&fit, "Dstar", 0, voxel) * 1e3 / fast - 1.0).abs() < 1e-3);
        assert!((value(&fit, "D", 0, voxel) * 1e3 - slow).abs() < 1e-4);
    }

    let (image, mask) = series(n, &table, |v, b, _| S0 * (-b * truth(v).2).exp());
    let fit = on_cpu(|on| mono::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    for voxel in 0..n {
        let slow = truth(voxel).2;
        assert!((value(&fit, "D", 0, voxel) * 1e3 - slow).abs() < 1e-4 * slow.max(1.0));
    }
}

#[test]
fn voxels_without_a_usable_signal_are_marked_and_zero() {
    let table = table(3, &PAPER_B[..7], 6);
    let (mut image, mask) = series(6, &table, |v, b, g| match v {
        0 => 0.0,
        1 => -50.0,
        2 => 300.0,
        _ => kurtosis_signal(v, b, g, 0.0),
    });
    image.data[20 * 6 + 3] = f32::NAN;
    image.data[4] = f32::INFINITY;
    let mut options = Dki1dOptions::default();
    options.curve.sigma = Some(0.0);
    let fit = on_cpu(|on| dki1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
    let status: Vec<f64> = (0..6).map(|v| value(&fit, "status", 0, v)).collect();
    assert_eq!(status[0], 4.0);
    assert_ne!(status[1], 1.0);
    // A NaN spoils one direction, an infinity all of them.
    assert_eq!(status[3], 3.0);
    assert_eq!(status[4], 4.0);
    assert_eq!(status[5], 1.0);
    for map in &fit.maps {
        for volume in 0..map.image.n_volumes {
            let values = map.image.volume(volume);
            // The constant signal of voxel 2 tells no kurtosis.
            let finite =
                |(voxel, x): (usize, &f32)| x.is_finite() || voxel == 2 && map.spec.name == "MK";
            assert!(values.iter().enumerate().all(finite), "{}", map.spec.name);
            if map.spec.name != "status" {
                assert_eq!((values[0], values[4]), (0.0, 0.0), "{}", map.spec.name);
            }
        }
    }
    // Without decay there is no diffusivity.
    assert!(value(&fit, "MD", 0, 2).abs() < 1e-6 || status[2] > 1.0);
}

#[test]
fn a_protocol_that_cannot_support_a_model_is_refused_with_a_reason() {
    let one_shell = table(3, &[1000.0], 30);
    let (image, mask) = series(2, &one_shell, |_, b, _| S0 * (-b).exp());
    let say = |error: CurveError| error.to_string();
    on_cpu(|on| {
        let options = Dki1dOptions::default();
        let error = say(dki1d::fit(&image, &mask, &one_shell, &options, on, &Silent).unwrap_err());
        assert!(error.contains("needs 3 different b-values"), "{error}");
        let options = CurveOptions::default();
        let error =
            say(stremi1d::fit(&image, &mask, &one_shell, &options, on, &Silent).unwrap_err());
        assert!(error.contains("needs 4 different b-values"), "{error}");
        let error = say(ivim::fit(&image, &mask, &one_shell, &options, on, &Silent).unwrap_err());
        assert!(error.contains("below 200 s/mm²"), "{error}");
        let stremi = StremiOptions::default();
        let error = say(stremi::fit(&image, &mask, &one_shell, &stremi, on, &Silent).unwrap_err());
        assert!(error.contains("4 different b-values"), "{error}");
        let other = table(2, &[1000.0], 30);
        let error = say(mono::fit(&image, &mask, &other, &options, on, &Silent).unwrap_err());
        assert!(error.contains("33 volumes, the gradient table 32"), "{error}");

        let one_b0 = table(1, &PAPER_B, 6);
        let (image, mask) = series(2, &one_b0, |v, b, g| kurtosis_signal(v, b, g, 0.0));
        let likelihood = Likelihood::Rician;
        let options = CurveOptions { likelihood, ..CurveOptions::default() };
        let error = say(stremi1d::fit(&image, &mask, &one_b0, &options, on, &Silent).unwrap_err());
        assert!(error.contains("--sigma"), "{error}");
    });
}

#[test]
fn a_rician_likelihood_lowers_the_bias_of_the_exponent() {
    let n = 1000;
    let table = table(5, &PAPER_B, 1);
    let sigma = 0.05 * S0;
    let (image, mask) = series(n, &table, |v, b, _| {
        let k = (b * 1000.0) as usize;
        let s = S0 * (-b.powf(0.8)).exp();
        (s + sigma * noise(v, 2 * k)).hypot(sigma * noise(v, 2 * k + 1))
    });
    let mean_gamma = |likelihood| {
        let options = CurveOptions { likelihood, sigma: Some(sigma), ..CurveOptions::default() };
        let fit = on_cpu(|on| stremi1d::fit(&image, &mask, &table, &options, on, &Silent)).unwrap();
        (0..n).map(|v| value(&fit, "Mgamma", 0, v)).sum::<f64>() / n as f64
    };
    let (gaussian, rician) = (mean_gamma(Likelihood::Gaussian), mean_gamma(Likelihood::Rician));
    assert!((rician - 0.8).abs() < 0.5 * (gaussian - 0.8).abs(), "{rician} {gaussian}");
}

#[test]
fn results_do_not_depend_on_threads() {
    let n = 3000;
    let table = table(3, &PAPER_B[..7], 3);
    let (image, mask) = series(n, &table, |v, b, g| {
        kurtosis_signal(v, b, g, 0.0) + 5.0 * noise(v, (b * 100.0) as usize)
    });
    let mut options = Dki1dOptions::default();
    options.curve.sigma = Some(5.0);
    let run = |threads: usize| {
        let workers = Workers::new(threads).unwrap();
        let on = Backend::new(&workers, &[]);
        let fit = dki1d::fit(&image, &mask, &table, &options, &on, &Silent).unwrap();
        fit.maps.into_iter().flat_map(|map| map.image.data).map(f32::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn written_derivatives_are_those_of_dual_numbers() {
    // A few roundings of f64 of sums of up to 22 terms.
    const ROUNDING: f64 = 1e-12;
    for i in 0..200 {
        let u = |k| uniform(i, k);
        let b = 0.05 + 4.0 * u(20);
        let p3 = [0.5 + u(0), 0.2 + u(1), 0.3 * u(2)];
        assert!(derivative_error(&dki1d::Kurtosis, &p3, &[b], &[0.03]) < ROUNDING);
        let stretched = [p3[0], p3[1], 0.2 + 0.8 * u(3)];
        assert!(derivative_error(&stremi1d::Stretched, &stretched, &[b.ln()], &[]) < ROUNDING);
        let pools = [1.0, u(4), 4.0 + 50.0 * u(5), 2.0 * u(6)];
        assert!(derivative_error(&ivim::BiExponential, &pools, &[b], &[]) < ROUNDING);
        assert!(derivative_error(&mono::MonoExponential, &[1.0, u(7)], &[b], &[]) < ROUNDING);
        let (p, axes) = stremi_truth(i);
        let constants: Vec<f64> = axes.concat().into_iter().chain([0.0; 3]).collect();
        for projection in [Projection::Dti, Projection::Paper] {
            let model = StretchedTensor { projection };
            let g = half_sphere(30)[i % 30];
            let known = [b, g[0], g[1], g[2]];
            assert!(derivative_error(&model, &p, &known, &constants) < ROUNDING);
        }
        let x: [f64; 22] = std::array::from_fn(|k| u(30 + k) - 0.5);
        let p: [f64; 22] = std::array::from_fn(|k| u(60 + k) - 0.5);
        assert!(derivative_error(&nlls::ExpLinear, &p, &x, &[]) < ROUNDING);
    }
}

#[test]
fn a_signal_that_does_not_decay_or_begin_is_flagged() {
    let table = table(3, &[500.0, 1000.0, 1500.0, 2000.0, 3000.0], 6);
    let (image, mask) = series(4, &table, |voxel, b, g| match voxel {
        // Constant; nothing without weighting; nearly constant along z only; as it should be.
        0 => S0,
        1 => {
            if b > 0.0 {
                S0
            } else {
                0.0
            }
        }
        2 => S0 * (-b * 0.8 * (1.0 - g[2] * g[2])).exp(),
        _ => S0 * (-b * 0.8).exp(),
    });
    let mut options = Dki1dOptions { eta: Eta::Fixed(0.0), ..Dki1dOptions::default() };
    options.curve.errors = true;
    let kurtosis = on_cpu(|on| dki1d::fit(&image, &mask, &table, &options, on, &Silent).unwrap());
    let stretched = {
        let options = CurveOptions { errors: true, ..CurveOptions::default() };
        on_cpu(|on| stremi1d::fit(&image, &mask, &table, &options, on, &Silent).unwrap())
    };
    for (fit, diffusivity, mean) in [(&kurtosis, "MD", "MK"), (&stretched, "MA", "Mgamma")] {
        let status = |voxel| Status::from_code(value(fit, "status", 0, voxel) as f32);
        assert_eq!([0, 1].map(status), [Status::Undefined, Status::BadSignal]);
        for map in &fit.maps {
            let name = &map.spec.name;
            for volume in (0..map.image.n_volumes).filter(|_| map.spec.name != "status") {
                let values = map.image.volume(volume);
                assert!(values[1] == 0.0 && values[2..].iter().all(|x| x.is_finite()), "{name}");
                assert!(values[0].is_finite() || name == mean, "{name}");
            }
        }
        // A constant signal has a diffusivity, which is none, and nothing else.
        assert!(value(fit, diffusivity, 0, 0).abs() < 1e-6 && value(fit, mean, 0, 0).is_nan());
        assert!((value(fit, "S0", 0, 0) / S0 - 1.0).abs() < 1e-6);
        assert!(matches!(status(3), Status::Fitted | Status::Constrained));
    }
    // Directions across z tell; where z is nearly along one of the six, that one does not.
    assert!(value(&kurtosis, "MK", 0, 2).abs() < 1e-2);
    assert!((value(&stretched, "Mgamma", 0, 3) - 1.0).abs() < 1e-3);
}

#[test]
fn one_direction_at_large_b_does_not_carry_a_stretched_tensor() {
    let mut table = table(3, &[1000.0], 30);
    for b in [2000.0, 3000.0] {
        table.b_s_per_mm2.push(b);
        table.dirs_ras.push([1.0, 0.0, 0.0]);
    }
    let error = stremi::check(&table, &StremiOptions::default()).unwrap_err().to_string();
    assert!(error.contains("do not lie in a plane") && error.contains("has 2 such"), "{error}");
}
