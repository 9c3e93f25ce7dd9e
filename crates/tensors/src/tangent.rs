//! The tangents of the unit sphere at a point.

use fimbria_compute::dense::vector::dot;

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
    use crate::testing::random_unit;

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
