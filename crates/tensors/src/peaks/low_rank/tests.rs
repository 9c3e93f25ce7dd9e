use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};

use super::*;
use crate::layout::Layout;
use crate::peaks::{PeakOptions, PeakStatus, Peaks, PeaksError};

/// Unique entries of `Σ λ v^m`.
fn sum_of_powers(order: usize, terms: &[(f64, [f64; 3])]) -> Vec<f64> {
    let entry = |class: Vec<usize>| {
        terms.iter().map(|(l, v)| l * class.iter().map(|&i| v[i]).product::<f64>()).sum()
    };
    layout(order).index_classes().map(entry).collect()
}

/// Two unit vectors that far apart, in a plane that no axis lies in.
fn pair(degrees: f64) -> [[f64; 3]; 2] {
    let (u, v) = ([0.48, 0.6, 0.64], [0.6, -0.768_374_908_919_545_5, 0.270_351_477_112_073_8]);
    // v across u, normalised.
    let dot: f64 = (0..3).map(|i| u[i] * v[i]).sum();
    let across: [f64; 3] = std::array::from_fn(|i| v[i] - dot * u[i]);
    let length = across.iter().map(|c| c * c).sum::<f64>().sqrt();
    let (sine, cosine) = degrees.to_radians().sin_cos();
    [u, std::array::from_fn(|i| cosine * u[i] + sine * across[i] / length)]
}

/// Radians between two axes.
fn angle(a: &[f64], b: &[f64]) -> f64 {
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    cross.iter().map(|c| c * c).sum::<f64>().sqrt().atan2(dot.abs())
}

fn layout(order: usize) -> Layout {
    Layout::new(order, 3).unwrap()
}

#[test]
fn the_oracle_takes_a_power_for_itself() {
    let [v, _] = pair(0.0);
    for order in [2, 4, 8] {
        let found = decompose(layout(order), &sum_of_powers(order, &[(0.7, v)]), 1);
        // What remains is rounding of f64.
        assert!(found.residual < 1e-12 && angle(&found.terms[0].direction, &v) < 1e-10);
        assert!((found.terms[0].value - 0.7).abs() < 1e-12, "{found:?}");
    }
}

#[test]
fn the_oracle_recovers_two_terms_whose_maxima_have_merged() {
    // At 50° and order 4 a sum of two fourth powers has one maximum, between them.
    let [u, v] = pair(50.0);
    let found = decompose(layout(4), &sum_of_powers(4, &[(0.6, u), (0.4, v)]), 2);
    // Cycles end when directions move by 1e-12; a linear rate of 0.99 leaves 100 times that.
    assert!(found.residual < 1e-9, "{found:?}");
    assert!(angle(&found.terms[0].direction, &u) < 1e-8, "{found:?}");
    assert!(angle(&found.terms[1].direction, &v) < 1e-8, "{found:?}");
}

#[test]
fn the_oracle_takes_orthogonal_terms_apart_exactly() {
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let form = sum_of_powers(6, &[(0.4, axes[0]), (1.0, axes[1]), (0.7, axes[2])]);
    let found = decompose(layout(6), &form, 3);
    let values: Vec<_> = found.terms.iter().map(|term| term.value).collect();
    for (value, truth) in values.iter().zip([1.0, 0.7, 0.4]) {
        assert!((value - truth).abs() < 1e-12, "{values:?}");
    }
}

#[test]
fn the_oracle_leaves_a_negative_form_alone() {
    let [v, _] = pair(0.0);
    let found = decompose(layout(4), &sum_of_powers(4, &[(-1.0, v)]), 3);
    assert!(found.terms.is_empty() && found.residual == 1.0, "{found:?}");
}

