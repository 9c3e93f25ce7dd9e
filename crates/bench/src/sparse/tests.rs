use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{SimdLevel, Workers};

use super::csr::{Csr, CsrError};
use super::device::DeviceCsr;
use super::scalar::ScalarCsr;
use super::threaded::ThreadedCsr;

const COLUMNS: usize = 700;

/// A matrix with empty rows, short ones, and some of hundreds of entries; enough for several
/// tasks.
fn matrix() -> Csr {
    let random = Philox::new(11);
    let (mut row_start, mut column, mut value) = (vec![0], Vec::new(), Vec::new());
    for row in 0..3000_u32 {
        let entries = match row % 7 {
            0 => 0,
            1 => 300,
            n => 5 * n,
        };
        for entry in 0..entries {
            let words = random.at(row.into(), entry);
            column.push(words[0] % COLUMNS as u32);
            value.push(normals::<f32>(random.stream(1).at(row.into(), entry))[0]);
        }
        row_start.push(column.len());
    }
    Csr::new(COLUMNS, row_start, column, value).unwrap()
}

fn vector(len: usize, seed: u64) -> Vec<f32> {
    let random = Philox::new(seed);
    (0..len as u64).map(|i| normals::<f32>(random.at(i, 0))[0]).collect()
}

/// For each row of `matrix`, a bound of the rounding of Σ a x in f32 whatever the order: one unit
/// roundoff of Σ |a x| for each of the row's terms, and one for the result.
fn rounding(matrix: &Csr, x: &[f32]) -> Vec<f64> {
    let unit = f64::from(f32::EPSILON) / 2.0;
    let of_row = |row| {
        let (columns, values) = matrix.row(row);
        let terms = columns.iter().zip(values).map(|(&j, &a)| f64::from(a * x[j as usize]).abs());
        unit * (columns.len() as f64 + 1.0) * terms.sum::<f64>()
    };
    (0..matrix.rows()).map(of_row).collect()
}

fn assert_within(got: &[f32], expected: &[f32], bounds: &[f64]) {
    for (i, ((got, expected), bound)) in got.iter().zip(expected).zip(bounds).enumerate() {
        let error = f64::from(got - expected).abs();
        assert!(error <= *bound, "element {i}: {got} is not {expected} within {bound}");
    }
}

