//! The fit as a whole: truth, the oracle, constraints, input that cannot be fitted.

use fimbria_compute::{Backend, Silent, SimdLevel, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_tensors::starts::half_sphere;

use super::form::{quadratic_terms, quartic_terms};
use super::lanes::constrain::LEAST_PREDICTION;
use super::oracle::KurtosisMaps;
use super::oracle::tests::{dot, mixture};
use super::*;
use crate::Fitted;
use crate::ProtocolError;
use fimbria_testing::{Noise, acquisition, tensor};

/// Three shells of 30 directions and 6 unweighted volumes.
fn protocol() -> GradientTable {
    acquisition(6, &[(700.0, 30), (1500.0, 30), (2800.0, 30)])
}

/// Crossings of two random compartments, D in µm²/ms and V in µm⁴/ms², with a third of their
/// kurtosis, so that the signal of the model decays up to b = 3000 s/mm².
fn crossing(noise: &mut Noise) -> ([f64; 6], [f64; 15]) {
    let mut compartment = || {
        let l = [1.0 + 1.2 * noise.uniform(), 0.3 + 0.4 * noise.uniform(), 0.2];
        tensor(l, std::array::from_fn(|_| 6.0 * noise.uniform())).0
    };
    let (a, b) = (compartment(), compartment());
    let (d, v) = mixture(&[(0.5, a), (0.5, b)]);
    (d, v.map(|v| 0.33 * v))
}

/// The model's own signal.
fn signal(table: &GradientTable, volume: usize, s0: f64, d: [f64; 6], v: &[f64; 15]) -> f64 {
    let b = table.b_s_per_mm2[volume] / 1000.0;
    let g = table.dirs_ras[volume];
    s0 * (-b * dot(quadratic_terms(g), &d) + b * b / 6.0 * dot(quartic_terms(g), v)).exp()
}

fn grid(n: usize) -> Grid {
    Grid { dims: [n, 1, 1], ras_from_vox: Affine::IDENTITY }
}

fn everywhere(n: usize) -> Mask {
    Mask { grid: grid(n), voxels: (0..n as u32).collect() }
}

/// A series of the model's signals with Rician noise of standard deviation `sigma`.
fn series(
    table: &GradientTable,
    forms: &[([f64; 6], [f64; 15])],
    sigma: f64,
    noise: &mut Noise,
) -> Image {
    let mut image = Image::zeros(grid(forms.len()), table.len());
    for (voxel, (d, v)) in forms.iter().enumerate() {
        for volume in 0..table.len() {
            let s = noise.rician(signal(table, volume, 900.0, *d, v), sigma);
            image.volume_mut(volume)[voxel] = s as f32;
        }
    }
    image
}

fn run(image: &Image, table: &GradientTable, options: &DkiOptions) -> Fitted {
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    fit(image, &everywhere(image.grid.len()), table, options, &on, &Silent).unwrap()
}

fn value(fitted: &Fitted, map: DkiMap, volume: usize, voxel: usize) -> f64 {
    f64::from(fitted.map(map.name()).unwrap().volume(volume)[voxel])
}

/// Every method, unconstrained, and constrained where nothing is violated.
fn every_method() -> Vec<DkiOptions> {
    let mut all = Vec::new();
    for method in [Method::Ols, Method::Wls, Method::Iwls, Method::Nlls, Method::Restore] {
        for constrained in [false, true] {
            all.push(DkiOptions { method, constrained, ..DkiOptions::default() });
        }
    }
    all
}

#[test]
fn noise_free_signals_are_recovered_by_every_method() {
    let table = protocol();
    let mut noise = Noise(1);
    let forms: Vec<_> = (0..40).map(|_| crossing(&mut noise)).collect();
    let image = series(&table, &forms, 0.0, &mut noise);
    for options in every_method() {
        let fitted = run(&image, &table, &options);
        for (voxel, (d, v)) in forms.iter().enumerate() {
            let truth = KurtosisMaps::new(*d, v);
            for k in 0..6 {
                let found = value(&fitted, DkiMap::Tensor, k, voxel);
                // Samples rounded to f32, times the condition of the design.
                assert!((found * 1e3 - d[k]).abs() < 1e-4, "{:?} D {found}", options.method);
            }
            for k in 0..15 {
                let found = value(&fitted, DkiMap::Kurtosis, k, voxel);
                assert!((found - truth.w[k]).abs() < 1e-4 * 3.0, "{:?} W {k}", options.method);
            }
            for (map, truth) in [
                (DkiMap::Mk, truth.mk),
                (DkiMap::Ak, truth.ak),
                (DkiMap::Rk, truth.rk),
                (DkiMap::Mkt, truth.mkt),
                (DkiMap::Kfa, truth.kfa),
                (DkiMap::Linearity, truth.shares[0]),
                (DkiMap::Planarity, truth.shares[1]),
                (DkiMap::Sphericity, truth.shares[2]),
                (DkiMap::Kmax, truth.kmax),
                (DkiMap::Kmin, truth.kmin),
            ] {
                let found = value(&fitted, map, 0, voxel);
                // Kurtosis along one direction has ten times the error of W there.
                let limit = 1e-3 * truth.abs().max(1.0);
                assert!(
                    (found - truth).abs() < limit,
                    "{:?} {map:?} {found} {truth}",
                    options.method
                );
            }
            assert!((value(&fitted, DkiMap::S0, 0, voxel) - 900.0).abs() < 0.01);
        }
    }
}

#[test]
fn maps_are_those_of_the_oracle_for_the_written_tensors() {
    let table = protocol();
    let mut noise = Noise(2);
    let forms: Vec<_> = (0..200).map(|_| crossing(&mut noise)).collect();
    let image = series(&table, &forms, 30.0, &mut noise);
    let clip = KurtosisRange { low: f32::MIN, high: f32::MAX };
    let fitted = run(&image, &table, &DkiOptions { clip, ..DkiOptions::default() });
    for voxel in 0..forms.len() {
        let d: [f64; 6] = std::array::from_fn(|k| 1e3 * value(&fitted, DkiMap::Tensor, k, voxel));
        let md = (d[0] + d[3] + d[5]) / 3.0;
        let v = std::array::from_fn(|k| md * md * value(&fitted, DkiMap::Kurtosis, k, voxel));
        let truth = KurtosisMaps::new(d, &v);
        for (map, truth) in [
            (DkiMap::Mk, truth.mk),
            (DkiMap::Ak, truth.ak),
            (DkiMap::Rk, truth.rk),
            (DkiMap::Mkt, truth.mkt),
            (DkiMap::Kfa, truth.kfa),
            (DkiMap::Linearity, truth.shares[0]),
            (DkiMap::Planarity, truth.shares[1]),
            (DkiMap::Sphericity, truth.shares[2]),
            (DkiMap::Kmax, truth.kmax),
            (DkiMap::Kmin, truth.kmin),
        ] {
            let found = value(&fitted, map, 0, voxel);
            // Kurtoses of constrained fits begin at 0.
            let truth = if map == DkiMap::Kfa { truth } else { truth.max(0.0) };
            // Rounding of D to f32, squared by the ratio of its eigenvalues. Where constraints hold
            // in many directions K has as many minima of almost the same value, of which the
            // climbs may miss the least.
            let limit = if map == DkiMap::Kmin { 1e-2 } else { 1e-4 * truth.abs().max(1.0) };
            assert!((found - truth).abs() < limit, "{map:?} {found} {truth}");
        }
    }
}

#[test]
fn constrained_estimates_violate_nothing_and_leave_no_voxel_black() {
    let table = protocol();
    let mut noise = Noise(3);
    let forms: Vec<_> = (0..400).map(|_| crossing(&mut noise)).collect();
    // SNR 9: most voxels violate a constraint in some direction.
    let image = series(&table, &forms, 100.0, &mut noise);
    for method in [Method::Ols, Method::Wls, Method::Iwls, Method::Nlls, Method::Restore] {
        let fitted = run(&image, &table, &DkiOptions { method, ..DkiOptions::default() });
        let free = DkiOptions { method, constrained: false, ..DkiOptions::default() };
        let free = run(&image, &table, &free);
        assert!(fitted.status.count(Status::Constrained) > 200, "{:?}", fitted.status);
        let mut black = 0;
        for voxel in 0..forms.len() {
            let d: [f64; 6] =
                std::array::from_fn(|k| 1e3 * value(&fitted, DkiMap::Tensor, k, voxel));
            let md = (d[0] + d[3] + d[5]) / 3.0;
            let v: [f64; 15] =
                std::array::from_fn(|k| md * md * value(&fitted, DkiMap::Kurtosis, k, voxel));
            for g in half_sphere(constraints::N_DIRECTIONS) {
                let (along, kurtosis) = (dot(quadratic_terms(g), &d), dot(quartic_terms(g), &v));
                // Raised eigenvalues move D by up to 1e-3 in directions between those of the set.
                assert!(kurtosis > -1e-6, "{method:?} V = {kurtosis}");
                assert!(along > 0.0 && along - 2.8 / 3.0 * kurtosis > -1e-6, "{method:?} {along}");
            }
            let mk = value(&fitted, DkiMap::Mk, 0, voxel);
            assert!(mk.is_finite() && mk > 0.0, "{mk}");
            let status = value(&fitted, DkiMap::Status, 0, voxel);
            if status == f64::from(Status::Fitted.code()) {
                for k in 0..15 {
                    let (a, b) = (DkiMap::Kurtosis, voxel);
                    assert_eq!(value(&fitted, a, k, b), value(&free, a, k, b));
                }
            }
            let free_mk = value(&free, DkiMap::Mk, 0, voxel);
            black += usize::from(free_mk.is_nan() || free_mk <= 0.0);
        }
        // What the constraints are for.
        assert!(black > 0, "{method:?}");
    }
}

#[test]
fn a_signal_that_is_lost_in_noise_is_constrained_too() {
    // Free water at b = 6000: most volumes are noise, and predictions explode.
    let table = acquisition(6, &[(750.0, 3), (1500.0, 6), (2250.0, 9), (3000.0, 12)]);
    let mut noise = Noise(11);
    let water = ([3.5, 0.0, 0.0, 3.5, 0.0, 3.5], [0.0; 15]);
    let image = series(&table, &[water; 3000], 25.0, &mut noise);
    let fitted = run(&image, &table, &DkiOptions::default());
    assert_eq!(fitted.status.count(Status::NotConverged), 0, "{:?}", fitted.status);
    for voxel in 0..3000 {
        let d: [f64; 6] = std::array::from_fn(|k| 1e3 * value(&fitted, DkiMap::Tensor, k, voxel));
        let md = (d[0] + d[3] + d[5]) / 3.0;
        let v: [f64; 15] =
            std::array::from_fn(|k| md * md * value(&fitted, DkiMap::Kurtosis, k, voxel));
        let size: f64 = d.iter().chain(&v).map(|x| x.abs()).sum();
        for g in half_sphere(constraints::N_DIRECTIONS) {
            let (along, kurtosis) = (dot(quadratic_terms(g), &d), dot(quartic_terms(g), &v));
            // Rounding of D, V and W to f32.
            assert!(kurtosis > -1e-6 * size, "V = {kurtosis} of {size}");
            assert!(along - kurtosis > -1e-6 * size, "{along} {kurtosis} of {size}");
        }
    }
}

#[test]
fn a_signal_that_does_not_decay_has_no_kurtosis() {
    let table = protocol();
    let mut noise = Noise(13);
    // Constant, with and without noise, and rising.
    let still = ([0.0; 6], [0.0; 15]);
    let rising = ([-0.1, 0.0, 0.0, -0.1, 0.0, -0.1], [0.0; 15]);
    for (forms, sigma) in [(still, 0.0), (still, 5.0), (rising, 0.0), (rising, 5.0)] {
        let image = series(&table, &[forms; 20], sigma, &mut noise);
        let fitted = run(&image, &table, &DkiOptions::default());
        for voxel in 0..20 {
            let status = Status::from_code(value(&fitted, DkiMap::Status, 0, voxel) as f32);
            let is_nothing = |x: f64| match status {
                Status::Undefined => x.is_nan(),
                Status::Singular => x == 0.0,
                _ => false,
            };
            for map in [DkiMap::Mk, DkiMap::Rk, DkiMap::Mkt, DkiMap::Kmax] {
                let found = value(&fitted, map, 0, voxel);
                assert!(is_nothing(found), "{map:?} {found}, {status:?}");
            }
        }
    }
}

#[test]
fn samples_that_are_not_positive_leave_a_mark() {
    let table = protocol();
    let mut noise = Noise(12);
    let forms = [crossing(&mut noise); 3];
    let mut image = series(&table, &forms, 0.0, &mut noise);
    image.volume_mut(40)[0] = 0.0;
    // 76 of 96: 20 samples cannot determine 22 unknowns.
    (6..82).for_each(|volume| image.volume_mut(volume)[1] = -1.0);
    let fitted = run(&image, &table, &DkiOptions::default());
    let status = |voxel: usize| Status::from_code(value(&fitted, DkiMap::Status, 0, voxel) as f32);
    assert_eq!([0, 1, 2].map(status), [Status::NotPositive, Status::Singular, Status::Fitted]);
    assert_eq!(value(&fitted, DkiMap::Mk, 0, 1), 0.0);
    assert!(value(&fitted, DkiMap::Mk, 0, 0) > 0.0);
}

/// Largest b of [`protocol`], ms/µm².
const B_MAX: f64 = 2.8;

/// ½ (x - p)ᵀXᵀWX(x - p) with the weights that p predicts as far as its kurtosis is admissible,
/// ln S0 eliminated by its own minimum.
fn distance(table: &GradientTable, p: &[f64; 21], x: &[f64; 21]) -> f64 {
    let (d, v): ([f64; 6], [f64; 15]) =
        (std::array::from_fn(|k| p[k]), std::array::from_fn(|k| p[6 + k]));
    let rows: Vec<(f64, f64)> = (0..table.len())
        .map(|volume| {
            let b = table.b_s_per_mm2[volume] / 1000.0;
            let g = table.dirs_ras[volume];
            let (q, t) = (quadratic_terms(g), quartic_terms(g));
            let along = dot(q, &d);
            let kurtosis = dot(t, &v).clamp(0.0, (3.0 * along / B_MAX).max(0.0));
            let predicted = (-b * along + b * b * kurtosis / 6.0).exp();
            let w = predicted.clamp(f64::from(LEAST_PREDICTION), 1.0).powi(2);
            let row: [f64; 21] =
                std::array::from_fn(|k| if k < 6 { -b * q[k] } else { b * b / 6.0 * t[k - 6] });
            (w, (0..21).map(|k| row[k] * (x[k] - p[k])).sum())
        })
        .collect();
    let total: f64 = rows.iter().map(|(w, _)| w).sum();
    let mean = rows.iter().map(|(w, r)| w * r).sum::<f64>() / total;
    rows.iter().map(|(w, r)| 0.5 * w * (r - mean).powi(2)).sum()
}

#[test]
fn the_constrained_estimate_is_the_closest_admissible_one() {
    let table = protocol();
    let mut noise = Noise(4);
    let forms: Vec<_> = (0..60).map(|_| crossing(&mut noise)).collect();
    let image = series(&table, &forms, 90.0, &mut noise);
    let problem = Problem::new(&table, &DkiOptions::default(), &Silent).unwrap();
    let free = DkiOptions { constrained: false, ..DkiOptions::default() };
    let free = Problem::new(&table, &free, &Silent).unwrap();
    let n = forms.len();
    let constrained = problem.parameters(&image.data, n, n, SimdLevel::best());
    let estimate = free.parameters(&image.data, n, n, SimdLevel::best());
    let of = |rows: &[f32], voxel: usize| -> [f64; 21] {
        std::array::from_fn(|k| f64::from(rows[(1 + k) * n + voxel]))
    };
    let mut moved = 0;
    for voxel in 0..n {
        let (p, x) = (of(&estimate, voxel), of(&constrained, voxel));
        let to_x = distance(&table, &p, &x);
        if to_x == 0.0 {
            continue;
        }
        moved += 1;
        // A convex set and distance: no admissible point is closer, so that none of those
        // between x and the (admissible) estimates of other voxels is.
        for other in 0..n {
            let towards = of(&constrained, other);
            for share in [1e-3, 0.05] {
                let between = std::array::from_fn(|k| x[k] + share * (towards[k] - x[k]));
                let found = distance(&table, &p, &between);
                // f32 rounding of x, and of H to first order in the distance.
                assert!(found > to_x * (1.0 - 1e-4) - 1e-9, "{found} {to_x}");
            }
        }
    }
    assert!(moved > 30);
}

#[test]
fn results_do_not_depend_on_the_number_of_lanes() {
    let table = protocol();
    let mut noise = Noise(6);
    let forms: Vec<_> = (0..37).map(|_| crossing(&mut noise)).collect();
    let image = series(&table, &forms, 60.0, &mut noise);
    let fit_at = |simd: SimdLevel| {
        let workers = Workers::new(1).unwrap().with_simd(simd);
        let on = Backend::cpu(&workers);
        let mask = everywhere(forms.len());
        let fitted = fit(&image, &mask, &table, &DkiOptions::default(), &on, &Silent).unwrap();
        let maps = fitted.maps.into_iter();
        maps.flat_map(|map| map.image.data).map(f32::to_bits).collect::<Vec<_>>()
    };
    let fusing: Vec<_> =
        SimdLevel::available().into_iter().filter(|simd| simd.fuses()).map(fit_at).collect();
    for other in fusing.iter().skip(1) {
        assert!(*other == fusing[0]);
    }
}

#[test]
fn undefined_kurtosis_is_not_a_number() {
    let table = protocol();
    // Signals that grow with b along x.
    let d = [-0.3, 0.0, 0.0, 1.0, 0.0, 1.0];
    let mut noise = Noise(7);
    let image = series(&table, &[(d, [0.0; 15])], 0.0, &mut noise);
    let options = DkiOptions { constrained: false, ..DkiOptions::default() };
    let fitted = run(&image, &table, &options);
    for map in [DkiMap::Mk, DkiMap::Ak, DkiMap::Rk, DkiMap::Kmax, DkiMap::Kmin] {
        assert!(value(&fitted, map, 0, 0).is_nan(), "{map:?}");
    }
    assert_eq!(fitted.status.count(Status::Undefined), 1);
    // The mean diffusivity is positive.
    assert!(value(&fitted, DkiMap::Mkt, 0, 0).abs() < 1e-3);
    // Constrained, everything is defined.
    let fitted = run(&image, &table, &DkiOptions::default());
    for map in DkiMap::ALL {
        assert!(value(&fitted, map, 0, 0).is_finite(), "{map:?}");
    }
    assert_eq!(fitted.status.count(Status::Constrained), 1);
}

#[test]
fn voxels_without_a_signal_are_flagged_and_zero() {
    let table = protocol();
    let mut noise = Noise(8);
    let forms: Vec<_> = (0..3).map(|_| crossing(&mut noise)).collect();
    let mut image = series(&table, &forms, 0.0, &mut noise);
    for volume in 0..table.len() {
        image.volume_mut(volume)[0] = 0.0;
    }
    image.volume_mut(5)[1] = f32::NAN;
    let fitted = run(&image, &table, &DkiOptions::default());
    for voxel in [0, 1] {
        for map in DkiMap::ALL {
            let expected =
                if map == DkiMap::Status { f64::from(Status::BadSignal.code()) } else { 0.0 };
            assert_eq!(value(&fitted, map, 0, voxel), expected, "{map:?}");
        }
    }
    assert_eq!(value(&fitted, DkiMap::Status, 0, 2), 1.0);
}

fn refused(table: &GradientTable, options: &DkiOptions) -> DkiError {
    Problem::new(table, options, &Silent).unwrap_err()
}

#[test]
fn protocols_that_cannot_support_kurtosis_are_refused() {
    let options = DkiOptions::default();
    let error = refused(&acquisition(6, &[(1000.0, 60)]), &options);
    assert!(matches!(error, DkiError::Shells { .. }), "{error}");
    assert!(error.to_string().ends_with("there are 1: 1000"), "{error}");
    // The second shell is beyond the largest b.
    let error = refused(&acquisition(6, &[(1000.0, 60), (4000.0, 60)]), &options);
    assert!(matches!(error, DkiError::Shells { .. }), "{error}");
    let error = refused(&acquisition(6, &[(1000.0, 14), (2000.0, 14)]), &options);
    assert!(matches!(error, DkiError::Directions { directions: 14, .. }), "{error}");
    // Fifteen directions in a plane and one shell of six elsewhere do not make 15 unknowns.
    let mut flat = acquisition(6, &[(1000.0, 16), (2000.0, 16)]);
    for (i, g) in flat.dirs_ras.iter_mut().enumerate().skip(6) {
        let (s, c) = (0.2 * i as f64).sin_cos();
        *g = [c, s, 0.0];
    }
    assert!(matches!(refused(&flat, &options), DkiError::Design(_)));
    let mut bad = protocol();
    bad.b_s_per_mm2[9] = f64::NAN;
    assert!(matches!(
        refused(&bad, &options),
        DkiError::Protocol(ProtocolError::Gradient { volume: 9, .. })
    ));
    let error = refused(&protocol(), &DkiOptions { b_max_s_per_mm2: 0.0, ..options });
    assert!(matches!(error, DkiError::LargestB(_)), "{error}");
}

#[test]
fn volumes_above_the_largest_b_do_not_matter() {
    let table = acquisition(6, &[(700.0, 30), (1500.0, 30), (3090.0, 30), (6000.0, 20)]);
    let mut noise = Noise(9);
    let forms = [crossing(&mut noise)];
    let mut image = series(&table, &forms, 0.0, &mut noise);
    for volume in 96..table.len() {
        image.volume_mut(volume)[0] = 1e6;
    }
    let fitted = run(&image, &table, &DkiOptions::default());
    let truth = KurtosisMaps::new(forms[0].0, &forms[0].1);
    let mk = value(&fitted, DkiMap::Mk, 0, 0);
    assert!((mk - truth.mk).abs() < 1e-3, "{mk} {truth:?}");
    let problem = Problem::new(&table, &DkiOptions::default(), &Silent).unwrap();
    assert_eq!(problem.volumes().len(), 96);
}

#[test]
fn a_table_of_another_length_is_refused() {
    let table = protocol();
    let image = Image::zeros(grid(1), 7);
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    let options = DkiOptions::default();
    let found = fit(&image, &everywhere(1), &table, &options, &on, &Silent);
    assert!(matches!(
        found,
        Err(DkiError::Protocol(ProtocolError::VolumeCount { series: 7, table: 96 }))
    ));
}

#[test]
fn samples_that_were_lost_do_not_pull_a_robust_fit() {
    let table = protocol();
    let mut noise = Noise(9);
    let forms: Vec<_> = (0..200).map(|_| crossing(&mut noise)).collect();
    let mut image = series(&table, &forms, 900.0 / 40.0, &mut noise);
    // Three weighted volumes in a hundred, others in each voxel, have a tenth of their signal left.
    for voxel in 0..forms.len() {
        for volume in (6..table.len()).filter(|volume| (volume * 7 + voxel * 13) % 100 < 3) {
            image.volume_mut(volume)[voxel] *= 0.1;
        }
    }
    let off = |method: Method| {
        let fitted = run(&image, &table, &DkiOptions { method, ..DkiOptions::default() });
        let excess = |voxel: usize| {
            let (d, _) = forms[voxel];
            let md = (d[0] + d[3] + d[5]) / 3.0;
            1e3 * value(&fitted, DkiMap::Md, 0, voxel) / md - 1.0
        };
        (0..forms.len()).map(excess).sum::<f64>() / forms.len() as f64
    };
    let (plain, robust) = (off(Method::Wls), off(Method::Restore));
    // What noise and constraints do to MD is in both.
    assert!(plain > 0.15 && robust.abs() < 0.25 * plain, "{plain} {robust}");
}
