//! This crate's kernels against their oracles, for `fimbria devices --check`.

use fimbria_compute::Workers;
use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError, KernelSource};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};
use fimbria_image::GradientTable;
use fimbria_tensors::starts::half_sphere;

use crate::dti::device::{DeviceFit, DeviceMaps, double, fit_source, maps_source};
use crate::dti::layout::parameter_row;
use crate::dti::operators::{ScalarFit, ScalarMaps, fit_voxel};
use crate::dti::{Compat, DtiMap, DtiOptions, Method, Problem};
use crate::{dki, fod};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    [
        ("tensor fit (WLS)", Method::Wls, None),
        ("tensor fit (FSL, OLS)", Method::Ols, Some(Compat::Fsl)),
        ("tensor fit (DIPY, WLS)", Method::Wls, Some(Compat::Dipy)),
        ("tensor fit (MRtrix3, IWLS)", Method::Iwls, Some(Compat::Mrtrix)),
    ]
    .into_iter()
    .map(|(name, method, compat)| {
        let options = DtiOptions { method, compat, ..DtiOptions::default() };
        Check::new(name, sources(&options), move |device, extent| compare(device, extent, &options))
    })
    .chain(in_double())
    .chain([dki::check()])
    .chain(fod::check::checks(acquisition))
    .collect()
}

/// The checks of the fits in double precision.
fn in_double() -> impl Iterator<Item = Check> {
    [
        ("tensor fit, double precision (FSL, WLS)", Method::Wls, Some(Compat::Fsl), None),
        ("tensor fit, double precision (MRtrix3, IWLS)", Method::Iwls, Some(Compat::Mrtrix), None),
        ("tensor fit, double precision (NLLS)", Method::Nlls, None, None),
        ("tensor fit, double precision (RESTORE)", Method::Restore, None, None),
        (
            "tensor fit, double precision (DIPY, RESTORE)",
            Method::Restore,
            Some(Compat::Dipy),
            Some(20.0),
        ),
    ]
    .into_iter()
    .map(|(name, method, compat, sigma)| {
        let options = DtiOptions { method, compat, sigma, ..DtiOptions::default() };
        let source = problem(&options).map_or_else(Vec::new, |p| vec![double::source(&p)]);
        Check::new(name, source, move |device, extent| compare_double(device, extent, &options))
            .needing_f64()
    })
}

fn sources(options: &DtiOptions) -> Vec<KernelSource> {
    problem(options).map_or_else(Vec::new, |p| vec![fit_source(&p), maps_source(&p)])
}

/// 6 unweighted volumes, then shells of 30 directions at b = 1000 and 2000 s/mm².
fn problem(options: &DtiOptions) -> Option<Problem> {
    Problem::new(&acquisition(), options).ok()
}

fn acquisition() -> GradientTable {
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0; 6],
        dirs_ras: vec![[0.0; 3]; 6],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    for b in [1000.0, 2000.0] {
        table.b_s_per_mm2.extend([b; 30]);
        table.dirs_ras.extend(half_sphere(30));
    }
    table
}

/// Samples `[volume][voxel]` of random tensors with noise of SNR 20; every tenth voxel has a
/// sample that is not positive, every hundredth is dark.
fn simulate(n: usize) -> Vec<f32> {
    let table = acquisition();
    let philox = Philox::new(2);
    let mut signals = vec![0.0; table.len() * n];
    for voxel in 0..n {
        let item = voxel as u64;
        let random: Vec<f64> =
            (0..2).flat_map(|step| normals::<f32>(philox.at(item, step))).map(f64::from).collect();
        // A factor times its transpose has no negative eigenvalue.
        let factor =
            [[random[0], 0.0, 0.0], [random[1], random[2], 0.0], [random[3], random[4], random[5]]];
        let s0 = 300.0 * random[6].abs() + 200.0;
        for (v, (b, g)) in table.b_s_per_mm2.iter().zip(&table.dirs_ras).enumerate() {
            let along: f64 = factor
                .map(|row| (0..3).map(|i| row[i] * g[i]).sum::<f64>().powi(2))
                .into_iter()
                .sum();
            let noise = f64::from(normals::<f32>(philox.at(item, 2 + v as u32))[0]);
            let s = s0 * ((-b * (2e-4 + 4e-4 * along)).exp() + 0.05 * noise);
            let spoiled = voxel % 10 == 3 && v == 20;
            let dark = voxel % 100 == 7;
            signals[v * n + voxel] = if dark {
                0.0
            } else if spoiled {
                -1.0
            } else {
                s as f32
            };
        }
    }
    signals
}

