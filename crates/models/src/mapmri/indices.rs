//! What the coefficients say of the propagator (Özarslan et al. 2013; Fick et al. 2016), each by its
//! definition: integrals and derivatives of the signal in closed form.

use std::f64::consts::PI;

use super::basis::{Basis, MOST};

/// Indices of a voxel, lengths in mm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Indices {
    /// P(0) = ∫ E dq, 1/mm³.
    pub(super) rtop: f64,
    /// ∫ E over the plane across the first axis, 1/mm².
    pub(super) rtap: f64,
    /// ∫ E along the first axis, 1/mm.
    pub(super) rtpp: f64,
    /// ∫ x² P dx, mm².
    pub(super) msd: f64,
    /// 1 / ∫ q² E dq, mm⁵.
    pub(super) qiv: f64,
    /// The sine of the angle between the propagator and its Gaussian part; of its marginal along the first axis;
    /// of that across.
    pub(super) ng: [f64; 3],
}

/// The sine of the angle between a function and its part `gaussian` of all `squares`.
fn sine(gaussian: f64, squares: f64) -> f64 {
    (1.0 - gaussian * gaussian / squares).max(0.0).sqrt()
}

/// Of coefficients of a signal that is 1 without weighting, on axes of these u (mm).
pub(super) fn indices(basis: &Basis, coefficients: &[f64], u: [f64; 3]) -> Indices {
    const N: usize = MOST + 1;
    // Of each degree: φ(0), and ∫ φ dq (2π u).
    let value = basis.at_zero.map(f64::abs);
    let integral = basis.at_zero.map(|h| h * (2.0 * PI).sqrt());
    let over = u.map(|u| 1.0 / (2.0 * PI * u));
    let mut all = Indices::default();
    let mut inverse = 0.0;
    let (mut along, mut across) = ([0.0; N], [[0.0; N]; N]);
    for (&a, &[k, l, m]) in coefficients.iter().zip(&basis.degrees) {
        let integrals = [integral[k] * over[0], integral[l] * over[1], integral[m] * over[2]];
        let product = a * integrals[0] * integrals[1] * integrals[2];
        all.rtop += product;
        all.rtap += a * value[k] * integrals[1] * integrals[2];
        all.rtpp += a * integrals[0] * value[l] * value[m];
        let odd = [k, l, m].map(|n| (2 * n + 1) as f64);
        let moments = |of: [f64; 3]| odd[0] * of[0] + odd[1] * of[1] + odd[2] * of[2];
        // h'' = -(2n + 1) h at 0; ∫ t² h dt = (2n + 1) ∫ h dt.
        all.msd += a * value[k] * value[l] * value[m] * moments(u.map(|u| u * u));
        inverse += product * moments(over.map(|o| o * o));
        along[k] += a * value[l] * value[m];
        across[l][m] += a * value[k];
    }
    all.qiv = 1.0 / inverse;
    let squares = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
    all.ng = [
        sine(coefficients[0], squares(coefficients)),
        sine(along[0], squares(&along)),
        sine(across[0][0], squares(across.as_flattened())),
    ];
    all
}
