//! Eigenvectors of symmetric 3x3 matrices.

use crate::Affine;
use crate::frames::{Matrix3, product, transposed};

/// The unit eigenvector of the largest eigenvalue of a symmetric matrix, its largest component
/// positive; zero for the zero matrix.
pub fn principal_axis(m: &Matrix3) -> [f64; 3] {
    if m.iter().flatten().all(|x| *x == 0.0) { [0.0; 3] } else { eigen(m).1[0] }
}

/// Eigenvalues (largest first) and unit eigenvectors (largest component positive) of a symmetric
/// matrix, by Jacobi rotations: each makes one off-diagonal entry zero, and the sum of their
/// squares falls quadratically from sweep to sweep. Here because images know nothing of where work
/// runs, which is where other matrices are taken apart (`compute::dense`).
pub(crate) fn eigen(m: &Matrix3) -> ([f64; 3], [[f64; 3]; 3]) {
    let mut a = *m;
    let mut v = Affine::IDENTITY.linear();
    for _sweep in 0..12 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let (sin, cos) = (0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p])).sin_cos();
            let mut turn = Affine::IDENTITY.linear();
            (turn[p][p], turn[q][q], turn[p][q], turn[q][p]) = (cos, cos, sin, -sin);
            a = product(&product(&transposed(&turn), &a), &turn);
            v = product(&v, &turn);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    let vectors = transposed(&v);
    let signed = |i: usize| {
        let x = vectors[i];
        let largest = x.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(1.0);
        x.map(|c| c * largest.signum())
    };
    (order.map(|i| a[i][i]), order.map(signed))
}