#[test]
fn scalar_product_is_the_definition() {
    // 1 0 2
    // 0 3 0
    let matrix = Csr::new(3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let workers = Workers::new(1).unwrap();
    let operator = ScalarCsr::new(&matrix, &workers);
    let (mut y, mut x) = (vec![0.0; 2], vec![0.0; 3]);
    operator.apply(&vec![10.0, 20.0, 30.0], &mut y).unwrap();
    assert_eq!(y, [70.0, 60.0]);
    operator.adjoint(&vec![10.0, 20.0], &mut x).unwrap();
    assert_eq!(x, [10.0, 60.0, 20.0]);
}

#[test]
fn transposing_twice_gives_the_matrix_with_rows_sorted() {
    let matrix = Csr::new(3, vec![0, 2, 2, 4], vec![0, 2, 1, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let transposed = matrix.transposed();
    assert_eq!(transposed.row(2), (&[0, 2][..], &[2.0, 4.0][..]));
    assert_eq!(transposed.transposed(), matrix);
}

#[test]
fn threaded_products_are_the_scalar_ones_to_rounding() {
    let matrix = matrix();
    let transposed = matrix.transposed();
    let (x, y) = (vector(COLUMNS, 1), vector(matrix.rows(), 2));
    for level in SimdLevel::available() {
        let workers = Workers::new(2).unwrap().with_simd(level);
        let scalar = ScalarCsr::new(&matrix, &workers);
        let threaded = ThreadedCsr::new(&matrix, &workers);
        let (mut expected, mut got) = (vec![0.0; matrix.rows()], vec![f32::NAN; matrix.rows()]);
        scalar.apply(&x, &mut expected).unwrap();
        threaded.apply(&x, &mut got).unwrap();
        assert_within(&got, &expected, &rounding(&matrix, &x));

        let (mut expected, mut got) = (vec![0.0; COLUMNS], vec![f32::NAN; COLUMNS]);
        scalar.adjoint(&y, &mut expected).unwrap();
        threaded.adjoint(&y, &mut got).unwrap();
        assert_within(&got, &expected, &rounding(&transposed, &y));
    }
}

/// ⟨A x, y⟩ = ⟨x, A' y⟩, each within the rounding of its product.
#[test]
fn the_adjoint_is_adjoint() {
    let matrix = matrix();
    let workers = Workers::new(2).unwrap();
    let (x, y) = (vector(COLUMNS, 3), vector(matrix.rows(), 4));
    let operator = ThreadedCsr::new(&matrix, &workers);
    let (mut ax, mut aty) = (vec![0.0; matrix.rows()], vec![0.0; COLUMNS]);
    operator.apply(&x, &mut ax).unwrap();
    operator.adjoint(&y, &mut aty).unwrap();
    let left = operator.range().dot(&ax, &y).unwrap();
    let right = operator.domain().dot(&x, &aty).unwrap();
    let weigh = |bounds: Vec<f64>, by: &[f32]| -> f64 {
        bounds.iter().zip(by).map(|(bound, by)| bound * f64::from(by.abs())).sum()
    };
    let bound = weigh(rounding(&matrix, &x), &y) + weigh(rounding(&matrix.transposed(), &y), &x);
    assert!((left - right).abs() <= bound, "{left} {right} {bound}");
    assert!(left.abs() > 10.0 * bound, "the test says nothing: {left} is all rounding");
}

#[test]
fn threaded_products_have_the_same_bits_for_any_threads_and_fusing_level() {
    let matrix = matrix();
    let (x, b) = (vector(COLUMNS, 5), vector(matrix.rows(), 6));
    let of = |threads, level| {
        let workers = Workers::new(threads).unwrap().with_simd(level);
        let operator = ThreadedCsr::new(&matrix, &workers);
        let mut g = vec![0.0; COLUMNS];
        let norm = operator.gradient(&x, &b, &mut g).unwrap();
        (norm.to_bits(), g.iter().map(|g| g.to_bits()).collect::<Vec<_>>())
    };
    let fusing: Vec<_> = SimdLevel::available().into_iter().filter(|l| l.fuses()).collect();
    let results: Vec<_> =
        fusing.iter().flat_map(|&level| [1, 2, 3].map(|threads| of(threads, level))).collect();
    assert!(results.iter().all(|result| *result == results[0]));
}

/// The fused gradient does the same operations as the default in the same order, save that the
/// squares are summed per task and not per block.
#[test]
fn the_fused_gradient_is_the_one_through_residual_and_adjoint() {
    let matrix = matrix();
    let workers = Workers::new(2).unwrap();
    let (x, b) = (vector(COLUMNS, 7), vector(matrix.rows(), 8));
    let operator = ThreadedCsr::new(&matrix, &workers);
    let (mut residual, mut expected) = (vec![0.0; matrix.rows()], vec![0.0; COLUMNS]);
    operator.apply(&x, &mut residual).unwrap();
    operator.range().axpy(-1.0, &b, &mut residual).unwrap();
    operator.adjoint(&residual, &mut expected).unwrap();
    let expected_norm = operator.range().dot(&residual, &residual).unwrap();
    let mut g = vec![0.0; COLUMNS];
    let norm = operator.gradient(&x, &b, &mut g).unwrap();
    assert_eq!(g, expected);
    assert!((norm - expected_norm).abs() <= 1e-12 * expected_norm, "{norm} {expected_norm}");
}

#[test]
#[should_panic(expected = "a vector of another space")]
fn a_gradient_against_data_of_another_length_is_refused() {
    let matrix = Csr::new(1, vec![0, 1], vec![0], vec![1.0]).unwrap();
    let workers = Workers::new(1).unwrap();
    let too_long = vec![1.0, 2.0];
    let _ = ThreadedCsr::new(&matrix, &workers).gradient(&vec![1.0], &too_long, &mut vec![0.0]);
}

#[test]
fn arrays_that_contradict_each_other_are_refused() {
    let new = |row_start: &[usize], column: &[u32], values: usize| {
        Csr::new(3, row_start.to_vec(), column.to_vec(), vec![1.0; values]).err()
    };
    assert_eq!(new(&[0, 2, 1], &[0], 1), Some(CsrError::RowStarts { row: 2, start: 1 }));
    assert_eq!(new(&[1, 2], &[0, 0], 2), Some(CsrError::RowStarts { row: 0, start: 1 }));
    let lengths = CsrError::Lengths { entries: 2, columns: 1, values: 2 };
    assert_eq!(new(&[0, 2], &[0], 2), Some(lengths));
    let none = CsrError::Lengths { entries: 0, columns: 0, values: 0 };
    assert_eq!(new(&[], &[], 0), Some(none));
    assert_eq!(new(&[0, 1], &[3], 1), Some(CsrError::Column { entry: 0, column: 3, columns: 3 }));
}

#[test]
fn the_device_gives_the_bits_of_the_threads_where_they_fuse() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    if !SimdLevel::best().fuses() {
        return fimbria_testing::skipped("this processor does not fuse a * b + c");
    }
    let matrix = matrix();
    let workers = Workers::new(2).unwrap();
    let threaded = ThreadedCsr::new(&matrix, &workers);
    let on_device = DeviceCsr::new(&device, &matrix).unwrap();

    let (x, y) = (vector(COLUMNS, 2), vector(matrix.rows(), 3));
    let (mut ax, mut aty) = (vec![0.0; matrix.rows()], vec![0.0; COLUMNS]);
    threaded.apply(&x, &mut ax).unwrap();
    threaded.adjoint(&y, &mut aty).unwrap();

    let (domain, range) = (on_device.domain(), on_device.range());
    let (mut device_ax, mut device_aty) = (range.zeros().unwrap(), domain.zeros().unwrap());
    on_device.apply(&domain.upload(&x).unwrap(), &mut device_ax).unwrap();
    on_device.adjoint(&range.upload(&y).unwrap(), &mut device_aty).unwrap();
    assert_eq!(device_ax.to_vec().unwrap(), ax);
    assert_eq!(device_aty.to_vec().unwrap(), aty);
}

#[test]
fn a_vector_of_another_space_is_an_error() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let matrix = Csr::new(3, vec![0, 1], vec![2], vec![1.0]).unwrap();
    let product = DeviceCsr::new(&device, &matrix).unwrap();
    let mut y = product.range().zeros().unwrap();
    assert!(product.apply(&device.zeros(4).unwrap(), &mut y).is_err());
    assert!(product.apply(&device.zeros(3).unwrap(), &mut y).is_ok());
}
