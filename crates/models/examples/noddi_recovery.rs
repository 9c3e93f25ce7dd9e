//! How close fits of NODDI come to known neurites, by how noise is made and how it is taken into account,
//! and what CPU a voxel takes, the tensor of its start included: `cargo run --release -p fimbria-models --example noddi_recovery`.
#![allow(clippy::print_stdout, missing_docs)]
#[path = "../tests/all/noddi_truth.rs"]
#[allow(dead_code, unreachable_pub)]
mod noddi_truth;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::GradientTable;
use fimbria_models::curve::{CurveOptions, Likelihood};
use fimbria_models::noddi::{self, NoddiOptions, Tissue};
use fimbria_testing::{Noise, acquisition};
use noddi_truth::{S0, errors, series};

const COPIES: usize = 20;

/// Of all threads of this process, in ticks of 1/100 s.
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        times.split(' ').map(|field| field.parse().unwrap_or(f64::NAN)).collect();
    fields.get(13).zip(fields.get(14)).map_or(f64::NAN, |(user, system)| (user + system) * 1e-2)
}

/// A fit of these voxels with a noise level; `None` estimates it.
fn row(
    name: &str,
    table: &GradientTable,
    likelihood: Likelihood,
    sigma: Option<f64>,
    noisy: impl FnMut(f64) -> f64,
) {
    let (image, mask) = series(table, Tissue::White, COPIES, noisy);
    let curve = CurveOptions { likelihood, sigma, ..CurveOptions::default() };
    let options = NoddiOptions { curve, ..NoddiOptions::default() };
    let workers = Workers::new(1).unwrap();
    let begin = cpu_seconds();
    let fit = noddi::fit(&image, &mask, table, &options, &Backend::cpu(&workers), &Silent).unwrap();
    let micro = (cpu_seconds() - begin) * 1e6 / mask.voxels.len() as f64;
    let [icvf, od, isovf] = errors(&fit).map(|[bias, rms]| format!("{bias:+.3} {rms:.3}"));
    println!("{name:40} {likelihood:12?} | {icvf} | {od} | {isovf} | {micro:6.1}");
}

fn main() {
    let table = acquisition(8, &[(700.0, 24), (2000.0, 36), (3000.0, 36)]);
    let one_b0 = acquisition(1, &[(700.0, 24), (2000.0, 36), (3000.0, 36)]);
    println!(
        "noise, sigma taken; likelihood | bias and rms of icvf | of od | of isovf | µs a voxel"
    );
    for likelihood in [Likelihood::Gaussian, Likelihood::RicianMean, Likelihood::Rician] {
        row("none", &table, likelihood, Some(1.0), |s| s);
        for snr in [20.0, 30.0, 50.0] {
            let sigma = S0 / snr;
            let mut noise = Noise(1);
            row(&format!("SNR {snr}, true sigma"), &table, likelihood, Some(sigma), |s| {
                noise.rician(s, sigma)
            });
        }
        let sigma = S0 / 30.0;
        for (name, factor) in [("sigma 30 % too small", 0.7), ("sigma 30 % too large", 1.3)] {
            let mut noise = Noise(1);
            row(&format!("SNR 30, {name}"), &table, likelihood, Some(factor * sigma), |s| {
                noise.rician(s, sigma)
            });
        }
        let mut noise = Noise(1);
        row("SNR 30, sigma of 8 unweighted volumes", &table, likelihood, None, |s| {
            noise.rician(s, sigma)
        });
        let mut noise = Noise(1);
        row("SNR 30, one unweighted, true sigma", &one_b0, likelihood, Some(sigma), |s| {
            noise.rician(s, sigma)
        });
        for coils in [4, 16] {
            let mut noise = Noise(1);
            // The coils beyond the first have no signal: their magnitudes add to the floor.
            let sum = |s: f64| {
                let of_first = noise.rician(s, sigma);
                let others = (1..coils).map(|_| noise.rician(0.0, sigma).powi(2)).sum::<f64>();
                (of_first * of_first + others).sqrt()
            };
            row(
                &format!("SNR 30, {coils} coils added, sigma of one"),
                &table,
                likelihood,
                Some(sigma),
                sum,
            );
        }
        // What denoising leaves: the floor, and a third of the noise on it.
        let mut noise = Noise(1);
        let mut denoised = |s: f64| (0..9).map(|_| noise.rician(s, sigma)).sum::<f64>() / 9.0;
        row("SNR 30 denoised 3-fold, sigma estimated", &table, likelihood, None, &mut denoised);
        row(
            "SNR 30 denoised 3-fold, sigma of the scan",
            &table,
            likelihood,
            Some(sigma),
            &mut denoised,
        );
    }
}
