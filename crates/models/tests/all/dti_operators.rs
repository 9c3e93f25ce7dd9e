//! The tensor fit through the `Operator` trait: whoever computes it, the answer is the same.

use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::{SimdLevel, Workers};
use fimbria_image::{GradientTable, Status};
use fimbria_models::dti::device::{DeviceFit, DeviceMaps};
use fimbria_models::dti::operators::{LanesFit, LanesMaps, ScalarFit, ScalarMaps};
use fimbria_models::dti::{Compat, DtiMap, DtiOptions, Method, Problem};
use fimbria_testing::{Noise, acquisition, opencl_device, signals, skipped, tensor};

const METHODS: [Method; 5] =
    [Method::Ols, Method::Wls, Method::Iwls, Method::Nlls, Method::Restore];
const COMPATS: [Option<Compat>; 4] =
    [None, Some(Compat::Fsl), Some(Compat::Dipy), Some(Compat::Mrtrix)];
/// No multiple of any number of lanes.
const N: usize = 533;

fn protocol() -> GradientTable {
    acquisition(5, &[(1000.0, 30), (2000.0, 30)])
}

/// `[volume][voxel]`: white and grey matter and water with Rician noise of SNR 8 to 40; some with
/// outliers, some with zero samples, and a few that cannot be fitted.
fn brain(table: &GradientTable) -> Vec<f32> {
    let mut noise = Noise(77);
    let mut out = vec![0.0; table.len() * N];
    for voxel in 0..N {
        let radial = 0.1e-3 + 2e-3 * noise.uniform() * noise.uniform();
        let eigenvalues = [radial + 1.5e-3 * noise.uniform(), radial * 1.1, radial];
        let (d, _) = tensor(eigenvalues, std::array::from_fn(|_| 7.0 * noise.uniform()));
        let s0 = 50.0 + 2000.0 * noise.uniform();
        let sigma = s0 / (8.0 + 32.0 * noise.uniform());
        for (v, s) in signals(table, s0, d).into_iter().enumerate() {
            let outlier = if voxel % 5 == 0 && v % 17 == 3 { 0.3 } else { 1.0 };
            let zero = voxel % 23 == 0 && v == 40;
            let s = if zero { 0.0 } else { noise.rician(s * outlier, sigma) };
            out[v * N + voxel] = s as f32;
        }
    }
    for v in 0..table.len() {
        out[v * N + 7] = 0.0;
        out[v * N + 8] = -1.0;
    }
    out[3 * N + 9] = f32::NAN;
    out[3 * N + 10] = f32::INFINITY;
    out
}

fn options(method: Method, compat: Option<Compat>) -> DtiOptions {
    DtiOptions { method, compat, ..DtiOptions::default() }
}

/// Signals to maps through the trait alone, wherever the vectors live.
fn run<Space: VectorSpace>(
    fit: &impl Operator<Domain = Space, Range = Space>,
    maps: &impl Operator<Domain = Space, Range = Space>,
    signals: &[f32],
) -> Vec<f32> {
    let signals = fit.domain().upload(signals).unwrap();
    let mut parameters = fit.range().zeros().unwrap();
    let mut rows = maps.range().zeros().unwrap();
    fit.apply(&signals, &mut parameters).unwrap();
    maps.apply(&parameters, &mut rows).unwrap();
    let mut out = vec![0.0; maps.range().len()];
    maps.range().download(&rows, &mut out).unwrap();
    out
}

fn lanes(problem: &Problem, level: SimdLevel, signals: &[f32]) -> Vec<f32> {
    let workers = Workers::new(1).unwrap().with_simd(level);
    run(&LanesFit::new(problem, &workers, N), &LanesMaps::new(problem, &workers, N), signals)
}

fn scalar(problem: &Problem, signals: &[f32]) -> Vec<f32> {
    let workers = Workers::new(1).unwrap();
    run(&ScalarFit::new(problem, &workers, N), &ScalarMaps::new(problem, &workers, N), signals)
}

/// The first OpenCL device, a processor included.
struct Maps<'a> {
    problem: &'a Problem,
    rows: Vec<f32>,
}

impl Maps<'_> {
    fn at(&self, map: DtiMap, voxel: usize) -> f64 {
        f64::from(self.rows[self.problem.map_row(map).unwrap() * N + voxel])
    }

    fn vector(&self, map: DtiMap, voxel: usize) -> [f64; 3] {
        let row = self.problem.map_row(map).unwrap();
        std::array::from_fn(|k| f64::from(self.rows[(row + k) * N + voxel]))
    }
}

/// Degrees between two axes.
fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
    let cross: [f64; 3] = std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        a[j] * b[k] - a[k] * b[j]
    });
    cross.iter().map(|c| c * c).sum::<f64>().sqrt().min(1.0).asin().to_degrees()
}

