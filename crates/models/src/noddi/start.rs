//! Where a fit starts: at the best of a grid of fractions and dispersions, from what a voxel's signals are on
//! average over each shell, and how they vary there with the angle to the axis of the tensor.

use std::f64::consts::FRAC_PI_2;

use super::signal::{decay_moments, second_moment};

/// Fractions of sticks in the tissue.
const FRACTIONS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
/// Orientation dispersion indices.
const DISPERSIONS: [f64; 5] = [0.03, 0.1, 0.25, 0.5, 0.8];
/// The share of free water starts inside these, so that it can move.
const FREE: [f64; 2] = [0.02, 0.95];

/// The samples of a shell.
#[derive(Clone, Debug)]
pub(super) struct Shell {
    /// Which ones.
    pub(super) samples: Vec<usize>,
    /// b times the diffusivity along sticks.
    pub(super) x: f64,
    /// What free water has left.
    pub(super) free: f64,
}

/// The grid for a protocol.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    shells: Vec<Shell>,
    /// The direction of every sample.
    dirs_ras: Vec<[f64; 3]>,
    points: Vec<Point>,
    /// Σ n free² over shells.
    free_square: f64,
}

/// Tissue of a grid point.
#[derive(Clone, Debug)]
struct Point {
    fraction: f64,
    odi: f64,
    /// Its coefficients of degree 0 and 2 in each shell.
    moments: Vec<[f64; 2]>,
    /// Σ n (m₀² + 5 m₂²), Σ n m₀ free.
    square: f64,
    with_free: f64,
}

impl Grid {
    /// Of shells whose samples have these directions.
    pub(super) fn new(shells: Vec<Shell>, dirs_ras: Vec<[f64; 3]>) -> Self {
        let count = |shell: &Shell| shell.samples.len() as f64;
        let mut points = Vec::new();
        for fraction in FRACTIONS {
            for odi in DISPERSIONS {
                let moments: Vec<_> =
                    shells.iter().map(|shell| tissue(fraction, odi, shell.x)).collect();
                let each = || shells.iter().zip(&moments);
                let square =
                    each().map(|(s, m)| count(s) * (m[0] * m[0] + 5.0 * m[1] * m[1])).sum();
                let with_free = each().map(|(s, m)| count(s) * m[0] * s.free).sum();
                points.push(Point { fraction, odi, moments, square, with_free });
            }
        }
        let free_square = shells.iter().map(|s| count(s) * s.free * s.free).sum();
        Self { shells, dirs_ras, points, free_square }
    }

    /// S0, the fraction of sticks, ODI and the share of free water nearest to these samples, with
    /// the mean direction along `axis`.
    pub(super) fn nearest(&self, samples: &[f32], axis: [f64; 3]) -> [f64; 4] {
        // Sums over the samples of each shell: of S, and of S P₂.
        let sums = |shell: &Shell| {
            shell.samples.iter().fold([0.0; 2], |[zero, two], &i| {
                let (s, g) = (f64::from(samples[i]), self.dirs_ras[i]);
                let cos = g[0] * axis[0] + g[1] * axis[1] + g[2] * axis[2];
                [zero + s, two + s * (1.5 * cos * cos - 0.5)]
            })
        };
        let sums: Vec<_> = self.shells.iter().map(sums).collect();
        let free: f64 = self.shells.iter().zip(&sums).map(|(s, m)| s.free * m[0]).sum();
        let mut best = (0.0, [1.0, 0.5, 0.25, FREE[0]]);
        for point in &self.points {
            let terms = point.moments.iter().zip(&sums);
            let tissue: f64 = terms.map(|(m, s)| m[0] * s[0] + 5.0 * m[1] * s[1]).sum();
            // Least squares of amplitudes of tissue and free water, neither negative.
            let determinant = point.square * self.free_square - point.with_free.powi(2);
            let of_tissue = (tissue * self.free_square - free * point.with_free) / determinant;
            let of_free = (free * point.square - tissue * point.with_free) / determinant;
            let [of_tissue, of_free] = match (of_tissue > 0.0, of_free > 0.0) {
                (true, true) => [of_tissue, of_free],
                (false, _) => [0.0, free / self.free_square],
                (true, _) => [tissue / point.square, 0.0],
            };
            // What they take off the sum of squares.
            let gain = of_tissue * tissue + of_free * free;
            if gain > best.0 {
                let s0 = of_tissue + of_free;
                let share = (of_free / s0).clamp(FREE[0], FREE[1]);
                best = (gain, [s0, point.fraction, point.odi, share]);
            }
        }
        best.1
    }
}

/// Coefficients of degree 0 and 2 of the tissue's signal about its mean direction.
fn tissue(fraction: f64, odi: f64, x: f64) -> [f64; 2] {
    let second = second_moment(odi);
    let (mut sticks, mut zeppelin) = ([0.0; 2], [0.0; 2]);
    decay_moments(x, &mut sticks);
    decay_moments(x * fraction * second, &mut zeppelin);
    let outside = (1.0 - fraction) * (-x * (1.0 - fraction * (2.0 + second) / 3.0)).exp();
    [
        fraction * sticks[0] + outside * zeppelin[0],
        fraction * second * sticks[1] + outside * zeppelin[1],
    ]
}

/// Watson's concentration of an orientation dispersion index.
pub(super) fn concentration(odi: f64) -> f64 {
    1.0 / (FRAC_PI_2 * odi).tan()
}
