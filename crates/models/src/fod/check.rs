//! The kernel beside the CPU's walk, which is tested against the oracle.

use std::f64::consts::PI;

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError, HostBuffer};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Silent, SimdLevel};
use fimbria_image::{GradientTable, Status};
use fimbria_tensors::sh::{ShBasis, evaluate};
use fimbria_tensors::starts::half_sphere;

use super::device::{OnDevice, source};
use super::estimate::zonal_harmonics;
use super::fit::FodTiles;
use super::{Deconvolution, FodOptions, Response, Responses};
use crate::voxelwise::{Tile, VoxelFit as _};

/// Of the density's height (about 3). Both walk in double precision to the same end, where no
/// constraint is violated by more than 1e-9 of the largest slack: ten thousand times as much is
/// what that may leave of the least determined coefficients.
const TOLERANCE: f64 = 3e-5;

/// Checks of densities of order 4 with fibres alone and 8 and 10 with three tissues, of `table` and of one shell.
pub(crate) fn checks(table: fn() -> GradientTable) -> Vec<Check> {
    [
        ("fibre densities (order 4)", 4, false, table as fn() -> GradientTable),
        ("fibre densities (order 8, 3 tissues)", 8, true, table),
        ("fibre densities (order 10, 3 tissues)", 10, true, table),
        ("fibre densities (order 8, 3 tissues of one shell)", 8, true, one_shell),
    ]
    .into_iter()
    .map(|(name, order, three, table)| {
        let sources = problem(&table(), order, three).iter().map(source).collect();
        Check::new(name, sources, move |device, extent| match problem(&table(), order, three) {
            Some(problem) => compare(device, extent, &problem),
            None => Ok(Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 }),
        })
        .needing_f64()
    })
    .collect()
}

/// Four unweighted volumes and 60 directions at b = 3000 s/mm².
fn one_shell() -> GradientTable {
    GradientTable {
        b_s_per_mm2: (0..64).map(|v| if v < 4 { 0.0 } else { 3000.0 }).collect(),
        dirs_ras: [[0.0; 3]; 4].into_iter().chain(half_sphere(60)).collect(),
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    }
}

/// Responses of closed form: a cylinder tensor (1.7 and 0.3 µm²/ms), grey matter (0.8), fluid (3).
fn problem(table: &GradientTable, order: usize, three: bool) -> Option<Deconvolution> {
    let shells = table.shells();
    let shells: Vec<_> = shells.iter().filter(|s| three || !table.is_b0(s.volumes[0])).collect();
    let b: Vec<f64> = shells.iter().map(|shell| shell.b_s_per_mm2).collect();
    let zonal = |b: f64| {
        const N: usize = 500;
        let mut row = vec![0.0; order / 2 + 1];
        for i in 0..N {
            let cos = (i as f64 + 0.5) / N as f64;
            let signal = 500.0 * (-b * (0.3e-3 + 1.4e-3 * cos * cos)).exp();
            for (r, y) in row.iter_mut().zip(zonal_harmonics(order, cos)) {
                *r += 4.0 * PI / N as f64 * y * signal;
            }
        }
        row
    };
    let isotropic = |s0: f64, d: f64| Response {
        b_s_per_mm2: Some(b.clone()),
        zonal: b.iter().map(|b| vec![(4.0 * PI).sqrt() * s0 * (-b * d).exp()]).collect(),
    };
    let white =
        Response { b_s_per_mm2: Some(b.clone()), zonal: b.iter().map(|&b| zonal(b)).collect() };
    let isotropic = three.then(|| [isotropic(700.0, 0.8e-3), isotropic(1000.0, 3e-3)]);
    let tissues = if three { super::Tissues::Three } else { super::Tissues::White };
    let options = FodOptions { order, tissues, ..FodOptions::default() };
    Deconvolution::new(table, &Responses { white, isotropic }, &options).ok()
}

/// Samples `[volume][voxel]`: none to two fibres, grey matter and fluid, noise of SNR 20; every
/// fiftieth voxel is dark.
fn simulate(problem: &Deconvolution, n: usize) -> Vec<f32> {
    let philox = Philox::new(7);
    let mut signals = vec![0.0; problem.n_volumes() * n];
    for voxel in 0..n {
        let item = voxel as u64;
        let random: Vec<f64> =
            (0..3).flat_map(|step| normals::<f32>(philox.at(item, step))).map(f64::from).collect();
        let mut x = vec![0.0; problem.n_unknowns()];
        for fibre in 0..voxel % 3 {
            let v = &random[3 * fibre..];
            let norm = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            let delta =
                evaluate(ShBasis::Mrtrix, problem.order(), [v[0] / norm, v[1] / norm, v[2] / norm]);
            x.iter_mut().zip(delta).for_each(|(x, y)| *x += 0.5 * y);
        }
        for (tissue, r) in x[problem.n_harmonics()..].iter_mut().zip(&random[6..]) {
            *tissue = 0.3 * r.abs();
        }
        let convolution = &problem.convolution;
        let rows = convolution.matrix.chunks_exact(problem.n_unknowns());
        for (row, &v) in rows.zip(&convolution.volumes) {
            let clean: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            let noise = f64::from(normals::<f32>(philox.at(item, 3 + v as u32))[0]);
            signals[v * n + voxel] =
                if voxel % 50 == 49 { 0.0 } else { (clean + 25.0 * noise) as f32 };
        }
    }
    signals
}

/// Rows of the device against those of the CPU.
fn compare(
    device: &Device,
    extent: Extent,
    problem: &Deconvolution,
) -> Result<Comparison, DeviceError> {
    let n = match extent {
        Extent::Toy => 2,
        Extent::Full => 300,
    };
    let signals = simulate(problem, n);
    let tiles = FodTiles::new(problem, &Silent);
    let n_rows: usize = tiles.maps().iter().map(|map| map.n_volumes).sum();
    let voxels: Vec<u32> = (0..n as u32).collect();
    let (mut expected, mut raised) = (vec![0.0; n_rows * n], vec![0.0; n]);
    let on_device = OnDevice::new(problem);
    let mut found = vec![0.0; on_device.n_rows() * n];
    on_device.rows(&signals, n, device, &mut found)?;
    let on_cpu = Tile {
        voxels: &voxels,
        stride: n,
        inputs: &signals,
        rows: &mut expected,
        raised: &mut raised,
        scratch: &mut HostBuffer::plain(),
    };
    let fitted = tiles.fit(on_cpu, SimdLevel::best());

    // What the kernel leaves to the CPU is a small part.
    let status = &found[found.len() - n..];
    let has_ended = |lane: &usize| Status::from_code(status[*lane]) != Status::NotConverged;
    let ended: Vec<usize> = (0..n).filter(has_ended).collect();
    let is_few = 10 * ended.len() < 9 * n;
    // Densities and amounts as they are; the residual over a typical signal. The status differs
    // where a constraint only just binds.
    let numbers = |rows: &[f32]| -> Vec<f64> {
        let scale = |row: usize| if row == n_rows - 2 { 1e-2 } else { 1.0 };
        let rows = rows.chunks_exact(n).take(n_rows - 1).enumerate();
        let value = |r: usize, row: &[f32], lane: usize| f64::from(row[lane]) * scale(r);
        rows.flat_map(|(r, row)| ended.iter().map(move |&lane| value(r, row, lane))).collect()
    };
    let mut comparison =
        Comparison::of_numbers(&numbers(&expected), &numbers(&found), 3.0, TOLERANCE);
    if fitted.is_err() || is_few {
        comparison.max_error = f64::INFINITY;
    }
    Ok(comparison)
}
