//! How much water is displaced into which direction: the propagator times r², integrated along rays (Özarslan et al.
//! 2013), as spherical harmonics.

use std::f64::consts::PI;

use fimbria_tensors::sh::{ShBasis, evaluate, sh_count};

use super::basis::Basis;
use super::solve::{backward, factor, forward};
use crate::half_sphere::half_sphere;

/// The degree of its harmonics.
pub(super) const DEGREE: usize = 8;
/// Directions over half of the sphere, twice as many as there are harmonics.
const DIRECTIONS: usize = 100;
/// Nodes z > 0 of Gauss and Hermite's rule of seven, with weights: exact up to degree 13, where s² times the
/// largest order has 10.
const NODES: [[f64; 2]; 3] = [
    [0.816_287_882_858_964_7, 0.425_607_252_610_127_8],
    [1.673_551_628_767_471_4, 0.054_515_582_819_127_03],
    [2.651_961_356_835_233_5, 9.717_812_450_995_192e-4],
];

/// Rays, and what makes harmonics of values along them by least squares.
pub(super) struct Rays {
    dirs_ras: Vec<[f64; 3]>,
    /// `[coefficient][direction]`.
    projection: Vec<f64>,
}

impl Rays {
    pub(super) fn new() -> Self {
        let dirs_ras = half_sphere(DIRECTIONS);
        let rows: Vec<Vec<f64>> =
            dirs_ras.iter().map(|&dir| evaluate(ShBasis::Mrtrix, DEGREE, dir)).collect();
        let n = sh_count(DEGREE);
        let product = |at: usize| rows.iter().map(|row| row[at / n] * row[at % n]).sum::<f64>();
        let mut normal: Vec<f64> = (0..n * n).map(product).collect();
        let is_solvable = factor(&mut normal, n);
        debug_assert!(is_solvable, "100 directions determine 45 harmonics");
        let mut projection = vec![0.0; n * DIRECTIONS];
        for (at, row) in rows.iter().enumerate() {
            let mut column = row.clone();
            forward(&normal, n, &mut column);
            backward(&normal, n, &mut column);
            column.iter().enumerate().for_each(|(k, x)| projection[k * DIRECTIONS + at] = *x);
        }
        Self { dirs_ras, projection }
    }

    /// The harmonics of the propagator with these coefficients, on axes of these u (mm): integral 1.
    #[inline(always)]
    pub(super) fn harmonics(
        &self,
        basis: &Basis,
        coefficients: &[f64],
        u: [f64; 3],
        axes: [[f64; 3]; 3],
    ) -> impl Iterator<Item = f64> {
        let along = self.dirs_ras.iter().map(|&dir| ray(basis, coefficients, u, axes, dir));
        let values: Vec<f64> = along.collect();
        let rows = self.projection.chunks_exact(DIRECTIONS);
        rows.map(move |row| row.iter().zip(&values).map(|(p, v)| p * v).sum())
    }
}

/// ∫ P(r g) r² dr over r > 0.
#[inline(always)]
pub(super) fn ray(
    basis: &Basis,
    coefficients: &[f64],
    u: [f64; 3],
    axes: [[f64; 3]; 3],
    g: [f64; 3],
) -> f64 {
    let v = [0, 1, 2].map(|k| {
        let [x, y, z] = axes[k];
        (g[0] * x + g[1] * y + g[2] * z) / u[k]
    });
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let sum: f64 = (NODES.iter())
        .map(|[z, weight]| {
            let t = v.map(|v| std::f64::consts::SQRT_2 * z * v / length);
            weight * z * z * basis.polynomial(t, coefficients)
        })
        .sum();
    // The propagator has 1 over (2π)^(3/2) Π u before its functions.
    2.0 * std::f64::consts::SQRT_2 * sum
        / ((2.0 * PI).powf(1.5) * u[0] * u[1] * u[2] * length.powi(3))
}
