use std::f64::consts::TAU;

use super::*;
use crate::Workers;
use crate::philox::{Philox, normals};

/// Complex numbers with normal parts.
fn noise(n: usize, seed: u64) -> Vec<Complex32> {
    let random = Philox::new(seed);
    let at = |i: usize| normals::<f32>(random.at(i as u64, 0));
    (0..n).map(|i| Complex32::new(at(i)[0], at(i)[1])).collect()
}

fn widen(x: &[Complex32]) -> Vec<Complex64> {
    x.iter().map(|x| Complex64::new(x.re.into(), x.im.into())).collect()
}

/// The definition, in f64.
fn dft(x: &[Complex64]) -> Vec<Complex64> {
    let n = x.len();
    let factor = |jk: usize| Complex64::cis(-TAU * (jk % n) as f64 / n as f64);
    (0..n).map(|k| x.iter().enumerate().map(|(j, x)| x * factor(j * k)).sum()).collect()
}

/// The definition along each axis of a volume in turn.
fn dft3(volume: &[Complex64], [x, y, z]: [usize; 3]) -> Vec<Complex64> {
    let mut data = volume.to_vec();
    for (length, stride) in [(x, 1), (y, x), (z, x * y)] {
        for first in (0..data.len()).filter(|i| (i / stride) % length == 0) {
            let line: Vec<_> = (0..length).map(|j| data[first + j * stride]).collect();
            for (j, value) in dft(&line).into_iter().enumerate() {
                data[first + j * stride] = value;
            }
        }
    }
    data
}

fn norm(x: &[Complex64]) -> f64 {
    x.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt()
}

/// ‖got - expected‖ / ‖expected‖ is at most ε log₂ n: each of the log₂ n stages rounds once.
fn assert_close(got: &[Complex32], expected: &[Complex64]) {
    let difference: Vec<_> = widen(got).iter().zip(expected).map(|(a, b)| a - b).collect();
    let error = norm(&difference) / norm(expected);
    let stages = (got.len() as f64).log2().max(1.0);
    assert!(error <= f64::from(f32::EPSILON) * stages, "{error} for {}", got.len());
}

fn inner(x: &[Complex64], y: &[Complex64]) -> Complex64 {
    x.iter().zip(y).map(|(x, y)| x.conj() * y).sum()
}

const SHAPES: [[usize; 3]; 5] = [[1, 1, 1], [8, 1, 6], [5, 7, 3], [20, 18, 14], [40, 3, 2]];

#[test]
fn lines_are_the_definition() {
    let workers = Workers::new(2).unwrap();
    for n in [1, 2, 3, 4, 5, 7, 8, 9, 12, 30, 42, 64, 105, 128, 210, 243, 343] {
        let mut lines = noise(3 * n, n as u64);
        let expected: Vec<_> = lines.chunks(n).map(|line| dft(&widen(line))).collect();
        Fft1::new(n).unwrap().forward(&workers, &mut lines);
        for (line, expected) in lines.chunks(n).zip(&expected) {
            assert_close(line, expected);
        }
    }
}

#[test]
fn volumes_are_the_definition_along_each_axis() {
    let workers = Workers::new(2).unwrap();
    for shape in SHAPES {
        let fft = Fft3::new(shape).unwrap();
        let mut volume = noise(fft.elements(), 1);
        let expected = dft3(&widen(&volume), shape);
        fft.forward(&workers, &mut volume);
        assert_close(&volume, &expected);
    }
}

#[test]
fn inverse_undoes_forward() {
    let workers = Workers::new(2).unwrap();
    for shape in SHAPES {
        let fft = Fft3::new(shape).unwrap();
        let original = noise(fft.elements(), 2);
        let mut volume = original.clone();
        fft.forward(&workers, &mut volume);
        fft.inverse(&workers, &mut volume);
        assert_close(&volume, &widen(&original));
    }
    let original = noise(5 * 12, 3);
    let mut lines = original.clone();
    let fft = Fft1::new(12).unwrap();
    fft.forward(&workers, &mut lines);
    fft.inverse(&workers, &mut lines);
    assert_close(&lines, &widen(&original));
}

