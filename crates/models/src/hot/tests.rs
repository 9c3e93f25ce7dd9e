use fimbria_compute::dense::vector::dot;
use fimbria_compute::{Backend, Silent, SimdLevel, Workers};
use fimbria_fitting::linear::{LogLinearFit, Problems, Recipe, Rows};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, Status};
use fimbria_tensors::starts::half_sphere;

use super::design::design;
use super::form::Form;
use super::measures::measures;
use super::positivity::DIRECTIONS;
use super::{HotError, HotMethod, HotOptions, HotOrder, fit, maps};
use crate::Fitted;
use crate::ProtocolError;
use crate::dti::{self, DtiMap, DtiOptions};
use fimbria_testing::{Noise, acquisition, signals, tensor};

const ORDERS: [HotOrder; 3] = [HotOrder::Four, HotOrder::Six, HotOrder::Eight];
const METHODS: [HotMethod; 3] = [HotMethod::Ols, HotMethod::Wls, HotMethod::Iwls];

fn table() -> GradientTable {
    acquisition(5, &[(700.0, 30), (1500.0, 64)])
}

/// A series of `n` voxels in a row: what `signal` says of (voxel, b in s/mm², direction).
fn series(
    table: &GradientTable,
    n: usize,
    mut signal: impl FnMut(usize, f64, [f64; 3]) -> f64,
) -> (Image, Mask) {
    let grid = Grid { dims: [n, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    for voxel in 0..n {
        for (v, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            image.volume_mut(v)[voxel] = signal(voxel, b, g) as f32;
        }
    }
    (image, Mask { grid, voxels: (0..n as u32).collect() })
}

fn run(image: &Image, mask: &Mask, options: &HotOptions, threads: usize) -> Fitted {
    let workers = Workers::new(threads).unwrap();
    fit(image, mask, &table(), options, &Backend::cpu(&workers), &Silent).unwrap()
}

fn values(fitted: &Fitted, map: &str, voxel: usize) -> Vec<f64> {
    let image = fitted.map(map).unwrap();
    (0..image.n_volumes).map(|v| f64::from(image.volume(v)[voxel])).collect()
}

/// Entries in µm²/ms of two crossing fibres' mean profile and something of no symmetry.
fn entries(form: &Form, voxel: usize) -> Vec<f64> {
    let wave = |k: usize| 0.05 * ((3 * k + 7 * voxel) as f64).sin();
    form.unit().iter().enumerate().map(|(k, u)| 0.8 * u + wave(k)).collect()
}

/// Two fibres of equal share that cross at random, with Rician noise.
fn crossings(n: usize, sigma: f64) -> (Image, Mask) {
    let mut noise = Noise(4);
    let axes: Vec<[[f64; 3]; 2]> = (0..n)
        .map(|_| {
            std::array::from_fn(|_| {
                tensor([1.0, 0.0, 0.0], std::array::from_fn(|_| 7.0 * noise.uniform())).1[0]
            })
        })
        .collect();
    series(&table(), n, |voxel, b, g| {
        let along = |axis: &[f64; 3]| dot(axis, &g).powi(2);
        let of = |axis| (-b * (2e-4 + 1.6e-3 * along(axis))).exp();
        noise.rician(500.0 * (of(&axes[voxel][0]) + of(&axes[voxel][1])), sigma)
    })
}

#[test]
fn known_forms_are_recovered_to_the_rounding_of_the_samples() {
    for order in ORDERS {
        let form = Form::new(order.get());
        let n = 20;
        let (image, mask) = series(&table(), n, |voxel, b, g| {
            800.0 * (-b / 1000.0 * dot(&form.row(g), &entries(&form, voxel))).exp()
        });
        for method in METHODS {
            let fitted = run(&image, &mask, &HotOptions { order, method, positive: false }, 1);
            assert_eq!(fitted.status.count(Status::Fitted), n as u64);
            for voxel in 0..n {
                for (found, truth) in
                    values(&fitted, "hot", voxel).iter().zip(entries(&form, voxel))
                {
                    // A sample is rounded to 6e-8; the entries' condition number is below 100.
                    assert!((found * 1e3 - truth).abs() < 3e-6, "{order:?} {method:?} {voxel}");
                }
                assert!((values(&fitted, "S0", voxel)[0] / 800.0 - 1.0).abs() < 1e-6);
                assert!(values(&fitted, "residual", voxel)[0] < 1e-3);
            }
        }
    }
}

#[test]
fn measures_of_the_maps_are_those_of_their_entries() {
    let (image, mask) = crossings(50, 20.0);
    for order in ORDERS {
        let form = Form::new(order.get());
        let fitted = run(&image, &mask, &HotOptions { order, ..HotOptions::default() }, 1);
        for voxel in 0..50 {
            let entries: Vec<f64> = values(&fitted, "hot", voxel).iter().map(|x| x * 1e3).collect();
            let [mean, variance, ga] = measures(&form, &entries);
            let found = ["MD", "variance", "GA"].map(|map| values(&fitted, map, voxel)[0]);
            // f32, and entries that are rounded once more in the map.
            assert!((found[0] * 1e3 - mean).abs() < 1e-6, "{found:?} {mean}");
            assert!((found[1] - variance).abs() < 1e-6, "{found:?} {variance}");
            assert!((found[2] - ga).abs() < 1e-5, "{found:?} {ga}");
        }
    }
}

#[test]
fn the_form_of_order_two_is_the_diffusion_tensor() {
    let (image, mask) = crossings(100, 25.0);
    let table = table();
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    let expected =
        dti::fit(&image, &mask, &table, None, &DtiOptions::default(), &on, &Silent).unwrap();
    let linear = LogLinearFit::new(design(&table, &Form::new(2)).unwrap(), Recipe::default());
    let mut results = vec![0.0; linear.rows().count() * 100];
    let problems = Problems { samples: &image.data, weights: None, stride: 100, n: 100 };
    linear.fit_lanes(SimdLevel::best(), problems, &mut results);
    for voxel in 0..100 {
        for k in 0..6 {
            let found = f64::from(results[linear.rows().coefficient(k) * 100 + voxel]);
            let tensor = f64::from(expected.map(DtiMap::Tensor).unwrap().volume(k)[voxel]) * 1e3;
            // Both are within 5e-7 of f64.
            assert!((found - tensor).abs() < 1e-6, "{voxel} {k}: {found} {tensor}");
        }
        let s0 = f64::from(expected.map(DtiMap::S0).unwrap().data[voxel]);
        let found = f64::from(results[Rows::AMPLITUDE * 100 + voxel]);
        assert!((found / s0 - 1.0).abs() < 1e-6);
    }
}

#[test]
fn maps_do_not_depend_on_the_number_of_threads() {
    // Several tiles and blocks.
    let (image, mask) = crossings(5000, 60.0);
    let options = HotOptions { positive: true, ..HotOptions::default() };
    let bits = |fitted: Fitted| -> Vec<u32> {
        fitted.maps.iter().flat_map(|map| map.image.data.iter().map(|x| x.to_bits())).collect()
    };
    assert!(bits(run(&image, &mask, &options, 1)) == bits(run(&image, &mask, &options, 2)));
}

#[test]
fn a_positive_fit_leaves_no_negative_diffusivity_and_touches_no_other_voxel() {
    let n = 300;
    let (image, mask) = crossings(n, 250.0);
    for order in ORDERS {
        let form = Form::new(order.get());
        let options = HotOptions { order, ..HotOptions::default() };
        let free = run(&image, &mask, &options, 1);
        let positive = run(&image, &mask, &HotOptions { positive: true, ..options }, 1);
        let least = |fitted: &Fitted, voxel: usize| {
            let entries = values(fitted, "hot", voxel);
            let diffusivities =
                half_sphere(DIRECTIONS).into_iter().map(|g| dot(&form.row(g), &entries));
            diffusivities.fold(f64::INFINITY, f64::min)
        };
        let mut repaired = 0;
        for voxel in 0..n {
            let status = values(&positive, "status", voxel)[0] as f32;
            if least(&free, voxel) >= 1.1e-8 {
                assert_eq!(status, Status::Fitted.code());
                assert_eq!(values(&free, "hot", voxel), values(&positive, "hot", voxel));
            } else {
                repaired += u64::from(status == Status::Constrained.code());
                assert!(status == Status::Constrained.code() || least(&free, voxel) > 0.9e-8);
            }
            assert!(least(&positive, voxel) >= 0.0, "{voxel}: {}", least(&positive, voxel));
        }
        // Noise of SNR 4 makes forms of every order negative somewhere.
        assert!(repaired > 0, "{order:?}: {repaired}");
        assert_eq!(repaired, positive.status.count(Status::Constrained));
    }
}

#[test]
fn voxels_without_a_usable_signal_are_marked_and_zero() {
    let (mut image, mask) = crossings(40, 10.0);
    image.volume_mut(3)[7] = f32::NAN;
    for v in 0..image.n_volumes {
        image.volume_mut(v)[8] = 0.0;
    }
    image.volume_mut(60)[9] = 0.0;
    let fitted = run(&image, &mask, &HotOptions { positive: true, ..HotOptions::default() }, 1);
    for voxel in [7, 8] {
        assert_eq!(values(&fitted, "status", voxel)[0] as f32, Status::BadSignal.code());
        for map in ["hot", "MD", "GA", "variance", "S0", "residual"] {
            assert!(values(&fitted, map, voxel).iter().all(|&x| x == 0.0), "{map}");
        }
    }
    assert_eq!(values(&fitted, "status", 9)[0] as f32, Status::NotPositive.code());
    assert_eq!((fitted.raised.samples, fitted.raised.voxels), (1, 1));
}

#[test]
fn acquisitions_that_do_not_determine_the_order_are_refused_with_the_reason() {
    let refused = |table: &GradientTable, order| {
        let (image, mask) = series(table, 2, |_, _, _| 1.0);
        let workers = Workers::new(1).unwrap();
        let options = HotOptions { order, ..HotOptions::default() };
        fit(&image, &mask, table, &options, &Backend::cpu(&workers), &Silent).unwrap_err()
    };
    let error = refused(&acquisition(2, &[(1000.0, 30)]), HotOrder::Eight);
    assert!(
        matches!(error, HotError::RankDeficient { order: 8, directions: 30, rank: 31, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("45 well-spread directions"), "{error}");
    // One shell alone does not tell ln S0 from the isotropic part of D.
    let error = refused(&acquisition(0, &[(1000.0, 40)]), HotOrder::Four);
    assert!(matches!(error, HotError::RankDeficient { rank: 15, unknowns: 16, .. }), "{error}");
    let mut table = acquisition(1, &[(1000.0, 20)]);
    table.b_s_per_mm2[4] = f64::NAN;
    let error = refused(&table, HotOrder::Four);
    assert!(
        matches!(error, HotError::Protocol(ProtocolError::Gradient { volume: 4, .. })),
        "{error}"
    );
    let (image, mask) = crossings(2, 1.0);
    let workers = Workers::new(1).unwrap();
    let (on, options) = (Backend::cpu(&workers), HotOptions::default());
    let error = fit(&image, &mask, &acquisition(1, &[(1000.0, 20)]), &options, &on, &Silent);
    assert!(matches!(
        error,
        Err(HotError::Protocol(ProtocolError::VolumeCount { series: 99, table: 21 }))
    ));
}

#[test]
fn the_maps_that_are_announced_are_those_that_are_made() {
    let (image, mask) = crossings(3, 1.0);
    for order in ORDERS {
        let options = HotOptions { order, ..HotOptions::default() };
        let made = run(&image, &mask, &options, 1).maps;
        let specs: Vec<_> = made.into_iter().map(|map| map.spec).collect();
        assert_eq!(specs, maps(&options));
        assert_eq!(specs[0].n_volumes, order.n_entries());
    }
}

/// The directions in the plane of the first two axes (degrees, 0 to 180) at which the diffusivity
/// of two equal fibres in that plane, `angle` degrees apart about 0, is largest.
fn maxima_in_the_plane(b_s_per_mm2: f64, angle: f64) -> Vec<f64> {
    let half = angle.to_radians() / 2.0;
    let mut table = acquisition(0, &[]);
    let steps = 3600;
    for i in 0..steps {
        let (s, c) = (std::f64::consts::PI * f64::from(i) / f64::from(steps)).sin_cos();
        table.b_s_per_mm2.push(b_s_per_mm2);
        table.dirs_ras.push([c, s, 0.0]);
    }
    let in_plane = |sign: f64| {
        let axis = [half.cos(), sign * half.sin(), 0.0];
        let entry =
            |i: usize, j: usize| 3e-4 * f64::from(u8::from(i == j)) + 1.4e-3 * axis[i] * axis[j];
        [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]
    };
    let (left, right) = (signals(&table, 0.5, in_plane(1.0)), signals(&table, 0.5, in_plane(-1.0)));
    let d: Vec<f64> = left.iter().zip(&right).map(|(a, b)| -(a + b).ln() / b_s_per_mm2).collect();
    let n = d.len();
    (0..n)
        .filter(|&i| d[i] > d[(i + n - 1) % n] && d[i] >= d[(i + 1) % n])
        .map(|i| 180.0 * i as f64 / n as f64)
        .collect()
}

#[test]
fn maxima_of_the_diffusivity_are_not_the_fibres() {
    for b in [1000.0, 2000.0, 3000.0] {
        // Fibres at 45° and 135°: both maxima lie as far from them as can be.
        assert_eq!(maxima_in_the_plane(b, 90.0), [0.0, 90.0]);
        // Fibres at 30° and 150°: the bisector of the acute angle.
        assert_eq!(maxima_in_the_plane(b, 60.0)[0], 0.0);
    }
}
