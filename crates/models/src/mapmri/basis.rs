//! The basis: products of Hermite functions along the three axes of the tensor, and what does not depend on the
//! voxel.
//!
//! With t = √(2 λ b) (g·e) along an axis of diffusivity λ the signal's functions are s Π hₙ(t), hₙ the
//! orthogonal Hermite functions exp(-t²/2) Hₙ(t) / √(2ⁿ n!) and s = (-1)^(total order / 2); those of the
//! propagator are Π hₙ(x/u), u = √(2 λ τ), each over (2π)^(3/2) Π u: Fourier's transform of hₙ is itself.

use std::f64::consts::PI;

/// The largest order.
pub(super) const MOST: usize = 8;

/// Hermite functions of degree 0 to [`MOST`] at t, all times `first`, which stands for exp(-t²/2).
#[inline(always)]
pub(super) fn hermite(t: f64, first: f64) -> [f64; MOST + 1] {
    let mut h = [first; MOST + 1];
    h[1] = std::f64::consts::SQRT_2 * t * first;
    for n in 1..MOST {
        let (next, now) = ((n + 1) as f64, n as f64);
        h[n + 1] = (2.0 / next).sqrt() * t * h[n] - (now / next).sqrt() * h[n - 1];
    }
    h
}

/// The functions of an order, with what is the same in all voxels.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    /// Degrees along the three axes, of even sum, by that sum.
    pub(super) degrees: Vec<[usize; 3]>,
    /// The sign s of each in the signal.
    pub(super) signs: Vec<f64>,
    /// hₙ(0) of each degree; 0 of odd ones.
    pub(super) at_zero: [f64; MOST + 1],
    /// The matrix of the Laplacian: entries (i, j <= i) with the factors of the squared weights xx yy zz and of
    /// the products xy xz yz of the weights w = (2π u)² of the axes, before division by Π 2πu.
    laplacian: Vec<(usize, usize, [f64; 6])>,
}

/// The matrix of the second derivative in Hermite functions: it ties degrees n and n, n ± 2.
fn second_derivative(m: usize, n: usize) -> f64 {
    let low = m.min(n) as f64;
    match m.abs_diff(n) {
        0 => -(low + 0.5),
        2 => 0.5 * ((low + 1.0) * (low + 2.0)).sqrt(),
        _ => 0.0,
    }
}

impl Basis {
    /// Of an even order up to [`MOST`].
    pub(super) fn new(order: usize) -> Self {
        let mut degrees = Vec::new();
        for sum in (0..=order).step_by(2) {
            for first in (0..=sum).rev() {
                degrees.extend((0..=sum - first).rev().map(|n| [first, n, sum - first - n]));
            }
        }
        let sign = |n: &[usize; 3]| if n.iter().sum::<usize>() % 4 == 0 { 1.0 } else { -1.0 };
        let signs: Vec<f64> = degrees.iter().map(sign).collect();
        let mut laplacian = Vec::new();
        for (i, m) in degrees.iter().enumerate() {
            for (j, n) in degrees[..=i].iter().enumerate() {
                let factors = laplacian_factors(m, n).map(|f| f * signs[i] * signs[j]);
                if factors.iter().any(|f| *f != 0.0) {
                    laplacian.push((i, j, factors));
                }
            }
        }
        Self { degrees, signs, at_zero: hermite(0.0, 1.0), laplacian }
    }

    /// Number of coefficients.
    pub(super) fn len(&self) -> usize {
        self.degrees.len()
    }

    /// The row of a sample at t along each axis.
    #[inline(always)]
    pub(super) fn row(&self, t: [f64; 3], row: &mut [f64]) {
        // One exponential for the three axes.
        let first = (-0.5 * (t[0] * t[0] + t[1] * t[1] + t[2] * t[2])).exp();
        let [x, y, z] = [hermite(t[0], first), hermite(t[1], 1.0), hermite(t[2], 1.0)];
        for ((value, n), sign) in row.iter_mut().zip(&self.degrees).zip(&self.signs) {
            *value = sign * x[n[0]] * y[n[1]] * z[n[2]];
        }
    }

    /// The propagator's functions at x/u, without their common factor.
    pub(super) fn propagator_row(&self, at: [f64; 3]) -> Vec<f64> {
        let mut row = vec![0.0; self.len()];
        self.row(at, &mut row);
        row.iter_mut().zip(&self.signs).for_each(|(value, sign)| *value *= sign);
        row
    }

    /// The propagator's polynomial at t = x/u: without its Gaussian and the common factor.
    #[inline(always)]
    pub(super) fn polynomial(&self, t: [f64; 3], coefficients: &[f64]) -> f64 {
        let [x, y, z] = t.map(|t| hermite(t, 1.0));
        let of_degrees = coefficients.iter().zip(&self.degrees);
        of_degrees.map(|(a, n)| a * x[n[0]] * y[n[1]] * z[n[2]]).sum()
    }

    /// Adds `weight` times the matrix of the Laplacian, ∫ ∇²φᵢ ∇²φⱼ dq, for axes of these u (mm), to a
    /// row-major symmetric matrix.
    #[inline(always)]
    pub(super) fn add_laplacian(&self, u: [f64; 3], weight: f64, matrix: &mut [f64]) {
        let w = u.map(|u| (2.0 * PI * u).powi(2));
        let [x, y, z] = w;
        let weights = [x * x, y * y, z * z, x * y, x * z, y * z];
        let weight = weight / (x * y * z).sqrt();
        for &(i, j, factors) in &self.laplacian {
            let value = weight * factors.iter().zip(weights).map(|(f, w)| f * w).sum::<f64>();
            matrix[i * self.len() + j] += value;
            if i != j {
                matrix[j * self.len() + i] += value;
            }
        }
    }
}

/// ∫ of the products of the Laplacians of two products of Hermite functions: the factors of wₐ² and wₐ wᵦ.
fn laplacian_factors(m: &[usize; 3], n: &[usize; 3]) -> [f64; 6] {
    // Of each axis: ∫ h h, ∫ h h'', ∫ h'' h''; ∫ h h is √π of equal degrees.
    let same = [0, 1, 2].map(|a| f64::from(u8::from(m[a] == n[a])));
    let one = [0, 1, 2].map(|a| second_derivative(m[a], n[a]));
    let two = [0, 1, 2].map(|a| {
        let by = |k: usize| second_derivative(m[a], k) * second_derivative(k, n[a]);
        (0..=MOST + 2).map(by).sum::<f64>()
    });
    let scale = PI.powf(1.5);
    [
        scale * two[0] * same[1] * same[2],
        scale * same[0] * two[1] * same[2],
        scale * same[0] * same[1] * two[2],
        2.0 * scale * one[0] * one[1] * same[2],
        2.0 * scale * one[0] * same[1] * one[2],
        2.0 * scale * same[0] * one[1] * one[2],
    ]
}
