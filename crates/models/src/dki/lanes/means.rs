//! Kurtosis averaged over directions.
//!
//! K(n) = V(n) / D(n)², where V = MD² W is what the fit gives. In the frame of D's eigenvectors,
//! u = n·e₁ and v² = 1 - u², the mean over the azimuth about e₁ has a closed form in B = l₁u² +
//! l₂v² and C = l₁u² + l₃v², which is smooth also where eigenvalues are equal; Tabesh's elliptic
//! integrals (Magn. Reson. Med. 65, 823 (2011)) are its integral over u. That is done here by
//! Gauss and Legendre's rule in ψ, u = d tan ψ, d² = √(l₂l₃) / l₁: the integrand then has its
//! peak, of width d, spread out. Twelve nodes leave 1.4e-7 for eigenvalue ratios up to 100.

use fimbria_compute::Real;
use fimbria_compute::math::{atan2, rsqrt_finite, sincos};

use crate::dki::form::{N_W, QUARTIC_TIMES};

use super::frame::double_trace;

/// Nodes of the quadrature.
pub(crate) const N_NODES: usize = 12;

/// Gauss and Legendre's nodes between 0 and 1.
pub(crate) const NODES: [f32; N_NODES] = [
    0.009_219_683,
    0.047_941_37,
    0.115_048_66,
    0.206_341_02,
    0.316_084_25,
    0.437_383_3,
    0.562_616_7,
    0.683_915_74,
    0.793_659,
    0.884_951_35,
    0.952_058_6,
    0.990_780_3,
];

/// Their weights.
pub(crate) const WEIGHTS: [f32; N_NODES] = [
    0.023_587_668,
    0.053_469_66,
    0.080_039_166,
    0.101_583_71,
    0.116_746_27,
    0.124_573_52,
    0.124_573_52,
    0.116_746_27,
    0.101_583_71,
    0.080_039_166,
    0.053_469_66,
    0.023_587_668,
];

/// Means over the azimuth of cos⁴ / D², sin⁴ / D² and cos² sin² / D².
struct Azimuth<R> {
    cos4: R,
    sin4: R,
    both: R,
}

impl<R: Real> Azimuth<R> {
    /// D = b cos² + c sin².
    #[inline(always)]
    fn new(b: R, c: R) -> Self {
        let (inverse_b, inverse_c) = (rsqrt_finite(b), rsqrt_finite(c));
        let (b, c) = (b * inverse_b, c * inverse_c);
        let sum = b + c;
        let common = sum.splat(0.5) / (sum * sum);
        let cube = |x: R| x * x * x;
        Self {
            cos4: (b + sum) * cube(inverse_b) * common,
            sin4: (c + sum) * cube(inverse_c) * common,
            both: inverse_b * inverse_c * common,
        }
    }
}

/// Entries of V in the frame of D's eigenvectors, eigenvalues `l` positive and largest first:
/// mean, axial and radial kurtosis.
#[inline(always)]
pub(crate) fn means<R: Real>(l: [R; 3], v: &[R; N_W]) -> [R; 3] {
    [mean(l, v), v[0] / (l[0] * l[0]), radial(l, v)]
}

/// The mean over the directions across the first eigenvector.
#[inline(always)]
fn radial<R: Real>(l: [R; 3], v: &[R; N_W]) -> R {
    let around = Azimuth::new(l[1], l[2]);
    let cross = around.both * v[12] * 6.0;
    around.cos4.mul_add(v[10], around.sin4.mul_add(v[14], cross))
}

#[inline(always)]
fn mean<R: Real>(l: [R; 3], v: &[R; N_W]) -> R {
    let one = l[0].splat(1.0);
    // The root of a root of the product is taken in steps that cannot overflow.
    let width2 = (l[1] / l[0] * (l[2] / l[0])).sqrt();
    let width = width2.sqrt();
    let last = atan2(one, width);
    let mut sum = one.splat(0.0);
    for k in 0..N_NODES {
        let (sine, cosine) = sincos(last * NODES[k]);
        let slope = one / cosine;
        let tangent = sine * slope;
        let u = width * tangent;
        let u2 = u * u;
        let v2 = one - u2;
        let along = l[0] * u2;
        let around = Azimuth::new(l[1].mul_add(v2, along), l[2].mul_add(v2, along));
        let (cos2, sin2) = (around.cos4 + around.both, around.sin4 + around.both);
        let axial = (cos2 + sin2) * v[0];
        let mixed = cos2.mul_add(v[3], sin2 * v[5]) * 6.0;
        let cross = around.both * v[12] * 6.0;
        let radial = around.cos4.mul_add(v[10], around.sin4.mul_add(v[14], cross));
        let value = u2.mul_add(u2.mul_add(axial, v2 * mixed), v2 * v2 * radial);
        // du = d / cos² ψ dψ.
        sum = (slope * slope * WEIGHTS[k]).mul_add(value, sum);
    }
    sum * width * last
}

/// The mean of W's form over directions and its fractional anisotropy
/// ‖W - mean·I‖ / ‖W‖ (Hansen and Jespersen, Magn. Reson. Med. 2016), 0 where W is zero.
#[inline(always)]
pub(super) fn invariants<R: Real>(w: &[R; N_W]) -> [R; 2] {
    let mean = double_trace(w) * 0.2;
    let zero = mean.splat(0.0);
    let (mut all, mut deviating) = (zero, zero);
    for k in 0..N_W {
        // The isotropic tensor has 1 at iiii and 1/3 at iijj.
        let isotropic = match k {
            0 | 10 | 14 => mean,
            3 | 5 | 12 => mean * (1.0 / 3.0),
            _ => zero,
        };
        let rest = w[k] - isotropic;
        all = (w[k] * QUARTIC_TIMES[k]).mul_add(w[k], all);
        deviating = (rest * QUARTIC_TIMES[k]).mul_add(rest, deviating);
    }
    let there = zero.splat(1e-30).less(all);
    let ratio = deviating / R::select(there, all, zero.splat(1.0));
    [mean, R::select(there, ratio.min(zero.splat(1.0)).sqrt(), zero)]
}
