//! Eigenpairs of a symmetric 3x3 matrix by Jacobi's method.

/// Eigenvalues, largest first, and their unit eigenvectors, of xx xy xz yy yz zz.
pub(crate) fn eigen(d: [f64; 6]) -> ([f64; 3], [[f64; 3]; 3]) {
    let mut a = [[d[0], d[1], d[2]], [d[1], d[3], d[4]], [d[2], d[4], d[5]]];
    // Rows are the current axes.
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    // Convergence is quadratic; five sweeps reach rounding from any start.
    for _ in 0..10 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = t.hypot(1.0).recip();
            let s = t * c;
            for k in 0..3 {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                (v[p][k], v[q][k]) = (c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]);
            }
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    (order.map(|i| a[i][i]), order.map(|i| v[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_testing::{Noise, tensor};

    #[test]
    fn eigenpairs_rebuild_the_matrix_they_came_from() {
        let mut noise = Noise(1);
        for _ in 0..200 {
            let truth = [3.0 * noise.uniform(), noise.uniform(), -0.1 * noise.uniform()];
            let angles = std::array::from_fn(|_| 6.0 * noise.uniform());
            let (d, _) = tensor(truth, angles);
            let (l, v) = eigen(d);
            let mut sorted = truth;
            sorted.sort_by(|a, b| b.total_cmp(a));
            for k in 0..3 {
                assert!((l[k] - sorted[k]).abs() < 1e-14 * 8.0, "{l:?} {sorted:?}");
                let full = [[d[0], d[1], d[2]], [d[1], d[3], d[4]], [d[2], d[4], d[5]]];
                for i in 0..3 {
                    let dv: f64 = (0..3).map(|j| full[i][j] * v[k][j]).sum();
                    assert!((dv - l[k] * v[k][i]).abs() < 1e-14 * 8.0);
                }
            }
        }
    }

    #[test]
    fn a_multiple_of_the_identity_has_the_axes_as_eigenvectors() {
        let (l, v) = eigen([2.0, 0.0, 0.0, 2.0, 0.0, 2.0]);
        assert_eq!(l, [2.0; 3]);
        assert_eq!(v, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    }
}
