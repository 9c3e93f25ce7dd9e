//! Elimination with partial pivoting.

use super::vector::dot;

/// Solves `matrix` x = `rhs` in place, overwriting both; false where the matrix is singular to
/// working precision.
pub fn solve(matrix: &mut [f64], rhs: &mut [f64]) -> bool {
    let n = rhs.len();
    let largest = matrix.iter().fold(0.0, |max: f64, a| max.max(a.abs()));
    for column in 0..n {
        let magnitude = |row: &usize| matrix[row * n + column].abs();
        let Some(pivot) = (column..n).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b))) else {
            return false;
        };
        let pivot_size = matrix[pivot * n + column].abs();
        if pivot_size.is_nan() || pivot_size <= largest * f64::EPSILON * 1e-3 {
            return false;
        }
        if pivot != column {
            (0..n).for_each(|k| matrix.swap(pivot * n + k, column * n + k));
            rhs.swap(pivot, column);
        }
        let (above, below) = matrix.split_at_mut((column + 1) * n);
        let pivot_row = &above[column * n..];
        for (offset, row) in below.chunks_exact_mut(n).enumerate() {
            let factor = row[column] / pivot_row[column];
            if factor != 0.0 {
                (column..n).for_each(|k| row[k] -= factor * pivot_row[k]);
                rhs[column + 1 + offset] -= factor * rhs[column];
            }
        }
    }
    for row in (0..n).rev() {
        let known = dot(&matrix[row * n + row + 1..(row + 1) * n], &rhs[row + 1..]);
        rhs[row] = (rhs[row] - known) / matrix[row * n + row];
    }
    true
}

/// The inverse, `None` where the matrix is singular to working precision.
pub fn inverse(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut out = vec![0.0; n * n];
    for column in 0..n {
        let mut x = vec![0.0; n];
        x[column] = 1.0;
        if !solve(&mut matrix.to_vec(), &mut x) {
            return None;
        }
        (0..n).for_each(|row| out[row * n + column] = x[row]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dense::testing::{matrix, product};

    #[test]
    fn what_is_singular_is_refused() {
        assert!(!solve(&mut [1.0, 2.0, 2.0, 4.0], &mut [1.0, 1.0]));
        assert!(!solve(&mut [f64::NAN; 4], &mut [1.0, 1.0]));
        assert_eq!(inverse(&[0.0], 1), None);
    }

    #[test]
    fn a_zero_on_the_diagonal_is_no_hindrance() {
        assert_eq!(inverse(&[0.0, 2.0, 4.0, 0.0], 2), Some(vec![0.0, 0.25, 0.5, 0.0]));
    }

    proptest! {
        #[test]
        fn the_inverse_times_the_matrix_is_one((n, mut a) in matrix(1..9)) {
            // Larger on the diagonal than all of a row together.
            (0..n).for_each(|i| a[i * n + i] += 10.0);
            let one = product(&inverse(&a, n).unwrap(), &a, n);
            for (k, entry) in one.iter().enumerate() {
                let expected = f64::from(u8::from(k / n == k % n));
                // Condition numbers below 10.
                prop_assert!((entry - expected).abs() < 1e-13, "{}", entry);
            }
        }
    }
}
