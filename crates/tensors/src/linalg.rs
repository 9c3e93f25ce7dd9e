//! Small dense linear algebra in `f64`: what the eigenpair searches need, and no more. Matrices
//! are row by row.

/// The scalar product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Euclidean length.
pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Scales `x` to length 1; false, and `x` as it was, where that is impossible.
pub(crate) fn normalise(x: &mut [f64]) -> bool {
    let length = norm(x);
    let possible = length > 0.0 && length.is_finite();
    if possible {
        x.iter_mut().for_each(|x| *x /= length);
    }
    possible
}

/// Eigenvalues, ascending, and eigenvectors (one per row, orthonormal) of a symmetric matrix, by
/// cyclic Jacobi rotations: slow beyond a hundred rows, and accurate to the last digits.
pub(crate) fn symmetric_eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    const SWEEPS: usize = 60;
    let mut a = matrix.to_vec();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..SWEEPS {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i * n + j].powi(2))
            .sum();
        let all: f64 = dot(&a, &a);
        if off <= all * f64::EPSILON.powi(2) * 1e-4 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, n, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    let sorted = order.iter().flat_map(|&i| vectors[i * n..(i + 1) * n].to_vec()).collect();
    (values, sorted)
}

/// The rotation in the plane (p, q) that makes a_pq vanish (Golub and Van Loan, section 8.5).
fn rotate(a: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let tau = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let t = tau.signum() / (tau.abs() + tau.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..n {
        let (kp, kq) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * kp - s * kq, s * kp + c * kq);
    }
    for k in 0..n {
        let (pk, qk) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * pk - s * qk, s * pk + c * qk);
        let (pk, qk) = (vectors[p * n + k], vectors[q * n + k]);
        (vectors[p * n + k], vectors[q * n + k]) = (c * pk - s * qk, s * pk + c * qk);
    }
    // What the rotation is for; rounding would leave a trace.
    (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
}

/// Smallest eigenvalue of a symmetric matrix.
pub(crate) fn smallest_eigenvalue(matrix: &[f64], n: usize) -> f64 {
    symmetric_eigen(matrix, n).0[0]
}

/// Solves `matrix` s = `rhs` in place by elimination with partial pivoting, overwriting both;
/// false where the matrix is singular to working precision.
pub(crate) fn solve(matrix: &mut [f64], rhs: &mut [f64]) -> bool {
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

/// The lower triangle L of L Lᵀ = `matrix`; none where it is not positive definite.
pub(crate) fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let rest = matrix[i * n + j] - dot(&l[i * n..i * n + j], &l[j * n..j * n + j]);
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return None;
                }
                l[i * n + i] = rest.sqrt();
            } else {
                l[i * n + j] = rest / l[j * n + j];
            }
        }
    }
    Some(l)
}

/// An orthonormal basis of the vectors orthogonal to the unit vector `x`, one of n - 1 per row:
/// rows of the reflection that takes x to an axis.
pub(crate) fn tangent_basis(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let axis = (0..n).max_by(|&i, &j| x[i].abs().total_cmp(&x[j].abs())).unwrap_or(0);
    // I - 2 v vᵀ / vᵀv with v = x + sign(x_axis) e_axis: no cancellation.
    let mut v = x.to_vec();
    v[axis] += x[axis].signum();
    let scale = 2.0 / dot(&v, &v);
    let mut basis = Vec::with_capacity(n * n.saturating_sub(1));
    for row in (0..n).filter(|&row| row != axis) {
        basis.extend((0..n).map(|k| f64::from(u8::from(k == row)) - scale * v[row] * v[k]));
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_entries, random_unit};

    fn random_symmetric(seed: u64, n: usize) -> Vec<f64> {
        let r = random_entries(seed, n * n);
        (0..n * n).map(|k| r[k] + r[(k % n) * n + k / n]).collect()
    }

    #[test]
    fn eigenvectors_diagonalise_a_symmetric_matrix() {
        for n in [1, 2, 3, 7, 20] {
            let a = random_symmetric(n as u64, n);
            let (values, vectors) = symmetric_eigen(&a, n);
            assert!(values.is_sorted());
            for (value, v) in values.iter().zip(vectors.chunks_exact(n)) {
                for row in 0..n {
                    let residual = dot(&a[row * n..(row + 1) * n], v) - value * v[row];
                    // A few roundings of a matrix of norm about sqrt(n).
                    assert!(residual.abs() < 1e-14 * n as f64, "{residual}");
                }
                assert!((norm(v) - 1.0).abs() < 1e-14 * n as f64);
            }
        }
    }

    #[test]
    fn elimination_solves_what_is_regular_and_refuses_what_is_not() {
        let n = 8;
        let matrix = random_entries(3, n * n);
        let expected = random_entries(4, n);
        let mut rhs: Vec<_> = matrix.chunks_exact(n).map(|row| dot(row, &expected)).collect();
        assert!(solve(&mut matrix.clone(), &mut rhs));
        // Condition numbers of random matrices of this size are below 1e4.
        (0..n).for_each(|i| assert!((rhs[i] - expected[i]).abs() < 1e-11));
        assert!(!solve(&mut [1.0, 2.0, 2.0, 4.0], &mut [1.0, 1.0]));
        assert!(!solve(&mut [f64::NAN; 4], &mut [1.0, 1.0]));
    }

    #[test]
    fn cholesky_refuses_what_is_not_definite() {
        assert_eq!(cholesky(&[4.0, 2.0, 2.0, 5.0], 2), Some(vec![2.0, 0.0, 1.0, 2.0]));
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
    }

    #[test]
    fn tangents_are_orthonormal_and_orthogonal_to_x() {
        for n in [1, 2, 3, 6] {
            let x = random_unit(n as u64, n);
            let basis = tangent_basis(&x);
            let rows: Vec<_> = basis.chunks_exact(n).collect();
            assert_eq!(rows.len(), n - 1);
            for (i, a) in rows.iter().enumerate() {
                assert!(dot(a, &x).abs() < 1e-15);
                for (j, b) in rows.iter().enumerate() {
                    let expected = f64::from(u8::from(i == j));
                    assert!((dot(a, b) - expected).abs() < 1e-15);
                }
            }
        }
    }
}
