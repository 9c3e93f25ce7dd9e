//! How close the fits of free water, spherical means, bundles and propagators come to known tissue, and what CPU a voxel
//! takes: `cargo run --release -p fimbria-models --example models_recovery`.
#![allow(clippy::print_stdout, missing_docs)]

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::curve::{CurveOptions, Likelihood};
use fimbria_models::dki::DkiOptions;
use fimbria_models::mapmri::{self, Laplacian, MapmriOptions, Order};
use fimbria_models::noddi::{self, NoddiOptions};
use fimbria_models::smt::{self, Compartments, SmtOptions};
use fimbria_models::{Fitted, fwdti, wmti};
use fimbria_testing::{Noise, acquisition, quadratic, tensor};

const N: usize = 8192;
const S0: f64 = 900.0;

/// Of all threads of this process, in ticks of 1/100 s.
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        times.split(' ').map(|field| field.parse().unwrap_or(f64::NAN)).collect();
    fields.get(13).zip(fields.get(14)).map_or(f64::NAN, |(user, system)| (user + system) * 1e-2)
}

/// Shares, axial and radial diffusivities (µm²/ms) of what a voxel holds along one axis.
type Pools = Vec<(f64, [f64; 2])>;

fn series(
    table: &GradientTable,
    pools: impl Fn(usize) -> Pools,
    mut noisy: impl FnMut(f64) -> f64,
) -> (Image, Mask) {
    let grid = Grid { dims: [N, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, table.len());
    for voxel in 0..N {
        let turn = voxel as f64;
        let forms: Vec<_> = (pools(voxel).into_iter())
            .map(|(share, [l, r])| (share, tensor([l, r, r], [turn, 1.7 * turn, 0.0]).0))
            .collect();
        for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            let signal: f64 =
                forms.iter().map(|(s, d)| s * (-1e-3 * b * quadratic(*d, g)).exp()).sum();
            image.data[volume * N + voxel] = noisy(S0 * signal) as f32;
        }
    }
    (image, Mask { grid, voxels: (0..N as u32).collect() })
}

/// Bias and root mean square error of a map.
fn errors(fit: &Fitted, name: &str, truth: impl Fn(usize) -> f64) -> String {
    let differences: Vec<f64> = (fit.map(name).unwrap().data.iter().enumerate())
        .map(|(voxel, &value)| f64::from(value) - truth(voxel))
        .filter(|difference| difference.is_finite())
        .collect();
    let mean = |of: &dyn Fn(f64) -> f64| {
        differences.iter().map(|&d| of(d)).sum::<f64>() / differences.len() as f64
    };
    format!("{name} {:+.4} {:.4}", mean(&|d| d), mean(&|d| d * d).sqrt())
}