/// Signals to maps with a pair of operators.
fn run<Space: VectorSpace>(
    fit: &impl Operator<Domain = Space, Range = Space>,
    maps: &impl Operator<Domain = Space, Range = Space>,
    signals: &[f32],
) -> Result<Vec<f32>, Space::Error> {
    let mut parameters = fit.range().zeros()?;
    fit.apply(&fit.domain().upload(signals)?, &mut parameters)?;
    let mut rows = maps.range().zeros()?;
    maps.apply(&parameters, &mut rows)?;
    let mut out = vec![0.0; maps.range().len()];
    maps.range().download(&rows, &mut out)?;
    Ok(out)
}

/// Parameters of a fit in double precision against the oracle's, S0 and residual over a typical signal.
fn compare_double(
    device: &Device,
    extent: Extent,
    options: &DtiOptions,
) -> Result<Comparison, DeviceError> {
    let n = match extent {
        Extent::Toy => 8,
        Extent::Full => 3000,
    };
    let Some(problem) = problem(options) else {
        return Ok(Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 });
    };
    let signals = simulate(n);
    let mut found = vec![0.0; problem.n_parameter_rows() * n];
    double::fit(device, &problem, &signals, n, &mut found)?;
    let mut samples = vec![0.0; problem.n_volumes()];
    let mut expected = vec![0.0; found.len()];
    for voxel in 0..n {
        let fitted = fit_voxel(&problem, &signals, n, voxel, &mut samples);
        for (row, value) in fitted.into_iter().enumerate() {
            expected[row * n + voxel] = value;
        }
    }
    let numbers = |rows: &[f32]| -> Vec<f64> {
        let unit = |row: usize| match row {
            parameter_row::S0 | parameter_row::RESIDUAL => 1e-3,
            _ => 1.0,
        };
        let rows = rows.chunks_exact(n).enumerate();
        rows.flat_map(|(r, row)| row.iter().map(move |&x| f64::from(x) * unit(r))).collect()
    };
    Ok(Comparison::of_numbers(&numbers(&expected), &numbers(&found), 1.0, DOUBLE_TOLERANCE))
}

/// Both do the same operations in `f64`, but for exponentials and logarithms of the runtime, and keep `f32`,
/// whose last digit of a diffusivity near 3 is 2e-7. What is not determined by the samples, and ends an
/// iteration a step earlier, moves by no more than the iteration's own end, 1e-7 of a residual.
const DOUBLE_TOLERANCE: f64 = 1e-6;

/// FA, MD and tensor of the device against the oracle's, diffusivities in µm²/ms.
fn compare(
    device: &Device,
    extent: Extent,
    options: &DtiOptions,
) -> Result<Comparison, DeviceError> {
    let n = match extent {
        Extent::Toy => 200,
        Extent::Full => 20_000,
    };
    let nothing = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };
    let (Some(problem), Ok(workers)) = (problem(options), Workers::new(1)) else {
        return Ok(nothing);
    };
    let signals = simulate(n);
    let found = run(
        &DeviceFit::new(device, &problem, n)?,
        &DeviceMaps::new(device, &problem, n)?,
        &signals,
    )?;
    let scalar = (ScalarFit::new(&problem, &workers, n), ScalarMaps::new(&problem, &workers, n));
    let Ok(expected) = run(&scalar.0, &scalar.1, &signals) else { return Ok(nothing) };
    let numbers = |rows: &[f32]| -> Vec<f64> {
        [(DtiMap::Fa, 1.0), (DtiMap::Md, 1e3), (DtiMap::Tensor, 1e3), (DtiMap::Status, 1.0)]
            .into_iter()
            .filter_map(|(map, unit)| Some((map, problem.map_row(map)?, unit)))
            .flat_map(|(map, row, unit)| {
                rows[row * n..(row + map.n_volumes()) * n].iter().map(move |&x| f64::from(x) * unit)
            })
            .collect()
    };
    Ok(Comparison::of_numbers(&numbers(&expected), &numbers(&found), 1.0, TOLERANCE))
}

/// FA, and diffusivities in µm²/ms. Samples raised far below the others, as DIPY does, make
/// systems in which `f32` leaves 1e-4; elsewhere it leaves 1e-6.
const TOLERANCE: f64 = 3e-4;
