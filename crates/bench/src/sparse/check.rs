//! The product with a sparse matrix: against f64, and against its own adjoint.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};

use super::csr::Csr;
use super::device::DeviceCsr;

pub(crate) fn checks() -> [Check; 2] {
    let sources = || vec![DeviceCsr::kernel_source()];
    [
        Check::new("sparse product", sources(), product),
        Check::new("sparse product and its adjoint", sources(), adjoint),
    ]
}

/// Rows of 0 to 99 entries anywhere: none, few, and more than the items that share a row.
fn matrix(extent: Extent) -> Csr {
    let (rows, columns) = match extent {
        Extent::Toy => (37, 50),
        Extent::Full => (20_011, 7919),
    };
    let philox = Philox::new(11);
    let (mut row_start, mut column) = (vec![0], Vec::new());
    for row in 0..rows {
        for entry in 0..philox.at(row, 0)[0] % 100 {
            column.push(philox.at(row, 1 + entry)[1] % columns);
        }
        row_start.push(column.len());
    }
    let value = normal_numbers(12, column.len());
    Csr::new(columns as usize, row_start, column, value).expect("a matrix by construction")
}

fn product(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let matrix = matrix(extent);
    let x = normal_numbers(13, matrix.columns());
    let operator = DeviceCsr::new(device, &matrix)?;
    let mut y = operator.range().zeros()?;
    operator.apply(&operator.domain().upload(&x)?, &mut y)?;
    let y = y.to_vec()?;

    let of_row = |row: usize, term: fn(f64, f64) -> f64| -> f64 {
        let (columns, values) = matrix.row(row);
        let pairs = columns.iter().zip(values);
        pairs.map(|(&j, &a)| term(f64::from(a), f64::from(x[j as usize]))).sum()
    };
    // Each row's error over the sum of its terms' magnitudes; chains of 99 / 8 terms and three pairs.
    let errors: Vec<f64> = (0..matrix.rows())
        .map(|row| {
            let magnitude = of_row(row, |a, x| (a * x).abs());
            let error = (f64::from(y[row]) - of_row(row, |a, x| a * x)).abs();
            if error == 0.0 { 0.0 } else { error / magnitude }
        })
        .collect();
    let tolerance = f64::from(f32::EPSILON) * (13.0 + 3.0);
    Ok(Comparison::of_numbers(&vec![0.0; errors.len()], &errors, 1.0, tolerance))
}

/// ⟨A x, y⟩ = ⟨x, A' y⟩
fn adjoint(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let matrix = matrix(extent);
    let operator = DeviceCsr::new(device, &matrix)?;
    let (domain, range) = (operator.domain(), operator.range());
    let x = domain.upload(&normal_numbers(14, matrix.columns()))?;
    let y = range.upload(&normal_numbers(15, matrix.rows()))?;
    let (mut ax, mut aty) = (range.zeros()?, domain.zeros()?);
    operator.apply(&x, &mut ax)?;
    operator.adjoint(&y, &mut aty)?;
    let (left, right) = (range.dot(&ax, &y)?, domain.dot(&x, &aty)?);
    // Each element of the products is off by a few ε of its own size, in random directions.
    let scale = (range.dot(&ax, &ax)? * range.dot(&y, &y)?).sqrt();
    Ok(Comparison::of_numbers(&[left], &[right], scale, f64::from(f32::EPSILON)))
}

/// `n` standard normal numbers, the same for the same seed.
fn normal_numbers(seed: u64, n: usize) -> Vec<f32> {
    let philox = Philox::new(seed);
    (0..n.div_ceil(4) as u64).flat_map(|item| normals::<f32>(philox.at(item, 0))).take(n).collect()
}
