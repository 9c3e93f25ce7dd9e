//! Devices that refuse single kernels, by a stand-in (`failing_opencl.c`): what they are needed for goes another
//! way.
#![cfg(target_os = "linux")]

use std::path::PathBuf;

use fimbria_compute::Workers;
use fimbria_compute::check::{Extent, Outcome};
use fimbria_compute::device::Device;
use fimbria_compute::fft::{Complex32, DeviceFft, DeviceRealFft, Fft3, RealFft3};

const SHAPE: [usize; 3] = [15, 20, 6];

fn number(i: usize) -> f32 {
    ((i * 37) % 101) as f32 / 50.0 - 1.0
}

/// Transforms there and back, real and complex, twice, beside those of threads.
fn transform(device: &Device) {
    let workers = Workers::new(1).unwrap();
    let apart = |got: &[Complex32], expected: &[Complex32]| -> f64 {
        assert_eq!(got.len(), expected.len());
        got.iter().zip(expected).map(|(a, b)| f64::from((a - b).norm())).fold(0.0, f64::max)
    };
    let real: Vec<f32> = (0..SHAPE.iter().product()).map(number).collect();
    let complex: Vec<Complex32> =
        (0..real.len()).map(|i| Complex32::new(number(i), number(3 * i + 1))).collect();
    let (fft, of_real) = (
        DeviceFft::new(device, SHAPE, &[0, 1, 2]).unwrap(),
        DeviceRealFft::new(device, SHAPE).unwrap(),
    );
    // All numbers are at most 1, of complex ones the size at most root 2: `bound` is of the root of their sum of
    // squares. Forward threads err as much as the device; back that is a share of the root of their number.
    let size = (fft.elements() as f64).sqrt();
    let bound = 1.5 * fft.error_bound() * size;
    let [forward, back] = [2.0 * bound, 2.0 * bound / size];
    for _ in 0..2 {
        let mut expected = complex.clone();
        Fft3::<f32>::new(SHAPE).unwrap().forward(&workers, &mut expected);
        let mut there = device.upload(&complex).unwrap();
        fft.forward(&mut there).unwrap();
        assert!(apart(&there.to_vec().unwrap(), &expected) < forward);
        fft.inverse(&mut there).unwrap();
        assert!(apart(&there.to_vec().unwrap(), &complex) < back);

        let mut expected = vec![Complex32::default(); of_real.spectrum_elements()];
        RealFft3::<f32>::new(SHAPE).unwrap().forward(&workers, &real, &mut expected);
        let mut volume = device.upload(&real).unwrap();
        let mut spectrum = device.zeros(expected.len()).unwrap();
        of_real.forward(&volume, &mut spectrum).unwrap();
        assert!(apart(&spectrum.to_vec().unwrap(), &expected) < forward);
        volume.fill_zero().unwrap();
        of_real.inverse(&mut spectrum, &mut volume).unwrap();
        let worst = volume.to_vec().unwrap().iter().zip(&real).fold(0.0_f32, |m, (a, b)| {
            assert!(a.is_finite());
            m.max((a - b).abs())
        });
        assert!(f64::from(worst) < back, "{worst}");
    }
}

/// What the device was asked during `work`: a line a call, with what and the kernel.
fn asked(refused: &str, work: impl FnOnce(&Device)) -> Option<Vec<String>> {
    if fimbria_testing::is_child() {
        work(&fimbria_testing::opencl_device().expect("the device of the parent"));
        return None;
    }
    let (_driver, path) = fimbria_testing::failing_opencl()?;
    let test =
        std::thread::current().name().expect("tests run in named threads").replace("::", "-");
    let log = format!("fimbria-{test}-{}.log", std::process::id());
    let log: PathBuf = std::env::temp_dir().join(log);
    fimbria_testing::in_child(&[
        ("LD_LIBRARY_PATH", &path),
        ("FAILING_OPENCL_REFUSES", refused),
        ("FAILING_OPENCL_LOG", log.to_str().expect("a temporary path in UTF-8")),
    ]);
    let text = std::fs::read_to_string(&log).expect("the log");
    std::fs::remove_file(&log).expect("the log is ours");
    let call = |line: &str| line.split_once(' ').expect("a device and a call").1.to_owned();
    Some(text.lines().map(call).collect())
}

