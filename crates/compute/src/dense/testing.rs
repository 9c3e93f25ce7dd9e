//! Matrices for tests.

use std::ops::Range;

use proptest::prelude::*;

/// A number of rows and as many entries between -1 and 1.
pub(super) fn matrix(rows: Range<usize>) -> impl Strategy<Value = (usize, Vec<f64>)> {
    rows.prop_flat_map(|n| (Just(n), prop::collection::vec(-1.0..1.0_f64, n * n)))
}

pub(super) fn transposed(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| matrix[(k % n) * n + k / n]).collect()
}

pub(super) fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
    (0..n * n).map(|ij| entry(ij / n, ij % n)).collect()
}
