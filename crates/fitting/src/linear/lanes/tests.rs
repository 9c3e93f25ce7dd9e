use fimbria_compute::SimdLevel;
use fimbria_compute::philox::{Philox, normals};

use crate::linear::testing::{form_columns, kurtosis_columns, protocol};
use crate::linear::{Column, Design, Floor, LogLinearFit, Outcome, Passes, Problems, Recipe, Rows};

const PASSES: [Passes; 4] = [Passes::OLS, Passes::WLS, Passes::MEASURED_WLS, Passes::IWLS];

/// Half of the volumes that HCP acquires, b in ms/µm².
fn covariates() -> Vec<[f64; 4]> {
    protocol(6, &[(1.0, 30), (2.0, 45), (3.0, 60)])
}

fn fit(columns: &[Column], passes: Passes) -> LogLinearFit {
    let recipe = Recipe { passes, ..Recipe::default() };
    LogLinearFit::new(Design::new(&covariates(), columns).unwrap(), recipe)
}

/// Samples `[sample][n]` of two crossing Gaussian compartments with noise of SNR 25.
fn simulate(n: usize) -> Vec<f32> {
    let covariates = covariates();
    let philox = Philox::new(5);
    let mut samples = vec![0.0; covariates.len() * n];
    for problem in 0..n {
        let normal = |step: u32| normals::<f32>(philox.at(problem as u64, step)).map(f64::from);
        let axes = [normal(0), normal(1)].map(|[x, y, z, _]| {
            let length = (x * x + y * y + z * z).sqrt();
            [x / length, y / length, z / length]
        });
        let [share, s0, ..] = normal(2).map(f64::abs);
        let share = share / (1.0 + share);
        for (i, [b, g @ ..]) in covariates.iter().enumerate() {
            let along = |axis: &[f64; 3]| (0..3).map(|k| axis[k] * g[k]).sum::<f64>().powi(2);
            let compartment = |axis| (-b * (0.4 + 1.2 * along(axis))).exp();
            let signal = share * compartment(&axes[0]) + (1.0 - share) * compartment(&axes[1]);
            let noise = normal(3 + i as u32)[0] / 25.0;
            samples[i * n + problem] = ((300.0 + 200.0 * s0) * (signal + noise)) as f32;
        }
    }
    samples
}

/// The results of problems cut into calls of at most `tile`.
fn run(
    fit: &LogLinearFit,
    simd: SimdLevel,
    samples: &[f32],
    stride: usize,
    tile: usize,
) -> Vec<f32> {
    let mut results = vec![f32::NAN; fit.rows().count() * stride];
    for first in (0..stride).step_by(tile) {
        let n = tile.min(stride - first);
        let cut: Vec<f32> =
            samples.chunks(stride).flat_map(|row| &row[first..first + n]).copied().collect();
        let mut part = vec![f32::NAN; fit.rows().count() * n];
        fit.fit_lanes(simd, Problems { samples: &cut, weights: None, stride: n, n }, &mut part);
        for (row, part) in results.chunks_mut(stride).zip(part.chunks(n)) {
            row[first..first + n].copy_from_slice(part);
        }
    }
    results
}

/// The largest difference from the oracle in any row, coefficients relative to the largest of
/// their problem and amplitudes to themselves.
fn largest_error(fit: &LogLinearFit, samples: &[f32], weights: Option<&[f32]>, n: usize) -> f64 {
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let problems = Problems { samples, weights, stride: n, n };
    for results in [&mut found, &mut expected] {
        results.resize(fit.rows().count() * n, f32::NAN);
    }
    fit.fit_lanes(SimdLevel::best(), problems, &mut found);
    fit.fit_in_f64(problems, &mut expected);
    let rows = fit.rows();
    let mut largest: f64 = 0.0;
    for problem in 0..n {
        let at = |results: &[f32], row: usize| f64::from(results[row * n + problem]);
        let coefficients = (0..fit.design().n_unknowns() - 1).map(|k| rows.coefficient(k));
        let size = coefficients
            .clone()
            .map(|row| at(&expected, row).abs())
            .fold(f64::MIN_POSITIVE, f64::max);
        for row in coefficients {
            let error = (at(&found, row) - at(&expected, row)).abs() / size;
            largest = if error < largest { largest } else { error };
        }
        let a = at(&expected, Rows::AMPLITUDE);
        for row in [Rows::AMPLITUDE, rows.residual()] {
            let error = (at(&found, row) - at(&expected, row)).abs() / a.max(1.0);
            largest = if error < largest { largest } else { error };
        }
        for row in [rows.raised(), rows.outcome()] {
            assert_eq!(at(&found, row), at(&expected, row));
        }
    }
    largest
}

