//! Peaks of forms whose maxima are known.

use crate::forms::{angle, frame, image_of, normal_directions, powers};
use fimbria_compute::{Backend, Silent, SimdLevel, Workers};
use fimbria_image::{Image, Mask};
use fimbria_tensors::peaks::{
    ORDERS, PeakOptions, PeakStatus, Peaks, PeaksError, find_peaks, find_peaks_sh,
};
use fimbria_tensors::sh::{ShBasis, ShToForm};

fn find(forms: &[Vec<f64>], order: usize, options: &PeakOptions) -> Peaks {
    let image = image_of(forms);
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    find_peaks(&image, &Mask::full(image.grid), order, options, &on, &Silent).unwrap()
}

/// The peaks of one voxel.
fn peaks_of(found: &Peaks, voxel: usize) -> Vec<[f64; 3]> {
    let at = |v: usize| f64::from(found.peaks.volume(v)[voxel]);
    let all = (0..found.values.n_volumes).map(|p| [at(3 * p), at(3 * p + 1), at(3 * p + 2)]);
    all.take_while(|peak| !peak[0].is_nan()).collect()
}

#[test]
fn a_single_fibre_is_its_own_direction() {
    let directions = normal_directions(1, 500);
    for order in ORDERS {
        let forms: Vec<_> = directions.iter().map(|&u| powers(order, &[(0.7, u)])).collect();
        let found = find(&forms, order, &PeakOptions::default());
        for (voxel, u) in directions.iter().enumerate() {
            let peaks = peaks_of(&found, voxel);
            assert_eq!(peaks.len(), 1, "order {order}, {u:?}");
            // Rounding of a gradient of size m to a few ε, over a curvature of m.
            assert!(angle(&peaks[0], u) < 2e-6, "order {order}: {}", angle(&peaks[0], u));
            let value = f64::from(found.values.data[voxel]);
            assert!((value - 0.7).abs() < 1e-6, "{value}");
            assert_eq!(found.status.data[voxel], PeakStatus::Found.code());
        }
    }
}

#[test]
fn orthogonal_fibres_are_found_by_value() {
    // With orthogonal axes each is a maximum whatever the others weigh.
    let axes = normal_directions(2, 300);
    let frames: Vec<[[f64; 3]; 3]> = axes.chunks(2).map(|p| frame(p[0], p[1])).collect();
    for order in ORDERS {
        let forms: Vec<_> = frames
            .iter()
            .map(|[u, v, w]| powers(order, &[(0.5, *v), (1.0, *u), (0.3, *w)]))
            .collect();
        let found = find(&forms, order, &PeakOptions::default());
        for (voxel, frame) in frames.iter().enumerate() {
            let peaks = peaks_of(&found, voxel);
            assert_eq!(peaks.len(), 3, "order {order}, voxel {voxel}");
            for (peak, u) in peaks.iter().zip(frame) {
                // As above, with the rounding of the larger fibres against the smallest's curve.
                assert!(angle(peak, u) < 5e-6, "order {order}: {}", angle(peak, u));
            }
        }
    }
}

#[test]
fn of_two_maxima_within_the_separation_the_larger_is_kept() {
    let (sine, cosine) = 60.0_f64.to_radians().sin_cos();
    let (a, b) = ([1.0, 0.0, 0.0], [cosine, sine, 0.0]);
    let forms = vec![powers(8, &[(1.0, a), (0.9, b)])];
    let apart = PeakOptions { min_separation_deg: 45.0, ..PeakOptions::default() };
    assert_eq!(peaks_of(&find(&forms, 8, &apart), 0).len(), 2);
    let near = PeakOptions { min_separation_deg: 70.0, ..PeakOptions::default() };
    let found = find(&forms, 8, &near);
    let peaks = peaks_of(&found, 0);
    assert_eq!(peaks.len(), 1);
    assert!(angle(&peaks[0], &a) < 0.1);
    assert_eq!(found.status.data[0], PeakStatus::Found.code());
}