/// An image with one form in each voxel.
fn image(forms: &[Vec<f64>]) -> Image {
    let grid = Grid { dims: [forms.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, forms[0].len());
    for (voxel, form) in forms.iter().enumerate() {
        for (entry, &value) in form.iter().enumerate() {
            image.volume_mut(entry)[voxel] = value as f32;
        }
    }
    image
}

fn options(rank: usize) -> PeakOptions {
    PeakOptions { n_peaks: rank, min_separation_deg: 5.0, ..PeakOptions::default() }
}

fn find(image: &Image, order: usize, rank: usize, threads: usize) -> Peaks {
    let workers = Workers::new(threads).unwrap();
    let (mask, on) = (Mask::full(image.grid), Backend::cpu(&workers));
    find_low_rank(image, &mask, order, None, Fibre::RankOne, &options(rank), &on, &Silent).unwrap()
}

/// The direction times λ of a term.
fn term(peaks: &Peaks, voxel: usize, k: usize) -> [f64; 3] {
    std::array::from_fn(|i| f64::from(peaks.peaks.volume(3 * k + i)[voxel]))
}

#[test]
fn lanes_find_the_terms_of_sums_of_powers() {
    for (order, narrowest) in [(4, 40.0), (6, 30.0), (8, 25.0)] {
        let angles: Vec<f64> = (0..40).map(|i| narrowest + 50.0 * f64::from(i) / 39.0).collect();
        let forms: Vec<_> = angles
            .iter()
            .map(|&degrees| {
                let [u, v] = pair(degrees);
                // Any unit: a scale far from 1.
                sum_of_powers(order, &[(600.0, u), (400.0, v)])
            })
            .collect();
        let peaks = find(&image(&forms), order, 2, 1);
        for (voxel, &degrees) in angles.iter().enumerate() {
            assert_eq!(peaks.count.data[voxel], 2.0, "order {order}, {degrees}°");
            for (k, (truth, value)) in pair(degrees).iter().zip([600.0, 400.0]).enumerate() {
                let found = term(&peaks, voxel, k);
                let error = angle(&found, truth).to_degrees();
                // Rounding to f32, magnified where the terms are nearly dependent, and what the
                // cycles leave at a linear rate.
                assert!(error < 0.2, "order {order}, {degrees}°: {error}°");
                let got = f64::from(peaks.values.volume(k)[voxel]);
                assert!((got / value - 1.0).abs() < 0.01, "order {order}, {degrees}°: {got}");
            }
        }
    }
}

#[test]
fn lanes_agree_with_the_oracle_on_forms_that_are_no_sums() {
    // Two powers and a disturbance that no three terms explain.
    let forms: Vec<Vec<f64>> = (0..20)
        .map(|i| {
            let [u, v] = pair(60.0 + f64::from(i));
            let mut form = sum_of_powers(6, &[(0.6, u), (0.4, v)]);
            for (j, entry) in form.iter_mut().enumerate() {
                *entry += 0.004 * (1.3 * j as f64 + f64::from(i)).sin();
            }
            form
        })
        .collect();
    let peaks = find(&image(&forms), 6, 2, 1);
    for (voxel, form) in forms.iter().enumerate() {
        let found = decompose(layout(6), form, 2);
        for (k, truth) in found.terms.iter().enumerate() {
            // The same fixed point; f32 and the end of the cycles, as above.
            let error = angle(&term(&peaks, voxel, k), &truth.direction).to_degrees();
            assert!(error < 0.05, "voxel {voxel}, term {k}: {error}°");
        }
    }
}

#[test]
fn threads_make_no_difference() {
    let forms: Vec<_> = (0..3000)
        .map(|i| {
            let [u, v] = pair(30.0 + 0.02 * f64::from(i));
            sum_of_powers(4, &[(0.5, u), (0.5, v)])
        })
        .collect();
    let image = image(&forms);
    let (one, three) = (find(&image, 4, 3, 1), find(&image, 4, 3, 3));
    let bits = |peaks: &Peaks| -> Vec<u32> {
        peaks.peaks.data.iter().chain(&peaks.status.data).map(|v| v.to_bits()).collect()
    };
    assert!(bits(&one) == bits(&three));
}

#[test]
fn a_voxel_without_terms_says_why() {
    let [v, _] = pair(0.0);
    let good = sum_of_powers(4, &[(1.0, v)]);
    let mut bad = good.clone();
    bad[3] = f64::NAN;
    let identity = (0..15).map(|i| {
        [
            1.0,
            0.0,
            0.0,
            1.0 / 3.0,
            0.0,
            1.0 / 3.0,
            0.0,
            0.0,
            0.0,
            0.0,
            1.0,
            0.0,
            1.0 / 3.0,
            0.0,
            1.0,
        ][i]
    });
    let negative = sum_of_powers(4, &[(-1.0, v)]);
    let forms = [good, bad, vec![0.0; 15], identity.collect(), negative];
    let peaks = find(&image(&forms), 4, 2, 1);
    let expected = [
        PeakStatus::Found,
        PeakStatus::BadForm,
        PeakStatus::Flat,
        PeakStatus::Flat,
        PeakStatus::Below,
    ];
    assert_eq!(peaks.status.data, expected.map(PeakStatus::code));
    assert_eq!(peaks.count.data, [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(peaks.values.volume(0)[1..].iter().all(|value| value.is_nan()));
    assert_eq!(peaks.counts.count(PeakStatus::Flat), 2);
}

#[test]
fn a_broad_fibre_is_not_split() {
    // Powers on a cone of 12° about u, as dispersion makes them: three terms would fit it better.
    let [u, across] = pair(90.0);
    let third: [f64; 3] = std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        u[j] * across[k] - u[k] * across[j]
    });
    let (sine, cosine) = 12f64.to_radians().sin_cos();
    let on_cone = |step: i32| {
        let (s, c) = (f64::from(step) * std::f64::consts::TAU / 20.0).sin_cos();
        (0.05, std::array::from_fn(|i| cosine * u[i] + sine * (c * across[i] + s * third[i])))
    };
    let cone: Vec<_> = (0..20).map(on_cone).collect();
    let image = image(&[sum_of_powers(8, &cone)]);
    let workers = Workers::new(1).unwrap();
    let (mask, on) = (Mask::full(image.grid), Backend::cpu(&workers));
    let options = PeakOptions::default();
    let peaks =
        find_low_rank(&image, &mask, 8, None, Fibre::RankOne, &options, &on, &Silent).unwrap();
    assert_eq!(peaks.count.data, [1.0]);
    // By symmetry the axis, to rounding of f32.
    assert!(angle(&term(&peaks, 0, 0), &u).to_degrees() < 0.01);
}

#[test]
fn more_terms_than_there_is_room_for_are_refused() {
    let image = image(&[vec![0.0; 15]]);
    let workers = Workers::new(1).unwrap();
    let (mask, on) = (Mask::full(image.grid), Backend::cpu(&workers));
    let refused = find_low_rank(&image, &mask, 4, None, Fibre::RankOne, &options(7), &on, &Silent)
        .unwrap_err();
    assert!(matches!(refused, PeaksError::Option { value: 7.0, .. }), "{refused}");
}
