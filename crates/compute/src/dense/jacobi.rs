//! Eigenpairs of symmetric matrices by Jacobi's rotations (Golub and Van Loan, section 8.5).

use super::vector::dot;

/// Eigenvalues, ascending, and eigenvectors (one per row, orthonormal) of a symmetric matrix, by
/// cyclic rotations: slow beyond a hundred rows, and accurate to the last digits.
pub fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
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
                // What the rotation is for; rounding would leave a trace.
                (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    let sorted = order.iter().flat_map(|&i| vectors[i * n..(i + 1) * n].to_vec()).collect();
    (values, sorted)
}

/// Eigenvalues, largest first, and their unit eigenvectors of a symmetric matrix of three rows, given
/// as xx xy xz yy yz zz.
///
/// Convergence is quadratic and five sweeps reach rounding from any start, so that none is counted.
/// Traces of rounding are turned on, not cleared as in [`eigen`]: where eigenvalues coincide the
/// eigenvectors, which are then any in their plane, differ between the two.
pub fn eigen3([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> ([f64; 3], [[f64; 3]; 3]) {
    let mut a = [xx, xy, xz, xy, yy, yz, xz, yz, zz];
    let mut v = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    for _sweep in 0..10 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            rotate(&mut a, &mut v, 3, p, q);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[4 * j].total_cmp(&a[4 * i]));
    (order.map(|i| a[4 * i]), order.map(|i| [v[3 * i], v[3 * i + 1], v[3 * i + 2]]))
}

/// The rotation in the plane (p, q) that makes a_pq vanish, of `a` and of the rows of `vectors`.
#[inline]
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dense::testing::{matrix, product, transposed};

    #[test]
    fn eigenvalues_of_two_rows_are_those_of_the_quadratic_equation() {
        // λ² - 6 λ + 8 = 0.
        let (values, vectors) = eigen(&[3.0, 1.0, 1.0, 3.0], 2);
        for (found, expected) in values.iter().zip([2.0, 4.0]) {
            assert!((found - expected).abs() < 1e-15 * 8.0);
        }
        assert!((vectors[0] + vectors[1]).abs() < 1e-15 && (vectors[2] - vectors[3]).abs() < 1e-15);
    }

    #[test]
    fn a_multiple_of_the_identity_has_the_axes_as_eigenvectors() {
        let (l, v) = eigen3([2.0, 0.0, 0.0, 2.0, 0.0, 2.0]);
        assert_eq!(l, [2.0; 3]);
        assert_eq!(v, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    }

    #[test]
    fn no_number_comes_back_as_none_and_does_not_hang() {
        assert!(eigen(&[f64::NAN; 9], 3).0.iter().any(|l| l.is_nan()));
    }

    proptest! {
        #[test]
        fn eigenpairs_rebuild_the_matrix_they_came_from((n, b) in matrix(1..21)) {
            let a: Vec<f64> = b.iter().zip(transposed(&b, n)).map(|(b, t)| b + t).collect();
            let (values, vectors) = eigen(&a, n);
            prop_assert!(values.is_sorted());
            let scaled: Vec<f64> =
                (0..n * n).map(|k| values[k / n] * vectors[k]).collect();
            let back = product(&transposed(&vectors, n), &scaled, n);
            let one = product(&vectors, &transposed(&vectors, n), n);
            for k in 0..n * n {
                // A few roundings per sweep of a matrix of norm up to 2 n.
                prop_assert!((back[k] - a[k]).abs() < 1e-14 * (n * n + 10) as f64);
                let expected = f64::from(u8::from(k / n == k % n));
                prop_assert!((one[k] - expected).abs() < 1e-14 * (n + 1) as f64);
            }
        }

        #[test]
        fn three_rows_have_the_eigenpairs_that_any_number_of_rows_has(
            d in prop::array::uniform6(-3.0..3.0_f64),
        ) {
            let [xx, xy, xz, yy, yz, zz] = d;
            let full = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
            let (values, _) = eigen(full.as_flattened(), 3);
            let (found, axes) = eigen3(d);
            for k in 0..3 {
                // A few roundings of numbers up to 9.
                prop_assert!((found[k] - values[2 - k]).abs() < 1e-14);
                prop_assert!((dot(&axes[k], &axes[k]) - 1.0).abs() < 1e-14);
                for row in 0..3 {
                    let residual = dot(&full[row], &axes[k]) - found[k] * axes[k][row];
                    prop_assert!(residual.abs() < 1e-13, "{}", residual);
                }
            }
        }
    }
}