fn timed(fit: impl FnOnce(&Backend<'_>) -> Fitted) -> (Fitted, f64) {
    let workers = Workers::new(1).unwrap();
    let begin = cpu_seconds();
    let fit = fit(&Backend::cpu(&workers));
    let micro = (cpu_seconds() - begin) * 1e6 / N as f64;
    (fit, micro)
}

fn main() {
    let water = |voxel: usize| 0.1 * (voxel % 8) as f64;
    let sticks = |voxel: usize| 0.35 + 0.05 * (voxel % 8) as f64;
    let free = |voxel: usize| {
        let f = water(voxel);
        let stretch = 0.2 * (voxel / 8 % 5) as f64;
        vec![(1.0 - f, [0.75 + stretch, 0.75 - 0.5 * stretch]), (f, [3.0, 3.0])]
    };
    let bundle = |voxel: usize| {
        let v = sticks(voxel);
        vec![(v, [2.0, 0.0]), (1.0 - v, [2.0, (1.0 - v) * 2.0])]
    };
    let aligned = |voxel: usize| {
        let v = sticks(voxel);
        vec![(v, [1.0, 0.0]), (1.0 - v, [2.2, 0.5])]
    };
    let two = acquisition(8, &[(700.0, 32), (2000.0, 64)]);
    let three = acquisition(8, &[(1000.0, 32), (2000.0, 32), (3000.0, 32)]);
    println!(
        "model, SNR: bias and rms of maps, µs a voxel (tensors, kurtosis and starts included)"
    );
    for snr in [f64::INFINITY, 50.0, 30.0, 20.0] {
        let sigma = S0 / snr;
        let mut noise = Noise(1);
        let mut noisy = |s: f64| if sigma > 0.0 { noise.rician(s, sigma) } else { s };
        let (image, mask) = series(&two, free, &mut noisy);
        let options = CurveOptions { errors: snr == 30.0, ..CurveOptions::default() };
        let (fit, micro) =
            timed(|on| fwdti::fit(&image, &mask, &two, &options, on, &Silent).unwrap());
        let fwf = errors(&fit, "FWF", water);
        let md = |_| 0.75e-3;
        println!("fwdti {snr}: {fwf}; {}; {micro:.1} µs", errors(&fit, "MD", md));
        if let Some(bound) = fit.map("FWF_error") {
            let known: Vec<f64> =
                bound.data.iter().map(|e| f64::from(*e)).filter(|e| *e > 0.0).collect();
            let mean = known.iter().map(|e| e * e).sum::<f64>() / known.len() as f64;
            println!("    what the curvature allows (Cramér and Rao's bound): {:.4}", mean.sqrt());
        }
        let (image, mask) = series(&three, bundle, &mut noisy);
        for likelihood in [Likelihood::Gaussian, Likelihood::RicianMean] {
            if likelihood == Likelihood::RicianMean && sigma == 0.0 {
                continue;
            }
            let curve = CurveOptions { likelihood, sigma: Some(sigma), ..CurveOptions::default() };
            let of_two = SmtOptions { curve, compartments: Compartments::Two };
            let (fit, micro) =
                timed(|on| smt::fit(&image, &mask, &three, &of_two, on, &Silent).unwrap());
            println!(
                "smt two {snr} {likelihood:?}: {}; {}; {micro:.2} µs",
                errors(&fit, "intra", sticks),
                errors(&fit, "diff", |_| 2e-3),
            );
        }
        let (image, mask) = series(&two, aligned, &mut noisy);
        let options = DkiOptions::default();
        let (fit, micro) =
            timed(|on| wmti::fit(&image, &mask, &two, &options, on, &Silent).unwrap());
        println!(
            "dkimicro {snr}: {}; {}; {}; {micro:.1} µs",
            errors(&fit, "AWF", sticks),
            errors(&fit, "axonalD", |_| 1e-3),
            errors(&fit, "RDE", |_| 0.5e-3),
        );
        let (image, mask) = series(&three, free, &mut noisy);
        for (order, laplacian, positive) in [
            (Order::Four, Laplacian::Weight(0.2), false),
            (Order::Six, Laplacian::Weight(0.2), false),
            (Order::Six, Laplacian::CrossValidated, false),
            (Order::Six, Laplacian::Weight(0.2), true),
        ] {
            let options = MapmriOptions { order, laplacian, positive, ..MapmriOptions::default() };
            let time = options.big_delta_s - options.small_delta_s / 3.0;
            let held = |voxel: usize| {
                let of = |(s, [l, r]): (f64, [f64; 2])| {
                    let scale = |d: f64| (4e-3 * std::f64::consts::PI * d * time).sqrt();
                    s / (scale(l) * scale(r) * scale(r))
                };
                1e-5 * free(voxel).into_iter().map(of).sum::<f64>()
            };
            let (mut fit, micro) =
                timed(|on| mapmri::fit(&image, &mask, &three, &options, on, &Silent).unwrap());
            let rtop = fit.maps.iter_mut().find(|map| map.spec.name == "RTOP").unwrap();
            rtop.image.data.iter_mut().for_each(|value| *value *= 1e-5);
            println!(
                "mapmri {order:?} {laplacian:?} {positive} {snr}: (1e5/mm³) {}; {micro:.1} µs",
                errors(&fit, "RTOP", held),
            );
        }
        if snr == 30.0 {
            let (image, mask) = series(&three, bundle, &mut noisy);
            let options = NoddiOptions::default();
            let (_, micro) =
                timed(|on| noddi::fit(&image, &mask, &three, &options, on, &Silent).unwrap());
            println!("noddi {snr}: {micro:.1} µs");
        }
    }
}
