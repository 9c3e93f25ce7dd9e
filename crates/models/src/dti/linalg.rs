//! Small dense symmetric systems in `f64`.

/// A pivot below this fraction of its diagonal element leaves fewer than three digits: the system
/// counts as singular.
const SMALLEST_PIVOT: f64 = 1e-13;

/// The lower Cholesky factor of a symmetric positive definite matrix (only its lower triangle is
/// read), or `None` where it is singular or not finite.
pub(crate) fn cholesky<const N: usize>(a: &[[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut l = [[0.0; N]; N];
    for j in 0..N {
        let pivot = a[j][j] - (0..j).map(|k| l[j][k] * l[j][k]).sum::<f64>();
        if !(pivot > SMALLEST_PIVOT * a[j][j] && pivot.is_finite()) {
            return None;
        }
        l[j][j] = pivot.sqrt();
        for i in j + 1..N {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = (a[i][j] - dot) / l[j][j];
        }
    }
    Some(l)
}

/// Solves `L Lᵀ x = b`.
pub(crate) fn solve_cholesky<const N: usize>(l: &[[f64; N]; N], b: &[f64; N]) -> [f64; N] {
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
pub(crate) fn rank<const N: usize>(a: &[[f64; N]; N], tolerance: f64) -> usize {
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
    use super::*;

    #[test]
    fn cholesky_solves_a_hilbert_system() {
        let h: [[f64; 4]; 4] =
            std::array::from_fn(|i| std::array::from_fn(|j| 1.0 / (i + j + 1) as f64));
        let truth = [1.0, -2.0, 3.0, -4.0];
        let b = h.map(|row| (0..4).map(|j| row[j] * truth[j]).sum());
        let x = solve_cholesky(&cholesky(&h).unwrap(), &b);
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
        let gram: [[f64; 4]; 4] = std::array::from_fn(|i| {
            std::array::from_fn(|j| (0..4).map(|k| columns[i][k] * columns[j][k]).sum())
        });
        assert_eq!(rank(&gram, 1e-9), 3);
        assert!(cholesky(&gram).is_none());
    }
}