fn count(calls: &[String], call: &str) -> usize {
    calls.iter().filter(|made| *made == call).count()
}

#[test]
fn lines_are_transformed_in_the_memory_of_groups() {
    let Some(calls) = asked("", transform) else { return };
    // Twice there and back along three axes, and along two after rows.
    assert_eq!(count(&calls, "launch fft_lines"), 4 * 3 + 4 * 2, "{calls:#?}");
    assert_eq!(count(&calls, "launch fft_of_rows"), 2);
    assert_eq!(count(&calls, "launch rows_of_fft"), 2);
    assert_eq!(count(&calls, "launch fft_pass"), 0);
}

#[test]
fn lines_whose_kernel_is_not_made_go_by_passes() {
    let Some(calls) = asked("kernel:fft_lines,kernel:rows_of_fft", transform) else { return };
    assert_eq!(count(&calls, "launch fft_lines") + count(&calls, "launch fft_of_rows"), 0);
    assert_eq!(count(&calls, "launch pair_rows"), 2);
    assert_eq!(count(&calls, "launch join_spectra"), 2);
    // 15 and 6 are a radix each, 20 two of them.
    assert_eq!(count(&calls, "launch fft_pass"), 4 * (1 + 2 + 1) + 4 * (1 + 2 + 1), "{calls:#?}");
}

#[test]
fn lines_whose_text_is_not_compiled_go_by_passes() {
    let Some(calls) = asked("build:fft_lines,build:fft_of_rows", transform) else { return };
    // Of each axis, of rows, and of the axes after rows.
    assert_eq!(count(&calls, "refuse fft_lines"), 3 + 2, "{calls:#?}");
    assert_eq!(count(&calls, "refuse fft_of_rows"), 1);
    assert_eq!(count(&calls, "launch fft_lines") + count(&calls, "launch fft_of_rows"), 0);
    assert_eq!(count(&calls, "launch pair_rows"), 2);
    assert_eq!(count(&calls, "launch fft_pass"), 4 * (1 + 2 + 1) + 4 * (1 + 2 + 1));
}

#[test]
fn lines_that_are_not_launched_go_by_passes_from_then_on() {
    let refused = "launch:fft_lines,launch:rows_of_fft";
    let Some(calls) = asked(refused, transform) else { return };
    // Of each axis once, and of rows back.
    assert_eq!(count(&calls, "refuse fft_lines"), 3 + 2, "{calls:#?}");
    assert_eq!(count(&calls, "refuse rows_of_fft"), 1);
    assert_eq!(count(&calls, "launch fft_of_rows"), 1);
    assert_eq!(count(&calls, "launch pair_rows"), 1);
    assert_eq!(count(&calls, "launch join_spectra"), 2);
    assert_eq!(
        count(&calls, "launch fft_pass"),
        4 * (1 + 2 + 1) + 4 * (2 + 1) + 1 + 2,
        "{calls:#?}"
    );
}

/// The check of passes compares; that of lines does, or says why not.
fn check(device: &Device, lines_are_refused: bool) {
    let outcome = |word: &str| {
        let checks = fimbria_compute::checks();
        let is_wanted = |name: &str| name.contains("Fourier") && name.contains(word);
        let check = checks.iter().find(|check| is_wanted(check.name())).expect("the check");
        let report = check.run(device, Extent::Toy).expect("passes do what lines do not");
        assert!(report.passed(), "{report:?}");
        report.outcome
    };
    assert!(matches!(outcome("by passes"), Outcome::Compared(_)));
    let of_lines = outcome("memory of groups");
    match of_lines {
        Outcome::NotRun(why) => assert!(lines_are_refused && why.contains("passes"), "{why}"),
        Outcome::Compared(_) => assert!(!lines_are_refused, "{of_lines:?}"),
    }
}

#[test]
fn the_check_of_lines_compares_lines() {
    asked("", |device| check(device, false));
}

#[test]
fn the_check_of_lines_that_are_not_launched_is_not_run() {
    asked("launch:fft_lines", |device| check(device, true));
}

#[test]
fn the_check_of_lines_that_are_not_made_is_not_run() {
    asked("kernel:fft_lines", |device| check(device, true));
}

#[test]
fn the_check_of_rows_that_are_not_launched_is_not_run() {
    asked("launch:rows_of_fft", |device| check(device, true));
}