/// ⟨F x, y⟩ = ⟨x, n F⁻¹ y⟩, and ‖F x‖² = n ‖x‖².
#[test]
fn forward_is_unitary_up_to_the_number_of_elements() {
    let workers = Workers::new(2).unwrap();
    let fft = Fft3::new([20, 18, 14]).unwrap();
    let n = fft.elements() as f64;
    let (x, y) = (noise(fft.elements(), 4), noise(fft.elements(), 5));
    let (mut fx, mut back) = (x.clone(), y.clone());
    fft.forward(&workers, &mut fx);
    fft.inverse(&workers, &mut back);
    let (x, y, fx, back) = (widen(&x), widen(&y), widen(&fx), widen(&back));
    // As for `assert_close`, with log₂ n < 13, by Cauchy and Schwarz.
    let tolerance = 13.0 * f64::from(f32::EPSILON);
    let difference = inner(&fx, &y) - inner(&x, &back) * n;
    assert!(difference.norm() <= 2.0 * tolerance * norm(&fx) * norm(&y), "{difference}");
    assert!((norm(&fx) / (n.sqrt() * norm(&x)) - 1.0).abs() <= tolerance);
}

#[test]
fn the_spectrum_of_a_real_volume_is_half_of_the_complex_one() {
    let workers = Workers::new(2).unwrap();
    for shape in SHAPES {
        let fft = RealFft3::new(shape).unwrap();
        let volume: Vec<f32> = noise(shape.iter().product(), 6).iter().map(|x| x.re).collect();
        let as_complex: Vec<_> = volume.iter().map(|&x| Complex64::new(x.into(), 0.0)).collect();
        let whole = dft3(&as_complex, shape);
        let half = fft.spectrum_shape()[0];
        let expected: Vec<_> =
            whole.chunks(shape[0]).flat_map(|row| &row[..half]).copied().collect();
        let mut spectrum = vec![Complex32::default(); expected.len()];
        fft.forward(&workers, &volume, &mut spectrum);
        assert_close(&spectrum, &expected);
    }
}

#[test]
fn a_real_volume_comes_back_from_its_spectrum() {
    let workers = Workers::new(2).unwrap();
    for shape in SHAPES {
        let fft = RealFft3::new(shape).unwrap();
        let volume: Vec<f32> = noise(shape.iter().product(), 7).iter().map(|x| x.re).collect();
        let mut spectrum = vec![Complex32::default(); fft.spectrum_shape().iter().product()];
        let mut back = vec![0.0; volume.len()];
        fft.forward(&workers, &volume, &mut spectrum);
        fft.inverse(&workers, &mut spectrum, &mut back);
        let complex = |x: &[f32]| x.iter().map(|&x| Complex32::new(x, 0.0)).collect::<Vec<_>>();
        assert_close(&complex(&back), &widen(&complex(&volume)));
    }
}

#[test]
fn transforms_have_the_same_bits_for_any_number_of_threads() {
    let fft = Fft3::new([24, 20, 9]).unwrap();
    let of = |threads| {
        let mut volume = noise(fft.elements(), 8);
        fft.forward(&Workers::new(threads).unwrap(), &mut volume);
        volume.iter().map(|x| (x.re.to_bits(), x.im.to_bits())).collect::<Vec<_>>()
    };
    let one = of(1);
    assert_eq!(one, of(2));
    assert_eq!(one, of(5));
}

#[test]
fn good_sizes_are_products_of_2_3_5_and_7() {
    let good: Vec<usize> = (0..40).filter(|&n| is_good_size(n)).collect();
    assert_eq!(
        good,
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 24, 25, 27, 28, 30, 32, 35, 36]
    );
    assert_eq!([0, 11, 37, 251, 421].map(good_size), [1, 12, 40, 252, 432]);
}

#[test]
fn other_lengths_are_refused() {
    assert_eq!(Fft1::<f32>::new(22).err(), Some(FftError::Length { length: 22 }));
    assert_eq!(Fft3::<f32>::new([8, 0, 8]).err(), Some(FftError::Length { length: 0 }));
    let shape = [1 << 30, 1 << 30, 1 << 30];
    assert_eq!(RealFft3::<f32>::new(shape).err(), Some(FftError::TooLarge { shape }));
}