#[test]
fn single_precision_agrees_with_double_to_its_last_digits() {
    // An estimate rounds to 6e-8 of its largest coefficient; the weights it gives to the next pass
    // carry that on, amplified where the design is ill-conditioned (kurtosis).
    for (name, columns, tolerance) in [
        ("tensor", form_columns(2), 5e-7),
        ("kurtosis", kurtosis_columns(), 5e-6),
        ("form of order 4", form_columns(4), 5e-7),
        ("form of order 6", form_columns(6), 1e-6),
        ("form of order 8", form_columns(8), 2e-6),
    ] {
        let samples = simulate(200);
        for passes in PASSES {
            let error = largest_error(&fit(&columns, passes), &samples, None, 200);
            assert!(error < tolerance, "{name}, {passes:?}: {error}");
        }
    }
}

#[test]
fn given_weights_count_as_in_the_oracle() {
    let n = 40;
    let samples = simulate(n);
    // Every fifth sample is out, the others count differently in every problem.
    let weight = |i: usize| if i % 5 == 2 { 0.0 } else { 0.5 + (i % 7) as f32 };
    let weights: Vec<f32> = (0..samples.len()).map(weight).collect();
    for passes in PASSES {
        let error = largest_error(&fit(&form_columns(4), passes), &samples, Some(&weights), n);
        assert!(error < 1e-6, "{passes:?}: {error}");
    }
}

#[test]
fn results_do_not_depend_on_neighbours_or_on_the_width_of_a_register() {
    let n = 101;
    let samples = simulate(n);
    for columns in [form_columns(2), kurtosis_columns()] {
        let fit = fit(&columns, Passes::WLS);
        let bits = |simd, tile| -> Vec<u32> {
            run(&fit, simd, &samples, n, tile).iter().map(|x| x.to_bits()).collect()
        };
        let expected = bits(SimdLevel::best(), n);
        for simd in SimdLevel::available().into_iter().filter(|level| level.fuses()) {
            assert!(bits(simd, n) == expected, "{simd:?}");
            assert!(bits(simd, 17) == expected, "{simd:?}, tiles of 17");
        }
    }
}

#[test]
fn the_level_that_does_not_fuse_is_right_to_rounding() {
    let n = 20;
    let samples = simulate(n);
    let fit = fit(&kurtosis_columns(), Passes::WLS);
    let expected = run(&fit, SimdLevel::best(), &samples, n, n);
    for (value, expected) in run(&fit, SimdLevel::Scalar, &samples, n, n).iter().zip(&expected) {
        // Coefficients are of order 1 and rounded to 5e-6 of the largest, as above.
        assert!((value - expected).abs() < 5e-6 * expected.abs().max(1.0), "{value} {expected}");
    }
}

#[test]
fn samples_that_cannot_be_used_are_treated_as_in_the_oracle() {
    let n = 37;
    let mut samples = simulate(n);
    let mut spoil = |sample: usize, problem: usize, value| samples[sample * n + problem] = value;
    spoil(20, 3, 0.0);
    spoil(90, 3, -7.0);
    spoil(0, 5, f32::NAN);
    spoil(140, 6, f32::INFINITY);
    for sample in 0..141 {
        spoil(sample, 7, 0.0);
        spoil(sample, 36, -1.0);
    }
    let fit = fit(&form_columns(4), Passes::WLS);
    // Outcomes and counts of raised samples are compared too.
    assert!(largest_error(&fit, &samples, None, n) < 1e-6);
    let results = run(&fit, SimdLevel::best(), &samples, n, n);
    let row = |row: usize| &results[row * n..][..n];
    let unusable = samples.iter().skip(3).step_by(n).filter(|&&s| s <= 0.0).count();
    assert_eq!(row(fit.rows().raised())[3], unusable as f32);
    for problem in [5, 6, 7, 36] {
        assert_eq!(row(fit.rows().outcome())[problem], Outcome::BadSignal.code());
        assert_eq!(row(Rows::AMPLITUDE)[problem], 0.0);
    }
}

#[test]
fn what_single_precision_cannot_solve_is_solved_in_double() {
    let n = 8;
    let samples = simulate(n);
    // Sixteen unknowns rest on nine directions, but for a weight of 1e-8 on all others.
    let weight = |i: usize| if i / n < 15 { 1.0 } else { 1e-8 };
    let weights: Vec<f32> = (0..samples.len()).map(weight).collect();
    let fit = fit(&form_columns(4), Passes::OLS);
    // The same code in the end: the bits agree.
    assert_eq!(largest_error(&fit, &samples, Some(&weights), n), 0.0);
}

#[test]
fn every_floor_raises_the_same_samples_as_in_the_oracle() {
    let n = 30;
    let samples = simulate(n);
    for floor in [Floor::SmallestPositive, Floor::Absolute(40.0), Floor::OfLargest(0.1)] {
        let recipe = Recipe { floor, ..Recipe::default() };
        let design = Design::new(&covariates(), &form_columns(2)).unwrap();
        let error = largest_error(&LogLinearFit::new(design, recipe), &samples, None, n);
        assert!(error < 5e-7, "{floor:?}: {error}");
    }
}
