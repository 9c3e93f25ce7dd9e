//! The library as another program would call it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fimbria::ndarray::{Array3, Array4, ShapeBuilder as _, s};
use fimbria::{Affine, Basis, Densities, Engine, Frame, Gradients, Observer, Options, Series};
use fimbria_tensors::sh::{ShBasis, evaluate};

const AFFINE: Affine = [[2.0, 0.0, 0.0, -8.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]];
/// Of the signal's exponent, mm²/s, along x and across.
const ALONG: f64 = 1.5e-3;
const ACROSS: f64 = 0.5e-3;

fn engine() -> Engine {
    Engine::new(2, "cpu").unwrap()
}

/// Volumes of a tensor whose long axis is x in voxel axes, in every voxel of `shape`, directions in `frame`.
fn tensor_series(shape: (usize, usize, usize), frame: Frame) -> (Array4<f32>, Gradients) {
    let mut dirs = vec![[0.0; 3]];
    let third = 1.0 / 3.0_f64.sqrt();
    for signs in [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]] {
        dirs.push(signs.map(|sign| sign * third));
    }
    dirs.extend([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    let b: Vec<f64> = std::iter::once(0.0).chain(std::iter::repeat_n(1000.0, 7)).collect();
    let signal = |v: usize| {
        let [x, y, z] = dirs[v];
        let exponent = b[v] * (ALONG * x * x + ACROSS * (y * y + z * z));
        (100.0 * (-exponent).exp()) as f32
    };
    let (nx, ny, nz) = shape;
    let samples = Array4::from_shape_fn((nx, ny, nz, b.len()), |(.., v)| signal(v));
    (samples, Gradients::new(b, dirs, frame))
}

/// Densities along x in voxels of y = 2 and 3, none elsewhere.
fn bundle() -> Densities {
    let along_x = evaluate(ShBasis::Mrtrix, 8, [1.0, 0.0, 0.0]);
    let coefficients = Array4::from_shape_fn((12, 6, 4, along_x.len()), |(_, y, _, k)| {
        if (2..4).contains(&y) { along_x[k] as f32 } else { 0.0 }
    });
    Densities::new(coefficients, AFFINE, Basis::Mrtrix, Frame::Scanner).unwrap()
}

#[test]
fn arrays_of_any_order_give_the_same_maps() {
    let (samples, table) = tensor_series((3, 2, 2), Frame::Scanner);
    let mut in_fortrans_order = Array4::zeros(samples.dim().f());
    in_fortrans_order.assign(&samples);
    let fit = |series: Series| engine().fit("dti", &series, &Options::new()).unwrap();
    let of_view = fit(Series::new(samples.view(), AFFINE, table.clone()).unwrap());
    let of_owned = fit(Series::new(in_fortrans_order, AFFINE, table).unwrap());
    for (name, map) in of_view.iter() {
        assert_eq!(map, &of_owned[name], "{name}");
    }
    // f32 keeps seven digits of signals that are exact to those.
    let fa = of_view["FA"][[2, 1, 1, 0]];
    let mean = (ALONG + 2.0 * ACROSS) / 3.0;
    let spread = (ALONG - mean).powi(2) + 2.0 * (ACROSS - mean).powi(2);
    let expected = (1.5 * spread / (ALONG.powi(2) + 2.0 * ACROSS.powi(2))).sqrt();
    assert!((f64::from(fa) - expected).abs() < 1e-5, "{fa}, not {expected}");
}

#[test]
fn directions_of_fsl_turn_with_the_affine() {
    // Oblique in the plane, and x runs to the left.
    let (cos, sin) = (0.8, 0.6);
    let affine = [
        [-2.0 * cos, -2.0 * sin, 0.0, 0.0],
        [-2.0 * sin, 2.0 * cos, 0.0, 0.0],
        [0.0, 0.0, 2.0, 0.0],
    ];
    for frame in [Frame::Fsl, Frame::Voxel] {
        let (samples, table) = tensor_series((1, 1, 1), frame);
        let series = Series::new(samples, affine, table).unwrap();
        let maps = engine().fit("dti", &series, &Options::new()).unwrap();
        let v1 = maps["V1"].slice(s![0, 0, 0, ..]).to_vec();
        // The determinant is negative: FSL's axes are the voxels'.
        let cosine = v1[0].mul_add(-cos as f32, v1[1] * -sin as f32).abs();
        assert!(cosine > 1.0 - 1e-5, "{v1:?}");
    }
}

#[test]
fn outside_the_mask_nothing_is_fitted() {
    let (samples, table) = tensor_series((3, 2, 2), Frame::Scanner);
    let mut mask = Array3::from_elem((3, 2, 2), false);
    mask[[2, 0, 1]] = true;
    let series = Series::new(samples, AFFINE, table).unwrap().with_mask(mask.view()).unwrap();
    let maps = engine().fit("dti", &series, &Options::new()).unwrap();
    for (place, status) in maps["status"].slice(s![.., .., .., 0]).indexed_iter() {
        assert_eq!(*status, f32::from(mask[place]), "{place:?}");
    }
    let other = Array3::from_elem((3, 2, 1), true);
    let error = series.with_mask(other.view()).err().unwrap().to_string();
    assert_eq!(error, "the mask has the shape (3, 2, 1), not (3, 2, 2)");
}

#[test]
fn the_brain_mask_is_that_of_the_program() {
    // A ball of brain in air: half its radius from the border.
    let inside = |x: usize, y: usize, z: usize| {
        let square = |i: usize| (i as f64 - 19.5).powi(2);
        square(x) + square(y) + square(z) < 16.0_f64.powi(2)
    };
    let (tensor, table) = tensor_series((1, 1, 1), Frame::Scanner);
    let samples = Array4::from_shape_fn((40, 40, 40, 8), |(x, y, z, v)| {
        if inside(x, y, z) { tensor[[0, 0, 0, v]] } else { 0.5 }
    });
    let affine = [[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]];
    let mask = engine().brain_mask(&Series::new(samples, affine, table).unwrap());
    let truth = Array3::from_shape_fn((40, 40, 40), |(x, y, z)| inside(x, y, z));
    let both = mask.iter().zip(&truth).filter(|(a, b)| **a && **b).count();
    let count = |mask: &Array3<bool>| mask.iter().filter(|inside| **inside).count();
    let dice = 2.0 * both as f64 / (count(&mask) + count(&truth)) as f64;
    // A rim of half a voxel on a radius of 16.
    assert!(dice > 0.95, "{dice}");
}

#[test]
fn peaks_and_streamlines_follow_the_bundle() {
    let engine = engine();
    let densities = bundle();
    let peaks = engine.peaks(&densities, &Options::new().with("number", 1)).unwrap();
    assert_eq!(peaks["count"][[5, 2, 1, 0]], 1.0);
    assert_eq!(peaks["count"][[5, 0, 1, 0]], 0.0);
    let peak = peaks["peaks"].slice(s![5, 2, 1, ..]).to_vec();
    assert!(peak[0].abs() > 1.0 && peak[1].abs() < 1e-3 && peak[2].abs() < 1e-3, "{peak:?}");

    let seeds = Array3::from_shape_fn((12, 6, 4), |(x, y, _)| x == 6 && (2..4).contains(&y));
    let options = Options::new().with("samples", 5).with("min-length", 4.0);
    let lines = engine.track(&densities, seeds.view(), &options).unwrap();
    assert!(!lines.is_empty());
    assert_eq!(lines.iter().map(<[_]>::len).sum::<usize>(), lines.positions.len());
    // The bundle is where y is from 3 to 7 mm; x from -9 to 15. Between voxels of 2 mm densities fall to nothing
    // within half a voxel beyond.
    for point in &lines.positions {
        assert!((2.0..8.0).contains(&point[1]) && (-10.0..16.0).contains(&point[0]), "{point:?}");
    }
    let again = engine.track(&densities, seeds.view(), &options).unwrap();
    assert_eq!(lines.positions, again.positions);
}

#[test]
fn mistakes_are_named() {
    let (samples, table) = tensor_series((1, 1, 1), Frame::Scanner);
    let three = samples.slice(s![.., .., .., ..3]);
    let error = Series::new(three, AFFINE, table.clone()).err().unwrap().to_string();
    assert_eq!(error, "the series has 3 volumes, and the table 8 b-values and 8 directions");
    let error =
        Series::new(samples.view(), [[0.0; 4]; 3], table.clone()).err().unwrap().to_string();
    assert_eq!(error, "the affine has no inverse");
    let series = Series::new(samples, AFFINE, table).unwrap();
    let error = engine().fit("dit", &series, &Options::new()).unwrap_err().to_string();
    assert!(error.starts_with("there is no model dit, only dti, hot"), "{error}");
    let wrong = Options::new().with("methd", "ols");
    let error = engine().fit("dti", &series, &wrong).unwrap_err().to_string();
    assert!(error.contains("methd"), "{error}");
    assert!(Engine::new(0, "gpus").is_err());
}

/// Counts what it hears, and cancels from the first step on.
#[derive(Default)]
struct Cancels(AtomicUsize);

impl Observer for Cancels {
    fn step(&self, _name: &str, _total: u64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[test]
fn an_observer_stops_the_work() {
    let (samples, table) = tensor_series((3, 2, 2), Frame::Scanner);
    let observer = Arc::new(Cancels::default());
    let engine = engine().observed_by(Arc::clone(&observer) as _);
    let series = Series::new(samples, AFFINE, table).unwrap();
    let error = engine.fit("dti", &series, &Options::new()).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
    assert_eq!(observer.0.load(Ordering::Relaxed), 1);
}
