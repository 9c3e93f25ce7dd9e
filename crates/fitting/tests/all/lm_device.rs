//! The Levenberg-Marquardt kernel, on PoCL where there is no card.

use crate::lm::models::{Kurtosis, TwoPools};
use fimbria_compute::SimdLevel;
use fimbria_compute::device::{Device, DeviceError, KernelSource};
use fimbria_compute::philox::{Philox, normals};
use fimbria_fitting::expr::Precision;
use fimbria_fitting::lm::device::{self, DeviceFitError};
use fimbria_fitting::lm::{
    Arithmetic, LmOptions, LmStatus, Model, Number, Parameter, Problems, Rows, Sigma,
    SignalFormulas, Starts, Weights, fit,
};

const N: usize = 700;
const STRIDE: usize = 720;
const B: [f32; 14] = [0.0, 0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.4, 2.7, 3.0];

/// Noisy samples `[sample][problem]` of two pools.
fn samples() -> Vec<f32> {
    let philox = Philox::new(12);
    let mut samples = vec![0.0; B.len() * STRIDE];
    for (k, b) in B.iter().enumerate() {
        for i in 0..N {
            let random = normals::<f32>(philox.at(i as u64, k as u32));
            let (f, slow) = (0.1 + (i % 7) as f32 / 20.0, 0.4 + (i % 13) as f32 / 10.0);
            let signal = f * (-b * 8.0).exp() + (1.0 - f) * (-b * slow).exp();
            samples[k * STRIDE + i] = 1.3 * signal + 0.02 * random[0];
        }
    }
    samples
}

/// The rows of CPU and device for a compiled model, which is traced for the device.
fn both<const P: usize>(
    device: &Device,
    model: &impl Model<P>,
    parameters: &[Parameter; P],
    problems: &Problems<'_>,
    options: &LmOptions,
) -> (Vec<f32>, Vec<f32>) {
    let mut expected = vec![0.0; Rows::new(P, options).count() * problems.stride];
    let mut found = expected.clone();
    let on = Arithmetic::Single(SimdLevel::best());
    fit(model, parameters, problems, options, on, &mut expected).unwrap();
    let formulas = SignalFormulas::trace(model);
    let precision = Precision::Single;
    device::fit(device, &formulas, parameters, problems, options, precision, &mut found).unwrap();
    (expected, found)
}

fn differing(a: &[f32], b: &[f32]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a.to_bits() != b.to_bits()).count()
}

#[test]
fn a_traced_model_has_the_bits_of_the_compiled_one() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    if !SimdLevel::best().fuses() {
        return fimbria_testing::skipped("this processor does not fuse a * b + c");
    }
    let samples = samples();
    let eta = vec![0.05; STRIDE];
    let weights: Vec<f32> = (0..samples.len()).map(|i| 1.0 + (i % 3) as f32).collect();
    let starts: Vec<f32> = (0..4 * STRIDE).map(|i| [1.0, 0.3, 7.0, 0.8][i / STRIDE]).collect();
    let problems = Problems {
        n: N,
        stride: STRIDE,
        samples: &samples,
        covariates: &B,
        constants: &eta,
        weights: Weights::Equal,
        starts: Starts::Shared,
    };
    let options = LmOptions { sigma: Sigma::Constant(0), covariance: true, ..LmOptions::default() };
    let (expected, found) = both(&device, &Kurtosis, &Kurtosis::parameters(), &problems, &options);
    assert_eq!(differing(&expected, &found), 0, "kurtosis");
    let own = Problems {
        weights: Weights::PerProblem(&weights),
        starts: Starts::PerProblem(&starts),
        ..problems
    };
    let (expected, found) = both(&device, &TwoPools, &TwoPools::parameters(), &own, &options);
    assert_eq!(differing(&expected, &found), 0, "two pools");
}

/// A polynomial of more parameters than stay in registers.
struct Polynomial;

impl Model<12> for Polynomial {
    fn n_covariates(&self) -> usize {
        12
    }
    #[inline(always)]
    fn signal<N: Number>(&self, p: &[N; 12], x: &[N::Constant], _: &[N::Constant]) -> N {
        let mut sum = p[0] * x[0];
        for k in 1..12 {
            sum = sum + p[k] * x[k];
        }
        sum
    }
}

#[test]
fn many_parameters_are_fitted_in_memory() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let parameters: [Parameter; 12] =
        std::array::from_fn(|k| Parameter::new(&format!("p{k}"), 0.5, -9.0, 9.0));
    // Cosines on as many points as make them orthogonal.
    let n_samples = 24;
    let covariates: Vec<f32> = (0..n_samples)
        .flat_map(|i| {
            (0..12).map(move |k| {
                (std::f64::consts::PI * (i as f64 + 0.5) * k as f64 / f64::from(n_samples)).cos()
                    as f32
            })
        })
        .collect();
    let truth = |k: usize, i: usize| (k as f32 - 5.0) * 0.3 + (i % 5) as f32 * 0.1;
    let mut samples = vec![0.0; n_samples as usize * 50];
    for (s, row) in samples.chunks_mut(50).enumerate() {
        for (i, sample) in row.iter_mut().enumerate() {
            *sample = (0..12).map(|k| truth(k, i) * covariates[s * 12 + k]).sum();
        }
    }
    let problems = Problems {
        n: 50,
        stride: 50,
        samples: &samples,
        covariates: &covariates,
        constants: &[],
        weights: Weights::Equal,
        starts: Starts::Shared,
    };
    let (expected, found) =
        both(&device, &Polynomial, &parameters, &problems, &LmOptions::default());
    for k in 0..12 {
        for i in 0..50 {
            // Rounding of 24 samples of size 5.
            assert!((found[k * 50 + i] - truth(k, i)).abs() < 5e-6, "{k} {i}");
            assert!((expected[k * 50 + i] - truth(k, i)).abs() < 5e-6, "{k} {i}");
        }
    }
}

#[test]
fn what_is_not_finite_is_marked_and_zero() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let mut samples = samples();
    samples[4 * STRIDE + 9] = f32::INFINITY;
    let mut eta = vec![0.05; STRIDE];
    eta[11] = f32::NAN;
    let problems = Problems {
        n: N,
        stride: STRIDE,
        samples: &samples,
        covariates: &B,
        constants: &eta,
        weights: Weights::Equal,
        starts: Starts::Shared,
    };
    let options = LmOptions::default();
    let (_, found) = both(&device, &Kurtosis, &Kurtosis::parameters(), &problems, &options);
    let rows = Rows::new(3, &options);
    for i in [9, 11] {
        assert_eq!(found[rows.status() * STRIDE + i], LmStatus::BadProblem.code());
        assert!((0..rows.status()).all(|row| found[row * STRIDE + i] == 0.0));
    }
    assert_eq!(found[rows.status() * STRIDE + 10], LmStatus::Converged.code());
}

#[test]
fn a_kernel_that_the_device_refuses_is_an_error() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let broken = KernelSource::new("broken", "KERNEL(lm_fit)(GLOBAL f32 *x) { x[0] = nonsense; }");
    let error = device.kernel(&broken, "lm_fit").map(|_| ()).unwrap_err();
    assert!(matches!(
        DeviceFitError::from(error),
        DeviceFitError::Device(DeviceError::Compile { .. })
    ));
}