#[test]
fn thresholds_drop_small_maxima() {
    let forms = vec![powers(6, &[(1.0, [1.0, 0.0, 0.0]), (0.2, [0.0, 1.0, 0.0])])];
    let count = |options| peaks_of(&find(&forms, 6, &options), 0).len();
    let defaults = PeakOptions::default();
    assert_eq!(count(defaults), 2);
    assert_eq!(count(PeakOptions { relative_threshold: 0.21, ..defaults }), 1);
    assert_eq!(count(PeakOptions { absolute_threshold: 0.19, ..defaults }), 2);
    assert_eq!(count(PeakOptions { absolute_threshold: 0.21, ..defaults }), 1);
    assert_eq!(count(PeakOptions { absolute_threshold: 1.5, ..defaults }), 0);
    assert_eq!(count(PeakOptions { n_peaks: 1, ..defaults }), 1);
}

/// l (x² + y² + z²)²
fn isotropic(l: f64) -> Vec<f64> {
    let mut a = vec![0.0; 15];
    for square in [0, 10, 14] {
        a[square] = l;
    }
    for mixed in [3, 5, 12] {
        a[mixed] = l / 3.0;
    }
    a
}

#[test]
fn forms_without_a_maximum_say_why() {
    use PeakStatus::{BadForm, Below, Flat, Found, Uncertain};
    let mut nan = powers(4, &[(1.0, [1.0, 0.0, 0.0])]);
    nan[7] = f64::NAN;
    let mut infinite = nan.clone();
    infinite[7] = f64::INFINITY;
    let fibre = powers(4, &[(0.2, [1.0, 0.0, 0.0])]);
    let negative: Vec<f64> = fibre.iter().zip(isotropic(-1.0)).map(|(a, b)| a + b).collect();
    // (x² + y²)²: a circle of equal maxima.
    let mut plateau = vec![0.0; 15];
    (plateau[0], plateau[3], plateau[10]) = (1.0, 1.0 / 3.0, 1.0);
    let cases = [
        (vec![0.0; 15], Flat),
        (nan, BadForm),
        (infinite, BadForm),
        (isotropic(1.0), Flat),
        (isotropic(1e-3), Flat),
        (negative.clone(), Below),
        (plateau, Uncertain),
    ];
    let (forms, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let found = find(&forms, 4, &PeakOptions::default());
    for (voxel, expected) in expected.into_iter().enumerate() {
        assert_eq!(found.status.data[voxel], expected.code(), "voxel {voxel}");
        assert!(peaks_of(&found, voxel).is_empty(), "voxel {voxel}");
        assert_eq!(found.count.data[voxel], 0.0);
    }
    // Without a threshold the largest value of a negative form is a maximum like any other.
    let all = PeakOptions { absolute_threshold: f64::NEG_INFINITY, ..PeakOptions::default() };
    let found = find(&[negative], 4, &all);
    assert_eq!(found.counts.count(Found), 1);
    assert!((found.values.data[0] + 0.8).abs() < 1e-6, "{}", found.values.data[0]);
}

#[test]
fn the_scale_of_a_form_does_not_matter() {
    let fates = |scale: f64| -> (Vec<f32>, Vec<f32>) {
        let forms: Vec<_> = normal_directions(3, 200)
            .chunks(2)
            .map(|u| powers(8, &[(scale, u[0]), (0.8 * scale, u[1])]))
            .collect();
        let found = find(&forms, 8, &PeakOptions::default());
        (found.count.data, found.status.data)
    };
    let one = fates(1.0);
    for scale in [1e-20, 1e-3, 1e6, 1e20] {
        assert_eq!(fates(scale), one, "{scale:e}");
    }
}

fn everything(found: &Peaks) -> Vec<u32> {
    let images = [&found.peaks, &found.values, &found.count, &found.status];
    images.iter().flat_map(|image| image.data.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn threads_lanes_and_neighbours_do_not_change_a_bit() {
    let directions = normal_directions(4, 3 * 6000);
    let forms: Vec<_> =
        directions.chunks(3).map(|u| powers(6, &[(1.0, u[0]), (0.7, u[1]), (0.4, u[2])])).collect();
    let image = image_of(&forms);
    let run = |workers: &Workers, mask: &Mask| {
        let on = Backend::cpu(workers);
        find_peaks(&image, mask, 6, &PeakOptions::default(), &on, &Silent).unwrap()
    };
    let full = Mask::full(image.grid);
    let one = run(&Workers::new(1).unwrap(), &full);
    assert!(everything(&run(&Workers::new(3).unwrap(), &full)) == everything(&one));
    for level in SimdLevel::available() {
        if level.fuses() && Workers::new(1).unwrap().simd().fuses() {
            let workers = Workers::new(2).unwrap().with_simd(level);
            assert!(everything(&run(&workers, &full)) == everything(&one), "{level:?}");
        }
    }
    // With other voxels beside them.
    let some = Mask { grid: image.grid, voxels: (0..6000).filter(|v| v % 3 != 1).collect() };
    let few = run(&Workers::new(1).unwrap(), &some);
    for volume in 0..few.peaks.n_volumes {
        let (a, b) = (few.peaks.volume(volume), one.peaks.volume(volume));
        for &voxel in &some.voxels {
            assert_eq!(a[voxel as usize].to_bits(), b[voxel as usize].to_bits());
        }
        assert!(a[1].is_nan());
    }
    assert_eq!(few.status.data[1], PeakStatus::Outside.code());
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let image = Image::zeros(image_of(&[vec![0.0; 15]]).grid, 15);
    let mask = Mask::full(image.grid);
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    let run = |order, options: &PeakOptions| {
        find_peaks(&image, &mask, order, options, &on, &Silent).map(drop)
    };
    let defaults = PeakOptions::default();
    assert!(matches!(run(5, &defaults), Err(PeaksError::Order { order: 5 })));
    let wrong = run(6, &defaults);
    assert!(matches!(wrong, Err(PeaksError::VolumeCount { expected: 28, volumes: 15, .. })));
    let options = PeakOptions { n_peaks: 0, ..defaults };
    assert!(matches!(run(4, &options), Err(PeaksError::Option { .. })));
    let options = PeakOptions { relative_threshold: f64::NAN, ..defaults };
    assert!(matches!(run(4, &options), Err(PeaksError::Option { .. })));
}

#[test]
fn harmonics_have_the_peaks_of_their_form() {
    let directions = normal_directions(5, 400);
    for order in ORDERS {
        let forms: Vec<_> =
            directions.chunks(2).map(|u| powers(order, &[(1.0, u[0]), (0.8, u[1])])).collect();
        let expected = find(&forms, order, &PeakOptions::default());
        for basis in [ShBasis::Mrtrix, ShBasis::Dipy, ShBasis::DipyLegacy] {
            let convert = ShToForm::new(basis, order).unwrap();
            let harmonics: Vec<_> = forms.iter().map(|form| convert.to_sh(form)).collect();
            let image = image_of(&harmonics);
            let workers = Workers::new(1).unwrap();
            let (mask, options) = (Mask::full(image.grid), PeakOptions::default());
            let on = Backend::cpu(&workers);
            let found = find_peaks_sh(&image, &mask, order, basis, &options, &on, &Silent).unwrap();
            assert_eq!(found.count, expected.count);
            for voxel in 0..forms.len() {
                for (a, b) in peaks_of(&found, voxel).iter().zip(peaks_of(&expected, voxel)) {
                    // Rounding of coefficients and matrix, over curvatures of broad maxima.
                    assert!(angle(a, &b) < 2e-5, "order {order}: {}", angle(a, &b));
                }
            }
        }
    }
}
