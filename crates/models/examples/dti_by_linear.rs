//! The tensor fit beside the same model by `fitting::linear`: how fast both are on one thread, and how far
//! apart their numbers lie. What `dti`'s own code is measured by.
//!
//!     cargo run --release -p fimbria-models --example dti_by_linear
#![allow(clippy::print_stdout)]

use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{SimdLevel, Workers};
use fimbria_fitting::linear::{Column, Design, LogLinearFit, Problems, Recipe};
use fimbria_image::GradientTable;
use fimbria_models::dti::operators::LanesFit;
use fimbria_models::dti::{DtiMap, DtiOptions, Problem};
use fimbria_tensors::starts::half_sphere;

/// A tile, as the driver cuts them.
const TILE: usize = 272;
const TILES: usize = 200;

fn main() {
    let workers = Workers::new(1).expect("a thread");
    // On its own thread, whose time is taken.
    workers.install(|| compare(&workers));
}

fn compare(workers: &Workers) {
    let dirs: Vec<[f64; 3]> = half_sphere(60);
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0; 6],
        dirs_ras: vec![[0.0; 3]; 6],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    table.b_s_per_mm2.extend(vec![1000.0; dirs.len()]);
    table.dirs_ras.extend(&dirs);
    let options = DtiOptions { maps: vec![DtiMap::Tensor], ..DtiOptions::default() };
    let problem = Problem::new(&table, &options).expect("60 directions determine a tensor");
    let covariates: Vec<[f64; 4]> = table
        .b_s_per_mm2
        .iter()
        .zip(&table.dirs_ras)
        .map(|(b, [x, y, z])| [b / 1000.0, *x, *y, *z])
        .collect();
    let element = |factor: f64, x, y, z| Column { scale: -factor, powers: [1, x, y, z] };
    let columns = [
        element(1.0, 2, 0, 0),
        element(2.0, 1, 1, 0),
        element(2.0, 1, 0, 1),
        element(1.0, 0, 2, 0),
        element(2.0, 0, 1, 1),
        element(1.0, 0, 0, 2),
    ];
    let design = Design::new(&covariates, &columns).expect("60 directions determine a tensor");
    let linear = LogLinearFit::new(design, Recipe { residual: false, ..Recipe::default() });

    let signals = signals(&table);
    let own = LanesFit::new(&problem, workers, TILE);
    let mut parameters = own.range().zeros().expect("memory");
    let mut results = vec![0.0_f32; linear.rows().count() * TILE];
    let mut seconds = [f64::MAX; 2];
    for _round in 0..7 {
        seconds[0] = seconds[0].min(time(|| {
            for tile in &signals {
                own.apply(tile, &mut parameters).expect("no device takes part");
            }
        }));
        seconds[1] = seconds[1].min(time(|| {
            for samples in &signals {
                let problems = Problems { samples, weights: None, stride: TILE, n: TILE };
                linear.fit_lanes(SimdLevel::best(), problems, &mut results);
            }
        }));
    }
    let voxels = (TILE * TILES) as f64;
    for (name, seconds) in ["dti", "linear"].iter().zip(seconds) {
        println!("{name:<8} {:.3} M voxels/s", voxels / seconds / 1e6);
    }
    // Both hold the amplitude first, then xx xy xz yy yz zz; of the last tile.
    let entries = TILE..7 * TILE;
    let pairs = parameters[entries.clone()].iter().zip(&results[entries]);
    let (mut other, mut worst) = (0, 0.0_f32);
    for (a, b) in pairs {
        other += usize::from(a != b);
        worst = worst.max((a - b).abs());
    }
    println!("{other} of {} entries differ, by {worst:e} µm²/ms at most", 6 * TILE);
}

/// Tiles of `[volume][voxel]`, of tensors of tissue, with noise of 2 %.
fn signals(table: &GradientTable) -> Vec<Vec<f32>> {
    let tile = |tile: usize| {
        let mut samples = vec![0.0_f32; table.len() * TILE];
        for voxel in 0..TILE {
            let random = |k: usize| {
                let item = (tile * TILE + voxel) as u64;
                normals::<f32>(Philox::new(5).at(item, k as u32)).map(f64::from)
            };
            let [x, y, z, size] = random(0);
            let length = (x * x + y * y + z * z).sqrt();
            let axis = [x / length, y / length, z / length];
            let (along, across) = (1.5 + 0.1 * size, 0.4);
            for volume in 0..table.len() {
                let g = table.dirs_ras[volume];
                let cos: f64 = (0..3).map(|a| g[a] * axis[a]).sum();
                let b = table.b_s_per_mm2[volume] / 1000.0;
                let g2: f64 = g.iter().map(|c| c * c).sum();
                let signal = (-b * (across * g2 + (along - across) * cos * cos)).exp();
                let noise = 0.02 * random(1 + volume)[0];
                samples[volume * TILE + voxel] = (1000.0 * (signal + noise)) as f32;
            }
        }
        samples
    };
    (0..TILES).map(tile).collect()
}

/// Seconds of processor time of this thread, which other programs do not disturb (Linux); of the clock
/// elsewhere.
fn time(work: impl FnOnce()) -> f64 {
    let cpu = || {
        let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        times.split(' ').next()?.parse::<f64>().ok()
    };
    let (clock, before) = (std::time::Instant::now(), cpu());
    work();
    match (before, cpu()) {
        (Some(before), Some(after)) => (after - before) * 1e-9,
        _ => clock.elapsed().as_secs_f64(),
    }
}
