//! Fourier transforms: every radix, lines and volumes, against the definition in f64.

use std::f64::consts::TAU;

use super::{Check, Comparison, Extent, normal_numbers};
use crate::device::{Device, DeviceError};
use crate::fft::{Complex32, Complex64, DeviceFft, DeviceFftError, kernel_sources};

pub(super) fn check() -> Check {
    Check::new("Fourier transforms, there and back", kernel_sources(), compare)
}

/// Every radix alone, products of them, and batches along each axis; [x, y, z] and the axes.
fn cases(extent: Extent) -> Vec<([usize; 3], &'static [usize])> {
    let mut cases: Vec<([usize; 3], &'static [usize])> =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16].map(|n| ([n, 3, 1], &[0][..])).to_vec();
    cases.push(([6, 5, 4], &[0, 1, 2]));
    cases.push(([3, 18, 2], &[1]));
    if extent == Extent::Full {
        for n in [98, 105, 210, 243, 256, 343, 625, 1000, 1024, 2400] {
            cases.push(([n, 2, 1], &[0]));
        }
        cases.push(([48, 35, 30], &[0, 1, 2]));
        cases.push(([5, 7, 96], &[2]));
    }
    cases
}

/// Errors as shares of what rounding may do.
fn compare(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let mut errors = Vec::new();
    for (shape, axes) in cases(extent) {
        match errors_of(device, shape, axes) {
            Ok(more) => errors.extend(more),
            Err(DeviceFftError::Device(error)) => return Err(error),
            Err(DeviceFftError::Plan(error)) => unreachable!("{error}: the cases are good sizes"),
        }
    }
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 1.0))
}

fn errors_of(
    device: &Device,
    shape: [usize; 3],
    axes: &[usize],
) -> Result<Vec<f64>, DeviceFftError> {
    let fft = DeviceFft::new(device, shape, axes)?;
    let input = numbers(fft.elements());
    let start: Vec<Complex64> = input.iter().map(|&x| widen(x)).collect();
    let exact = axes.iter().fold(start.clone(), |x, &axis| along(&x, shape, axis));

    let mut data = device.upload(&input)?;
    let mut scratch = device.zeros(input.len())?;
    fft.forward(&mut data, &mut scratch)?;
    let there = data.to_vec()?;
    fft.inverse(&mut data, &mut scratch)?;
    let back = data.to_vec()?;

    // The numbers have variance 2, their transforms as many times that as elements were summed.
    let transformed: usize = axes.iter().map(|&axis| shape[axis]).product();
    let spread = 2.0_f64.sqrt();
    let share = |exact: &[Complex64], got: &[Complex32], bound: f64| -> Vec<f64> {
        let pairs = exact.iter().zip(got);
        pairs.map(|(exact, &got)| (exact - widen(got)).norm() / bound).collect()
    };
    let bound = fft.error_bound() * spread;
    let mut errors = share(&exact, &there, bound * (transformed as f64).sqrt());
    errors.extend(share(&start, &back, 2.0 * bound));
    Ok(errors)
}

fn widen(x: Complex32) -> Complex64 {
    Complex64::new(x.re.into(), x.im.into())
}

fn numbers(n: usize) -> Vec<Complex32> {
    normal_numbers(7, 2 * n).as_chunks().0.iter().map(|&[re, im]| Complex32::new(re, im)).collect()
}

/// X[k] = Σ x[j] exp(-2πi jk/n) along one axis.
fn along(x: &[Complex64], shape: [usize; 3], axis: usize) -> Vec<Complex64> {
    let n = shape[axis];
    let stride: usize = shape[..axis].iter().product();
    let turns: Vec<Complex64> =
        (0..n).map(|j| Complex64::from_polar(1.0, -TAU * j as f64 / n as f64)).collect();
    (0..x.len())
        .map(|index| {
            let k = index / stride % n;
            let first = index - k * stride;
            (0..n).map(|j| x[first + j * stride] * turns[j * k % n]).sum()
        })
        .collect()
}
