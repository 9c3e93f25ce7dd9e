//! The kernel of the kurtosis maps against the oracle.

use fimbria_compute::Silent;
use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};
use fimbria_image::{GradientTable, Status};

use super::device::{DeviceMaps, maps_source};
use super::layout::parameter_row;
use super::oracle::KurtosisMaps;
use super::{DkiMap, DkiOptions, Problem};
use fimbria_tensors::starts::half_sphere;

/// The check of the maps.
pub(crate) fn check() -> Check {
    let sources = problem().map_or_else(Vec::new, |problem| vec![maps_source(&problem)]);
    Check::new("kurtosis maps", sources, compare)
}

fn problem() -> Option<Problem> {
    let shell = || half_sphere(30).into_iter();
    let table = GradientTable {
        b_s_per_mm2: [vec![0.0; 4], vec![1000.0; 30], vec![2000.0; 30]].concat(),
        dirs_ras: [[0.0; 3]; 4].into_iter().chain(shell()).chain(shell()).collect(),
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    Problem::new(&table, &DkiOptions::default(), &Silent).ok()
}

/// D and V of a mixture of two random Gaussian compartments: D their mean, V three times the
/// variance of D(n).
fn forms(philox: &Philox, voxel: u64) -> ([f64; 6], [f64; 15]) {
    let mut compartments = [[0.0; 6]; 2];
    for (c, tensor) in compartments.iter_mut().enumerate() {
        let a = normals::<f32>(philox.at(voxel, c as u32)).map(f64::from);
        let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
        let [x, y, z] = [a[0] / length, a[1] / length, a[2] / length];
        let (across, extra) = (0.3 + 0.1 * a[3].abs(), 1.5);
        *tensor = [x * x, x * y, x * z, y * y, y * z, z * z].map(|square| extra * square);
        for k in [0, 3, 5] {
            tensor[k] += across;
        }
    }
    let [a, b] = compartments;
    let mean = std::array::from_fn(|k| 0.5 * (a[k] + b[k]));
    let half: [f64; 6] = std::array::from_fn(|k| 0.5 * (a[k] - b[k]));
    let square = fimbria_tensors::geap::symmetric_square(&half, 3);
    (mean, std::array::from_fn(|k| 3.0 * square[k]))
}

fn compare(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let n = match extent {
        Extent::Toy => 130,
        Extent::Full => 2000,
    };
    let Some(problem) = problem() else {
        return Ok(Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 });
    };
    let philox = Philox::new(3);
    let mut parameters = vec![0.0; parameter_row::COUNT * n];
    let mut truth = Vec::new();
    for voxel in 0..n {
        let (d, v) = forms(&philox, voxel as u64);
        for (k, value) in d.into_iter().chain(v).enumerate() {
            parameters[(parameter_row::TENSOR + k) * n + voxel] = value as f32;
        }
        parameters[parameter_row::STATUS * n + voxel] = Status::Fitted.code();
        truth.push(KurtosisMaps::new(d, &v));
    }
    let maps = DeviceMaps::new(device, &problem, n)?;
    let mut rows = maps.range().zeros()?;
    maps.apply(&maps.domain().upload(&parameters)?, &mut rows)?;
    let mut found = vec![0.0; maps.range().len()];
    maps.range().download(&rows, &mut found)?;

    let (mut expected, mut got) = (Vec::new(), Vec::new());
    let mut add = |map: DkiMap, of: &dyn Fn(&KurtosisMaps) -> f64| {
        if let Some(row) = problem.layout.first_row(map) {
            expected.extend(truth.iter().map(of));
            got.extend(found[row * n..][..n].iter().map(|&x| f64::from(x)));
        }
    };
    add(DkiMap::Mk, &|maps| maps.mk);
    add(DkiMap::Ak, &|maps| maps.ak);
    add(DkiMap::Rk, &|maps| maps.rk);
    add(DkiMap::Mkt, &|maps| maps.mkt);
    add(DkiMap::Kfa, &|maps| maps.kfa);
    add(DkiMap::Linearity, &|maps| maps.shares[0]);
    add(DkiMap::Planarity, &|maps| maps.shares[1]);
    add(DkiMap::Sphericity, &|maps| maps.shares[2]);
    add(DkiMap::Kmax, &|maps| maps.kmax);
    add(DkiMap::Kmin, &|maps| maps.kmin);
    add(DkiMap::Kurtosis, &|maps| maps.w[0]);
    Ok(Comparison::of_numbers(&expected, &got, 1.0, TOLERANCE))
}

/// Kurtoses are of order 1; rounding of D and V to `f32` and of some hundred operations on them.
/// KFA near 0 is the root of a difference.
const TOLERANCE: f64 = 2e-5;
