//! Matrices of three rows.

/// A 3x3 matrix, row-major.
pub type Matrix3 = [[f64; 3]; 3];

/// The determinant.
pub fn determinant(m: &Matrix3) -> f64 {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

/// The inverse by cofactors, `None` where the determinant is zero or not finite.
pub fn inverse(m: &Matrix3) -> Option<Matrix3> {
    let det = determinant(m);
    let cofactor = |i: usize, j: usize| {
        let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    (det.is_finite() && det != 0.0)
        .then(|| std::array::from_fn(|i| std::array::from_fn(|j| cofactor(j, i) / det)))
}
