//! Fits per second of the three-parameter model beside the `levenberg-marquardt` crate.
#![allow(clippy::print_stdout, missing_docs)]
#[path = "../tests/all/lm/minpack.rs"]
#[allow(dead_code, unreachable_pub)]
mod minpack;
#[path = "../tests/all/lm/models.rs"]
#[allow(dead_code, unreachable_pub)]
mod models;

use fimbria_compute::SimdLevel;
use fimbria_compute::philox::Philox;
use fimbria_fitting::lm::*;
use models::Kurtosis;

fn main() {
    let n = 65_536;
    let b: Vec<f32> = (0..30).map(|i| 0.1 * i as f32).collect();
    let mut samples = vec![0.0; 30 * n];
    for v in 0..n {
        let u = |k: u32| -> f32 { uniform(v as u64, k) };
        let d = 0.3 + 1.7 * u(0);
        let a = d * d * (0.2 + 1.2 * u(1)) / 6.0;
        for (i, &b) in b.iter().enumerate() {
            let noise = 0.02 * (u(2 + 2 * i as u32) + u(3 + 2 * i as u32) - 1.0) * 2.45;
            samples[i * n + v] = ((a * b - d) * b).exp().hypot(0.02) + noise;
        }
    }
    let constants = vec![0.02; n];
    let parameters = Kurtosis::parameters();
    let options = LmOptions::default();
    let rows = Rows::new(3, &options);
    let mut results = vec![0.0; rows.count() * n];
    let problems = Problems {
        n,
        stride: n,
        samples: &samples,
        covariates: &b,
        constants: &constants,
        weights: Weights::Equal,
        starts: Starts::Shared,
    };
    for level in SimdLevel::available() {
        let mut best = f64::MAX;
        for _ in 0..7 {
            let start = cpu_seconds();
            fit(
                &Kurtosis,
                &parameters,
                &problems,
                &options,
                Arithmetic::Single(level),
                &mut results,
            )
            .unwrap();
            best = best.min(cpu_seconds() - start);
        }
        let its: f32 = results[rows.iterations() * n..][..n].iter().sum();
        let good = results[rows.status() * n..][..n].iter().filter(|&&s| s == 1.0).count();
        println!(
            "{level:?}: {:.3} M fits/s, {:.2} iterations, {good} of {n} inside the box",
            n as f64 / best / 1e6,
            f64::from(its) / n as f64
        );
    }
    let m = 16_384;
    let start = cpu_seconds();
    let mut sum = 0.0;
    for v in 0..m {
        let y: Vec<f64> = (0..30).map(|i| f64::from(samples[i * n + v])).collect();
        let b: Vec<f64> = b.iter().map(|&b| f64::from(b)).collect();
        sum += minpack::fit(&Kurtosis, &b, &[0.02], &y, [1.0, 1.0, 0.1]).0[1];
    }
    let seconds = cpu_seconds() - start;
    println!("levenberg-marquardt: {:.3} M fits/s ({sum:.1})", m as f64 / seconds / 1e6);
}

fn uniform(item: u64, k: u32) -> f32 {
    let words = Philox::new(7).at(item, k);
    words[0] as f32 / 4_294_967_296.0
}

/// Seconds of processor time of this thread, which other programs do not disturb (Linux).
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|t| t.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) * 1e-9
}
