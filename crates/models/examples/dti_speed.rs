//! How fast tensors are fitted: voxels a second and thread for every method, reading of 16-bit
//! samples and writing of maps included, beside the plain `f64` fit in the same run.
//!
//! `cargo run --release -p fimbria-models --example dti_speed [voxels] [threads]`
//!
//! 70 volumes (6 unweighted, 64 at b = 1000 s/mm²), Gaussian noise at SNR 25. Times are processor
//! times where the system tells them (Linux), else wall times of all threads.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use fimbria_compute::{Backend, Silent, SimdLevel, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Mask, SignalSource};
use fimbria_models::dti::{DtiMap, DtiOptions, Method, Precision, fit};

/// A series of 16-bit samples, as a scanner writes them.
struct Series {
    grid: Grid,
    n_volumes: usize,
    data: Vec<i16>,
}

impl SignalSource for Series {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn n_volumes(&self) -> usize {
        self.n_volumes
    }

    fn gather(&self, voxels: &[u32], stride: usize, out: &mut [f32]) {
        let (first, last) = (voxels[0] as usize, voxels[voxels.len() - 1] as usize);
        let volumes = self.data.chunks_exact(self.grid.len());
        for (volume, row) in volumes.zip(out.chunks_exact_mut(stride)) {
            // The mask is full, so voxels are consecutive.
            for (sample, &stored) in row.iter_mut().zip(&volume[first..=last]) {
                *sample = f32::from(stored);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |n| std::env::args().nth(n).map(|a| a.parse::<usize>()).transpose();
    let n_voxels = argument(1)?.unwrap_or(400_000);
    let threads = argument(2)?.unwrap_or(1);
    let gradients = acquisition();
    let series = simulate(&gradients, n_voxels);
    let mask = Mask::full(series.grid);
    println!("{n_voxels} voxels, {} volumes, {threads} threads", series.n_volumes);
    println!(
        "{:<8} {:<10} {:<8} {:>12} {:>16} {:>8}",
        "method", "maps", "path", "ns/voxel", "voxels/s/thread", "ratio"
    );
    let tensor = vec![DtiMap::Tensor];
    for (method, maps, name) in [
        (Method::Wls, tensor.clone(), "tensor"),
        (Method::Ols, DtiMap::ALL.to_vec(), "all"),
        (Method::Wls, DtiMap::ALL.to_vec(), "all"),
        (Method::Iwls, DtiMap::ALL.to_vec(), "all"),
        (Method::Nlls, DtiMap::ALL.to_vec(), "all"),
        (Method::Restore, DtiMap::ALL.to_vec(), "all"),
    ] {
        let options = |precision| DtiOptions {
            method,
            maps: maps.clone(),
            precision,
            ..DtiOptions::default()
        };
        let few = Mask { voxels: mask.voxels[..n_voxels / 40].to_vec(), ..mask };
        let seconds_per_voxel = |workers: &Workers, mask: &Mask, precision| {
            let time = || {
                let start = Clock::start();
                let on = Backend::cpu(workers);
                fit(&series, mask, &gradients, None, &options(precision), &on, &Silent)
                    .map(|_| start.seconds(threads) / mask.len() as f64)
            };
            // The first run pays for fresh memory.
            time().and_then(|_| Ok(time()?.min(time()?)))
        };
        let oracle = seconds_per_voxel(&Workers::new(threads)?, &few, Precision::Double)?;
        let report = |path: &str, seconds: f64| {
            println!(
                "{:<8} {name:<10} {path:<8} {:>12.1} {:>16.3e} {:>8.1}",
                format!("{method:?}").to_lowercase(),
                seconds * 1e9,
                1.0 / seconds,
                oracle / seconds
            );
        };
        report("f64", oracle);
        for level in SimdLevel::available().into_iter().filter(|l| l.fuses()) {
            let workers = Workers::new(threads)?.with_simd(level);
            let seconds = seconds_per_voxel(&workers, &mask, Precision::Single)?;
            report(&format!("{level:?}"), seconds);
        }
    }
    Ok(())
}

/// Processor time of all threads since its start, or wall time as a substitute.
struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: Self::cpu_seconds() }
    }

    fn seconds(&self, threads: usize) -> f64 {
        match (self.cpu, Self::cpu_seconds()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall.elapsed().as_secs_f64() * threads as f64,
        }
    }

    fn cpu_seconds() -> Option<f64> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            let schedstat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            nanoseconds += schedstat.split_whitespace().next()?.parse::<u64>().ok()?;
        }
        Some(nanoseconds as f64 * 1e-9)
    }
}

fn acquisition() -> GradientTable {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let direction = |i: usize| {
        let z = (i as f64 + 0.5) / 64.0;
        let (s, c) = (golden * i as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * c, r * s, z]
    };
    GradientTable {
        b_s_per_mm2: (0..70).map(|v| if v < 6 { 0.0 } else { 1000.0 }).collect(),
        dirs_ras: (0..70).map(|v| if v < 6 { [0.0; 3] } else { direction(v - 6) }).collect(),
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    }
}

/// Cylinders of all orientations.
fn simulate(gradients: &GradientTable, n_voxels: usize) -> Series {
    let mut state = 1u64;
    let mut uniform = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let n_volumes = gradients.len();
    let mut data = vec![0; n_voxels * n_volumes];
    for voxel in 0..n_voxels {
        let (z, angle) = (2.0 * uniform() - 1.0, std::f64::consts::TAU * uniform());
        let r = (1.0 - z * z).sqrt();
        let axis = [r * angle.cos(), r * angle.sin(), z];
        let (radial, s0) = (0.2e-3 + 0.6e-3 * uniform(), 600.0 + 800.0 * uniform());
        for v in 0..n_volumes {
            let g = gradients.dirs_ras[v];
            let cos: f64 = (0..3).map(|i| axis[i] * g[i]).sum();
            let d = radial + 1e-3 * cos * cos;
            // A sum of uniform numbers is close enough to normal.
            let noise = (0..4).map(|_| uniform() - 0.5).sum::<f64>() * 1.73 * s0 / 25.0;
            let s = s0 * (-gradients.b_s_per_mm2[v] * d).exp() + noise;
            data[v * n_voxels + voxel] = s.max(1.0) as i16;
        }
    }
    let grid = Grid { dims: [n_voxels, 1, 1], ras_from_vox: Affine::IDENTITY };
    Series { grid, n_volumes, data }
}
