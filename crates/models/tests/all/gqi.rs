//! Generalised q-sampling against its definition, voxel by voxel in double precision.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::gqi::{self, GqiOptions, Weighting};
use fimbria_tensors::sh::{ShBasis, evaluate};
use fimbria_testing::{Noise, acquisition, angle, tensor};

const N: usize = 75;
const S0: f64 = 800.0;

fn axis(voxel: usize) -> [f64; 3] {
    let turn = voxel as f64;
    tensor([1.0, 0.0, 0.0], [turn, 1.7 * turn, 0.4 * turn]).1[0]
}

fn on(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Fibres of any direction; of the last voxel one sample is no number, and the one before has no signal.
fn series(table: &GradientTable) -> (Image, Mask) {
    let grid = Grid { dims: [N, 1, 1], ras_from_vox: Affine::IDENTITY };
    let (mut image, mut noise) = (Image::zeros(grid, table.len()), Noise(3));
    for (volume, (&b, &g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
        for voxel in 0..N - 2 {
            let square = on(axis(voxel), g).powi(2);
            let signal = S0 * (-1e-3 * b * (0.3 + 1.4 * square)).exp();
            image.data[volume * N + voxel] = noise.rician(signal, S0 / 60.0) as f32;
        }
        image.data[volume * N + N - 1] = if volume == 9 { f32::NAN } else { 1.0 };
    }
    (image, Mask { grid, voxels: (0..N as u32).collect() })
}

fn fitted((image, mask): &(Image, Mask), table: &GradientTable, options: &GqiOptions) -> Fitted {
    let workers = Workers::new(2).unwrap();
    gqi::fit(image, mask, table, options, &Backend::cpu(&workers), &Silent).unwrap()
}

/// The spin distribution of a voxel, from the definition.
fn spins(
    image: &Image,
    table: &GradientTable,
    options: &GqiOptions,
    voxel: usize,
    u: [f64; 3],
) -> f64 {
    let of_volume = |v: usize| {
        let x = options.length * (0.01506 * table.b_s_per_mm2[v]).sqrt() * on(table.dirs_ras[v], u);
        let h = match options.weighting {
            _ if x.abs() < 0.01 && options.weighting == Weighting::Squared => 1.0 / 3.0,
            _ if x == 0.0 => 1.0,
            Weighting::Alike => x.sin() / x,
            Weighting::Squared => (2.0 * x * x.cos() + (x * x - 2.0) * x.sin()) / x.powi(3),
        };
        f64::from(image.data[v * N + voxel]) * h
    };
    (0..table.len()).map(of_volume).sum::<f64>() / table.len() as f64
}

/// 20,000 directions over half of the sphere.
fn dense() -> Vec<[f64; 3]> {
    let n = 20_000;
    let direction = |i: usize| {
        let z = 1.0 - (i as f64 + 0.5) / n as f64;
        let (sin, cos) = (2.399_963_229_728_653 * i as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    };
    (0..n).map(direction).collect()
}

#[test]
fn maps_are_those_of_the_definition() {
    let table = acquisition(6, &[(1000.0, 30), (2500.0, 45)]);
    let series = series(&table);
    let directions = dense();
    for weighting in [Weighting::Alike, Weighting::Squared] {
        let options = GqiOptions { weighting, ..GqiOptions::default() };
        let fit = fitted(&series, &table, &options);
        let value = |name: &str, voxel: usize| f64::from(fit.map(name).unwrap().data[voxel]);
        for voxel in (0..N - 2).step_by(9) {
            let all: Vec<f64> =
                directions.iter().map(|&u| spins(&series.0, &table, &options, voxel, u)).collect();
            let most = all.iter().copied().fold(f64::MIN, f64::max);
            let least = all.iter().copied().fold(f64::MAX, f64::min);
            let n = all.len() as f64;
            let (mean, square) =
                (all.iter().sum::<f64>() / n, all.iter().map(|x| x * x).sum::<f64>() / n);
            let gfa = ((square - mean * mean) / square).sqrt();
            let range = most - least;
            // Of 324 directions the nearest is up to 6° off a maximum, which is some 30° wide at half its height.
            let off = (value("QA", voxel) - range) / range;
            assert!((-0.05..1e-4).contains(&off), "{weighting:?} {voxel} QA {off}");
            let off = (value("ISO", voxel) - least) / range;
            assert!((-1e-4..0.02).contains(&off), "{weighting:?} {voxel} ISO {off}");
            let off = value("GFA", voxel) / gfa - 1.0;
            assert!(off.abs() < 0.01, "{weighting:?} {voxel} GFA {off}");
            // The density: 4π times its mean is 1, and it is that above ISO.
            let odf = fit.map("odf").unwrap();
            let least = value("ISO", voxel);
            for (&u, psi) in directions.iter().zip(&all).step_by(971) {
                let y = evaluate(ShBasis::Mrtrix, 12, u);
                let density: f64 =
                    y.iter().enumerate().map(|(k, y)| y * f64::from(odf.volume(k)[voxel])).sum();
                let expected = (psi - least) / (mean - least) / (4.0 * std::f64::consts::PI);
                let largest = (most - least) / (mean - least) / (4.0 * std::f64::consts::PI);
                // Degrees beyond 12 of single gradients.
                assert!((density - expected).abs() < 5e-3 * largest, "{weighting:?} {voxel}");
            }
            let at = all.iter().position(|&x| x == most).unwrap();
            // Noise of 1/60 turns a wide maximum.
            assert!(angle(&directions[at], &axis(voxel)) < 8.0, "{weighting:?} {voxel}");
        }
        for (voxel, code) in [(0, 1.0), (N - 2, 4.0), (N - 1, 4.0)] {
            assert_eq!(value("status", voxel), code, "{voxel}");
        }
        assert_eq!(value("QA", N - 1), 0.0);
    }
}
