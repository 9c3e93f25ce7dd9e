//! The search on a device against maxima that are known.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};

use super::device::{DeviceSearch, source};
use super::options::PeakOptions;
use super::tile::{Plan, entries};
use crate::peaks::matrix::Matrix;
use crate::sh::{ShBasis, ShToForm};
use crate::starts::on_half_sphere;

/// Sums of powers along three orthogonal axes: each axis is a maximum, whatever the others weigh.
pub(crate) fn checks() -> Vec<Check> {
    [
        ("peaks (4)", 4, false),
        ("peaks (6)", 6, false),
        ("peaks of harmonics (8)", 8, true),
        ("peaks of harmonics (12)", 12, true),
    ]
    .into_iter()
    .map(|(name, order, harmonics)| {
        let sources = plan(order, harmonics).map_or_else(Vec::new, |plan| vec![source(&plan)]);
        Check::new(name, sources, move |device, extent| compare(device, extent, order, harmonics))
    })
    .collect()
}

fn plan(order: usize, harmonics: bool) -> Option<Plan> {
    let convert = ShToForm::new(ShBasis::Mrtrix, order).ok()?;
    let from_sh = harmonics.then(|| Matrix::new(entries(order), convert.form_from_sh()));
    Some(Plan::new(order, from_sh, &PeakOptions { starts: 96, ..PeakOptions::default() }, 1))
}

fn compare(
    device: &Device,
    extent: Extent,
    order: usize,
    harmonics: bool,
) -> Result<Comparison, DeviceError> {
    let failed = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };
    let (Some(plan), Ok(convert)) = (plan(order, harmonics), ShToForm::new(ShBasis::Mrtrix, order))
    else {
        return Ok(failed);
    };
    let n = match extent {
        Extent::Toy => 2,
        Extent::Full => 300,
    };
    let first = on_half_sphere(n, 3);
    let weights = [1.0, 0.7, 0.4];
    let mut input = vec![0.0; entries(order) * n];
    let mut expected = Vec::new();
    for (voxel, x) in first.chunks_exact(3).enumerate() {
        let axes = frame([x[0], x[1], x[2]]);
        let mut form = Vec::new();
        for i in (0..=order as i32).rev() {
            for j in (0..=order as i32 - i).rev() {
                let power =
                    |u: &[f64; 3]| u[0].powi(i) * u[1].powi(j) * u[2].powi(order as i32 - i - j);
                form.push(axes.iter().zip(weights).map(|(u, w)| w * power(u)).sum::<f64>());
            }
        }
        let coefficients = if harmonics { convert.to_sh(&form) } else { form };
        for (row, value) in coefficients.into_iter().enumerate() {
            input[row * n + voxel] = value as f32;
        }
        expected.push(axes);
    }
    let mut rows = vec![0.0; plan.n_rows() * n];
    DeviceSearch::new(device, &plan)?.find(&input, &mut rows)?;
    let mut errors = Vec::new();
    for (voxel, axes) in expected.iter().enumerate() {
        let at = |row: usize| f64::from(rows[row * n + voxel]);
        errors.push(at(12) - 3.0);
        for (peak, (u, weight)) in axes.iter().zip(weights).enumerate() {
            errors.push(at(9 + peak) - weight);
            let along: f64 = (0..3).map(|i| at(3 * peak + i) * u[i]).sum();
            for (i, u) in u.iter().enumerate() {
                errors.push(at(3 * peak + i) - along.signum() * weight * u);
            }
        }
    }
    // Rounding of a gradient over the curvature of the smallest maximum.
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, 2e-5))
}

/// Three orthogonal axes, the first along the unit vector `x` (z at least 0).
fn frame(x: [f64; 3]) -> [[f64; 3]; 3] {
    let a = -1.0 / (1.0 + x[2]);
    let b = x[0] * x[1] * a;
    [x, [1.0 + x[0] * x[0] * a, b, -x[0]], [b, 1.0 + x[1] * x[1] * a, -x[1]]]
}
