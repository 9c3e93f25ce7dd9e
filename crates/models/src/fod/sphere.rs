//! The directions in which a density must not be negative.

use std::f64::consts::PI;

use fimbria_tensors::sh::{ShBasis, evaluate};

use crate::half_sphere::half_sphere;

/// Directions of the constraint, spread over the half sphere 8° apart: the lobes of order 8 are
/// 40° wide.
pub const N_DIRECTIONS: usize = 300;
/// Neighbours within this angle are compared for a maximum, rad.
const NEIGHBOURHOOD: f64 = 12.5 * PI / 180.0;

/// The directions with their spherical harmonics.
#[derive(Clone, Debug)]
pub(crate) struct Sphere {
    /// Basis functions, `[direction][coefficient]`.
    pub(crate) harmonics: Vec<f64>,
    /// Those that share a neighbourhood with each direction (or its opposite).
    pub(crate) neighbours: Vec<Vec<usize>>,
}

impl Sphere {
    /// The directions with functions up to degree `lmax`.
    pub(crate) fn new(lmax: usize) -> Self {
        let dirs = half_sphere(N_DIRECTIONS);
        let harmonics = dirs.iter().flat_map(|&d| evaluate(ShBasis::Mrtrix, lmax, d)).collect();
        let near = |a: [f64; 3], b: [f64; 3]| {
            (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).abs() > NEIGHBOURHOOD.cos()
        };
        let neighbours = (0..N_DIRECTIONS)
            .map(|i| (0..N_DIRECTIONS).filter(|&j| j != i && near(dirs[i], dirs[j])).collect())
            .collect();
        Self { harmonics, neighbours }
    }

    /// The two largest local maxima of the function with these coefficients, 0 for one that is not
    /// there.
    pub(crate) fn two_peaks(&self, coefficients: &[f64]) -> [f64; 2] {
        let n = coefficients.len();
        let amplitude = |row: &[f64]| row.iter().zip(coefficients).map(|(y, f)| y * f).sum();
        let amplitudes: Vec<f64> = self.harmonics.chunks_exact(n).map(amplitude).collect();
        let mut peaks = [0.0; 2];
        for (i, &a) in amplitudes.iter().enumerate() {
            if self.neighbours[i].iter().any(|&j| amplitudes[j] >= a) || a <= peaks[1] {
                continue;
            }
            peaks[1] = a;
            if a > peaks[0] {
                peaks = [a, peaks[0]];
            }
        }
        peaks
    }
}
