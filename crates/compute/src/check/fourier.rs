//! Fourier transforms: every radix, lines and volumes, complex and real, in the memory of groups and by passes,
//! against the definition in f64.

use std::f64::consts::TAU;

use super::{Check, Comparison, Extent, Outcome, normal_numbers};
use crate::device::{Device, DeviceError};
use crate::fft::{
    Complex32, Complex64, DeviceFft, DeviceFftError, DeviceRealFft, Limits, sources_of_lines,
    sources_of_passes,
};

/// There and back.
pub(super) fn checks() -> [Check; 2] {
    [
        Check::new("Fourier transforms by passes", sources_of_passes(), by_passes),
        Check::new("Fourier transforms in the memory of groups", sources_of_lines(), by_lines),
    ]
}

/// Every radix alone, products of them, and batches along each axis; [x, y, z] and the axes. By passes.
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

/// Of one to three stages, along each axis, with lines that fill no group. In the memory of groups: each length
/// is a text of its own.
fn cases_of_lines(extent: Extent) -> Vec<([usize; 3], &'static [usize])> {
    let mut cases: Vec<([usize; 3], &'static [usize])> =
        vec![([15, 3, 1], &[0]), ([6, 20, 3], &[1])];
    if extent == Extent::Full {
        cases.push(([48, 5, 2], &[0]));
        cases.push(([5, 7, 343], &[2, 0]));
        cases.push(([21, 240, 2], &[1]));
        // All the memory that groups of cards have.
        cases.push(([4, 768, 1], &[1]));
        cases.push(([2400, 2, 1], &[0]));
    }
    cases
}

/// With groups so small that items have several turns at several lines. The first stage of a line is then a loop
/// that a barrier follows.
fn cases_of_small_groups() -> Vec<([usize; 3], &'static [usize])> {
    vec![([64, 28, 2], &[1])]
}

/// Rows of even and odd length and number, of one to three stages.
fn real_cases(extent: Extent) -> Vec<[usize; 3]> {
    let mut cases = vec![[1, 3, 2], [15, 3, 1], [20, 3, 3]];
    if extent == Extent::Full {
        cases.extend([[48, 35, 2], [343, 1, 5]]);
    }
    cases
}

/// Every device has the kernels of passes.
fn by_passes(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let mut found = Found::default();
    for (shape, axes) in cases(extent) {
        found.complex(device, shape, axes, Limits::NONE)?;
    }
    for shape in real_cases(extent) {
        found.real(device, shape, Limits::NONE)?;
    }
    Ok(found.comparison())
}

/// A device may refuse lines. What passes did in their place proves nothing of them, unless it is wrong.
fn by_lines(device: &Device, extent: Extent) -> Result<Outcome, DeviceError> {
    let mut found = Found::default();
    for (shape, axes) in cases_of_lines(extent) {
        found.complex(device, shape, axes, Limits::of(device))?;
    }
    for (shape, axes) in cases_of_small_groups() {
        found.complex(device, shape, axes, Limits::SMALL)?;
    }
    for shape in real_cases(extent) {
        found.real(device, shape, Limits::of(device))?;
    }
    Ok(match found.comparison() {
        comparison if comparison.passed() && found.is_refused => {
            Outcome::NotRun("the device refuses lines in the memory of groups: passes do this")
        }
        comparison => comparison.into(),
    })
}

/// What transforms came to.
#[derive(Default)]
struct Found {
    /// As shares of what rounding may do.
    errors: Vec<f64>,
    /// Whether the device refused lines that fit in the memory of its groups.
    is_refused: bool,
}

impl Found {
    fn complex(
        &mut self,
        device: &Device,
        shape: [usize; 3],
        axes: &[usize],
        limits: Limits,
    ) -> Result<(), DeviceError> {
        let fft = sound(DeviceFft::within(device, shape, axes, limits))?;
        self.errors.extend(errors_of(&fft, device, axes)?);
        self.is_refused |= fft.refusal().is_some();
        Ok(())
    }

    fn real(
        &mut self,
        device: &Device,
        shape: [usize; 3],
        limits: Limits,
    ) -> Result<(), DeviceError> {
        let fft = sound(DeviceRealFft::within(device, shape, limits))?;
        self.errors.extend(errors_of_real(&fft, device)?);
        self.is_refused |= fft.refusal().is_some();
        Ok(())
    }

    fn comparison(&self) -> Comparison {
        Comparison::of_numbers(&vec![0.0; self.errors.len()], &self.errors, 1.0, 1.0)
    }
}

/// Of what has a plan.
fn sound<T>(result: Result<T, DeviceFftError>) -> Result<T, DeviceError> {
    result.map_err(|error| match error {
        DeviceFftError::Device(error) => error,
        DeviceFftError::Plan(error) => unreachable!("{error}: the cases are good sizes"),
    })
}

/// The transform of a volume along some axes, and the volume back from it.
fn errors_of(fft: &DeviceFft, device: &Device, axes: &[usize]) -> Result<Vec<f64>, DeviceError> {
    let shape = fft.shape();
    let input = numbers(fft.elements());
    let start: Vec<Complex64> = input.iter().map(|&x| widen(x)).collect();
    let exact = axes.iter().fold(start.clone(), |x, &axis| along(&x, shape, axis));

    let mut data = device.upload(&input)?;
    fft.forward(&mut data)?;
    let there = data.to_vec()?;
    fft.inverse(&mut data)?;
    let back = data.to_vec()?;

    // The numbers have variance 2, their transforms as many times that as elements were summed.
    let transformed: usize = axes.iter().map(|&axis| shape[axis]).product();
    let spread = 2.0_f64.sqrt();
    let bound = fft.error_bound() * spread;
    let mut errors = share(&exact, &there, bound * (transformed as f64).sqrt());
    errors.extend(share(&start, &back, 2.0 * bound));
    Ok(errors)
}

/// Differences as shares of a bound.
fn share(exact: &[Complex64], got: &[Complex32], bound: f64) -> Vec<f64> {
    assert_eq!(exact.len(), got.len());
    exact.iter().zip(got).map(|(exact, &got)| (exact - widen(got)).norm() / bound).collect()
}

/// The half spectrum of a real volume, and the volume back from it.
fn errors_of_real(fft: &DeviceRealFft, device: &Device) -> Result<Vec<f64>, DeviceError> {
    let shape = fft.shape();
    let input = normal_numbers(9, fft.elements());
    let start: Vec<Complex64> = input.iter().map(|&x| Complex64::new(x.into(), 0.0)).collect();
    let whole = (0..3).fold(start.clone(), |x, axis| along(&x, shape, axis));
    let kept = shape[0] / 2 + 1;
    let half: Vec<Complex64> =
        whole.chunks(shape[0]).flat_map(|row| &row[..kept]).copied().collect();

    let mut volume = device.upload(&input)?;
    let mut spectrum = device.zeros(fft.spectrum_elements())?;
    fft.forward(&volume, &mut spectrum)?;
    let there = spectrum.to_vec()?;
    volume.fill_zero()?;
    fft.inverse(&mut spectrum, &mut volume)?;
    let back: Vec<Complex32> = volume.to_vec()?.iter().map(|&x| Complex32::new(x, 0.0)).collect();

    // The numbers have variance 1.
    let bound = fft.error_bound();
    let mut errors = share(&half, &there, bound * (fft.elements() as f64).sqrt());
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
