//! Positive definite matrices.

use super::vector::dot;

/// The lower triangle L of L Lᵀ = `matrix`, zero above; only the lower triangle of `matrix` is read.
/// `None` where a pivot is not above `least` times its diagonal element: with 0 where the matrix is not
/// positive definite, with more where too few digits are left.
pub fn factor(matrix: &[f64], n: usize, least: f64) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    factor_into(matrix, n, least, &mut l).then_some(l)
}

/// [`factor`] of a matrix whose size is known to the compiler.
pub fn factor_array<const N: usize>(matrix: &[[f64; N]; N], least: f64) -> Option<[[f64; N]; N]> {
    let mut l = [[0.0; N]; N];
    factor_into(matrix.as_flattened(), N, least, l.as_flattened_mut()).then_some(l)
}

/// Row by row; `l` is zero beforehand. False where a pivot is too small.
#[inline]
fn factor_into(matrix: &[f64], n: usize, least: f64, l: &mut [f64]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let rest = matrix[i * n + j] - dot(&l[i * n..i * n + j], &l[j * n..j * n + j]);
            if j < i {
                l[i * n + j] = rest / l[j * n + j];
            } else if rest > least * matrix[i * n + i] {
                l[i * n + i] = rest.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// The solution of L Lᵀ x = b.
pub fn solve<const N: usize>(l: &[[f64; N]; N], b: &[f64; N]) -> [f64; N] {
    let mut x = *b;
    for i in 0..N {
        for k in 0..i {
            x[i] -= l[i][k] * x[k];
        }
        x[i] /= l[i][i];
    }
    for i in (0..N).rev() {
        for k in i + 1..N {
            x[i] -= l[k][i] * x[k];
        }
        x[i] /= l[i][i];
    }
    x
}

/// The rank of a symmetric positive semidefinite matrix: its columns are scaled to unit diagonal,
/// then eliminated largest pivot first until the pivot falls below `tolerance`.
pub fn rank<const N: usize>(a: &[[f64; N]; N], tolerance: f64) -> usize {
    let scale: [f64; N] =
        std::array::from_fn(|i| if a[i][i] > 0.0 { a[i][i].sqrt().recip() } else { 0.0 });
    let mut m: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] * scale[i] * scale[j]));
    let mut left: Vec<usize> = (0..N).collect();
    while let Some(at) = (0..left.len()).max_by(|&p, &q| {
        let (p, q) = (left[p], left[q]);
        m[p][p].total_cmp(&m[q][q])
    }) {
        let p = left.swap_remove(at);
        if m[p][p] <= tolerance {
            return N - left.len() - 1;
        }
        for &i in &left {
            for &j in &left {
                m[i][j] -= m[i][p] * m[p][j] / m[p][p];
            }
        }
    }
    N
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dense::testing::{matrix, product, transposed};

    #[test]
    fn a_factor_is_that_by_hand_and_what_is_not_definite_has_none() {
        assert_eq!(factor(&[4.0, 2.0, 2.0, 5.0], 2, 0.0), Some(vec![2.0, 0.0, 1.0, 2.0]));
        assert_eq!(factor(&[1.0, 2.0, 2.0, 1.0], 2, 0.0), None);
        assert_eq!(factor(&[1.0, 1.0, 1.0, 1.0], 2, 0.0), None);
        assert_eq!(factor(&[f64::NAN], 1, 0.0), None);
    }

    #[test]
    fn a_pivot_that_is_rounding_of_its_diagonal_is_none() {
        let nearly = [[1.0, 1.0], [1.0, 1.0 + 1e-14]];
        assert!(factor_array(&nearly, 1e-13).is_none());
        assert!(factor_array(&nearly, 1e-15).is_some());
    }

    #[test]
    fn a_hilbert_system_is_solved() {
        let h: [[f64; 4]; 4] =
            std::array::from_fn(|i| std::array::from_fn(|j| 1.0 / (i + j + 1) as f64));
        let truth = [1.0, -2.0, 3.0, -4.0];
        let b = h.map(|row| dot(&row, &truth));
        let x = solve(&factor_array(&h, 0.0).unwrap(), &b);
        for i in 0..4 {
            // The condition number is 1.6e4.
            assert!((x[i] - truth[i]).abs() < 1e-11, "{x:?}");
        }
    }

    #[test]
    fn rank_counts_independent_columns_whatever_their_scale() {
        let columns = [
            [1.0, 0.0, 2.0, 0.0],
            [0.0, 1e-6, 0.0, 0.0],
            [1.0, 1e-6, 2.0, 0.0],
            [0.0, 0.0, 0.0, 1e5],
        ];
        let gram: [[f64; 4]; 4] =
            std::array::from_fn(|i| std::array::from_fn(|j| dot(&columns[i], &columns[j])));
        assert_eq!(rank(&gram, 1e-9), 3);
        assert!(factor_array(&gram, 1e-13).is_none());
    }

    proptest! {
        #[test]
        fn the_factor_times_its_transpose_is_the_matrix((n, b) in matrix(1..9)) {
            // B Bᵀ + 1 has no eigenvalue below 1.
            let mut a = product(&b, &transposed(&b, n), n);
            (0..n).for_each(|i| a[i * n + i] += 1.0);
            let l = factor(&a, n, 0.0).unwrap();
            let back = product(&l, &transposed(&l, n), n);
            for (k, (a, back)) in a.iter().zip(&back).enumerate() {
                // Entries up to 9: roundings of eight products.
                prop_assert!((a - back).abs() < 1e-13, "{} and {}", a, back);
                prop_assert!(k / n >= k % n || l[k] == 0.0);
            }
        }
    }
}