/// Largest differences over all voxels, and how many voxels differ by more than the limits.
fn compare(method: Method, compat: Option<Compat>, limit: f64, allowed: usize) {
    let table = protocol();
    let problem = Problem::new(&table, &options(method, compat)).unwrap();
    let signals = brain(&table);
    let fast = Maps { problem: &problem, rows: lanes(&problem, SimdLevel::best(), &signals) };
    let slow = Maps { problem: &problem, rows: scalar(&problem, &signals) };
    let mut worst = [0.0f64; 4];
    let mut strays = 0;
    for voxel in 0..N {
        let (a, b) = (fast.at(DtiMap::Status, voxel), slow.at(DtiMap::Status, voxel));
        let what = format!("{method:?} {compat:?} voxel {voxel}");
        if a == f64::from(Status::Singular.code()) {
            // Too near to singular for f32: the driver asks the oracle.
            continue;
        }
        assert_eq!(a, b, "status of {what}");
        let of = |map| fast.at(map, voxel) - slow.at(map, voxel);
        let md = slow.at(DtiMap::Md, voxel).abs().max(1e-4);
        let s0 = slow.at(DtiMap::S0, voxel).max(1.0);
        let gap = (slow.at(DtiMap::L1, voxel) - slow.at(DtiMap::L2, voxel)) / 1e-5;
        let turn = angle(fast.vector(DtiMap::V1, voxel), slow.vector(DtiMap::V1, voxel));
        let errors = [
            of(DtiMap::Fa).abs(),
            of(DtiMap::Md).abs() / md,
            (of(DtiMap::S0) / s0).abs().max(of(DtiMap::Residual).abs() / s0),
            // A direction is as uncertain as the tensor over the gap between eigenvalues: an
            // error of 1e-5 is 0.01° here.
            if gap > 1.0 { turn / 1000.0 } else { 0.0 },
        ];
        worst = std::array::from_fn(|k| worst[k].max(errors[k]));
        strays += usize::from(errors.iter().any(|&e| e.is_nan() || e > limit));
    }
    let worst = format!("{method:?} {compat:?}: FA, MD, S0 and V1 differ by up to {worst:?}");
    assert!(strays <= allowed, "{worst}, {strays} voxels by more than {limit}");
}

#[test]
fn linear_fits_in_f32_agree_with_f64() {
    for method in [Method::Ols, Method::Wls, Method::Iwls] {
        for compat in COMPATS {
            compare(method, compat, 1e-5, 0);
        }
    }
}

#[test]
fn nonlinear_fits_in_f32_agree_with_f64() {
    for compat in [None, Some(Compat::Dipy)] {
        compare(Method::Nlls, compat, 5e-5, 0);
    }
}

#[test]
fn robust_fits_in_f32_agree_with_f64_but_for_samples_on_the_edge() {
    // A sample within rounding of three standard deviations may be dropped by one and kept by
    // the other; that moves the whole estimate.
    for compat in [None, Some(Compat::Dipy)] {
        compare(Method::Restore, compat, 2e-4, N / 100);
    }
}

#[test]
fn fusing_simd_levels_give_the_same_bits() {
    let table = protocol();
    let signals = brain(&table);
    let levels: Vec<_> = SimdLevel::available().into_iter().filter(|l| l.fuses()).collect();
    for method in METHODS {
        for compat in COMPATS {
            let problem = Problem::new(&table, &options(method, compat)).unwrap();
            let bits = |level| -> Vec<u32> {
                lanes(&problem, level, &signals).iter().map(|x| x.to_bits()).collect()
            };
            for pair in levels.windows(2) {
                assert!(bits(pair[0]) == bits(pair[1]), "{method:?} {compat:?} {pair:?}");
            }
        }
    }
}

#[test]
fn levels_that_do_not_fuse_agree_to_rounding() {
    let table = protocol();
    let signals = brain(&table);
    let problem = Problem::new(&table, &options(Method::Wls, None)).unwrap();
    let best = Maps { problem: &problem, rows: lanes(&problem, SimdLevel::best(), &signals) };
    for level in SimdLevel::available().into_iter().filter(|l| !l.fuses()) {
        let other = Maps { problem: &problem, rows: lanes(&problem, level, &signals) };
        for voxel in 0..N {
            let difference = best.at(DtiMap::Fa, voxel) - other.at(DtiMap::Fa, voxel);
            assert!(difference.abs() < 2e-5, "{level:?} voxel {voxel}: {difference}");
        }
    }
}

#[test]
fn maps_that_are_not_wanted_change_nothing_in_the_others() {
    let table = protocol();
    let signals = brain(&table);
    for compat in COMPATS {
        let all = Problem::new(&table, &options(Method::Wls, compat)).unwrap();
        let whole = Maps { problem: &all, rows: lanes(&all, SimdLevel::best(), &signals) };
        for map in DtiMap::ALL {
            let few = DtiOptions { maps: vec![map], ..options(Method::Wls, compat) };
            let one = Problem::new(&table, &few).unwrap();
            let alone = Maps { problem: &one, rows: lanes(&one, SimdLevel::best(), &signals) };
            let rows = map.n_volumes() * N;
            let from = all.map_row(map).unwrap() * N;
            let at = one.map_row(map).unwrap() * N;
            assert!(whole.rows[from..from + rows] == alone.rows[at..at + rows], "{map:?}");
        }
    }
}

#[test]
fn devices_give_the_bits_of_the_lanes_in_linear_fits() {
    let Some(device) = opencl_device() else { return };
    if !SimdLevel::best().fuses() {
        return skipped("this processor does not fuse a * b + c");
    }
    let table = protocol();
    let signals = brain(&table);
    // Every branch of the kernels' texts.
    for (method, compat) in [
        (Method::Ols, None),
        (Method::Wls, None),
        (Method::Wls, Some(Compat::Fsl)),
        (Method::Wls, Some(Compat::Dipy)),
        (Method::Iwls, Some(Compat::Mrtrix)),
    ] {
        let problem = Problem::new(&table, &options(method, compat)).unwrap();
        let found = run(
            &DeviceFit::new(&device, &problem, N).unwrap(),
            &DeviceMaps::new(&device, &problem, N).unwrap(),
            &signals,
        );
        let expected = lanes(&problem, SimdLevel::best(), &signals);
        for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
            let same = a.to_bits() == b.to_bits();
            assert!(same, "{method:?} {compat:?} row {} voxel {}: {a} {b}", i / N, i % N);
        }
    }
}
