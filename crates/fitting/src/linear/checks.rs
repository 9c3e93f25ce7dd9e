//! The kernel against the oracle, for `fimbria devices --check`.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};

use super::device::{DeviceFit, source};
use super::{Column, Design, Floor, LogLinearFit, Passes, Problems, Recipe};

/// The checks of this module's kernel.
pub(crate) fn checks() -> Vec<Check> {
    [
        ("log-linear fit (OLS)", Passes::OLS, Floor::OfLargest(1e-3)),
        ("log-linear fit (WLS)", Passes::WLS, Floor::SmallestPositive),
        ("log-linear fit (IWLS)", Passes::IWLS, Floor::Absolute(1.0)),
    ]
    .into_iter()
    .filter_map(|(name, passes, floor)| {
        let recipe = Recipe { passes, floor, residual: true };
        let fit = LogLinearFit::new(design()?, recipe);
        let sources = vec![source(&fit)];
        Some(Check::new(name, sources, move |device, extent| compare(device, extent, &fit)))
    })
    .collect()
}

const SAMPLES: usize = 32;

/// Covariates (b, g): 4 samples with b = 0, then directions on a spiral at two b.
fn covariates() -> Vec<[f64; 4]> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    (0..SAMPLES)
        .map(|i| {
            let b = if i < 4 { 0.0 } else { 1.0 + (i % 2) as f64 };
            let z = (i as f64 + 0.5) / SAMPLES as f64;
            let ((s, c), r) = ((golden * i as f64).sin_cos(), (1.0 - z * z).sqrt());
            [b, r * c, r * s, z]
        })
        .collect()
}

/// -b g² and b² g⁴ along each axis: products that are the same sum, and sums of several panels.
fn design() -> Option<Design> {
    let axis = |k: usize, order: u8, scale: f64| {
        let mut powers = [order / 2, 0, 0, 0];
        powers[1 + k] = order;
        Column { scale, powers }
    };
    let mut columns: Vec<Column> = (0..3).map(|k| axis(k, 2, -1.0)).collect();
    columns.extend((0..3).map(|k| axis(k, 4, 1.0 / 6.0)));
    columns.push(Column { scale: -2.0, powers: [1, 1, 1, 0] });
    Design::new(&covariates(), &columns).ok()
}

/// Samples `[sample][problem]` with noise; every tenth problem has one that is not positive, every
/// hundredth is dark.
fn simulate(n: usize) -> Vec<f32> {
    let philox = Philox::new(3);
    let mut samples = vec![0.0; SAMPLES * n];
    for problem in 0..n {
        let normal = |step: u32| normals::<f32>(philox.at(problem as u64, step)).map(f64::from);
        let [x, y, z, a] = normal(0).map(f64::abs);
        for (i, [b, gx, gy, gz]) in covariates().into_iter().enumerate() {
            let d = 0.3 + 0.5 * (x * gx * gx + y * gy * gy + z * gz * gz);
            let noise = 0.03 * normal(1 + i as u32)[0];
            let spoiled = problem % 10 == 3 && i == 20;
            let dark = problem % 100 == 7;
            let s = (200.0 + 100.0 * a) * ((-b * d).exp() + noise);
            samples[i * n + problem] = if dark {
                0.0
            } else if spoiled {
                -1.0
            } else {
                s as f32
            };
        }
    }
    samples
}

fn compare(device: &Device, extent: Extent, fit: &LogLinearFit) -> Result<Comparison, DeviceError> {
    let n = match extent {
        Extent::Toy => 130,
        Extent::Full => 5000,
    };
    let samples = simulate(n);
    let on_device = DeviceFit::new(device, fit, n)?;
    let mut rows = on_device.range().zeros()?;
    on_device.apply(&on_device.domain().upload(&samples)?, &mut rows)?;
    let mut found = vec![0.0; on_device.range().len()];
    on_device.range().download(&rows, &mut found)?;
    let mut expected = vec![0.0; found.len()];
    let problems = Problems { samples: &samples, weights: None, stride: n, n };
    fit.fit_in_f64(problems, &mut expected);
    // Amplitudes and residuals count relative to the samples' size.
    let numbers = |rows: &[f32]| -> Vec<f64> {
        let scale = |row: usize| match row {
            0 => 1.0 / 300.0,
            row if row == fit.rows().residual() => 1.0 / 300.0,
            _ => 1.0,
        };
        let row = |(i, x): (usize, &f32)| f64::from(*x) * scale(i / n);
        rows.iter().enumerate().map(row).collect()
    };
    Ok(Comparison::of_numbers(&numbers(&expected), &numbers(&found), 1.0, TOLERANCE))
}

/// Coefficients of order 1; `f32` leaves 1e-6 of their largest, times the condition of the design.
const TOLERANCE: f64 = 3e-5;
