//! What diffusion in tissue cannot violate, on a set of directions.
//!
//! Along every direction n of the set V(n) >= 0, that is K >= 0, and
//! D(n) - (b_max / 3) V(n) >= [`CONSTRAINED_DIFFUSIVITY`], that is K < 3 / (b_max D): the signal of
//! the model decays up to b_max (Tabesh 2011; Veraart 2011). Together they keep D above
//! [`CONSTRAINED_DIFFUSIVITY`], which keeps K defined.

use fimbria_fitting::active_set::{ActiveSetError, Constraints};
use fimbria_tensors::starts::half_sphere;

use super::form::{N_D, N_W, PAIRS, quadratic_terms, quartic_terms};
use super::recipe::CONSTRAINED_DIFFUSIVITY;

/// Directions of the set.
pub(crate) const N_DIRECTIONS: usize = 300;
/// Unknowns that are constrained: D, then V.
pub(crate) const N_FORMS: usize = N_D + N_W;
/// How far inside the constraints solutions are put, in µm²/ms and µm⁴/ms²: more than rounding to
/// `f32` moves them, far less than noise.
pub(crate) const MARGIN: f64 = 1e-5;

/// The constraints of an acquisition.
#[derive(Clone, Debug)]
pub(crate) struct KurtosisConstraints {
    /// xx xy xz yy yz zz of each direction.
    pub(crate) products: Vec<[f32; N_D]>,
    /// b_max / 3 in ms/µm².
    pub(crate) slope: f32,
    /// The rows for the solver, in the order of D, V.
    pub(crate) rows: Constraints,
}

impl KurtosisConstraints {
    /// `b_max` in ms/µm².
    ///
    /// # Errors
    /// Where b_max is no number.
    pub(crate) fn new(b_max: f64) -> Result<Self, ActiveSetError> {
        let slope = b_max / 3.0;
        let directions = half_sphere(N_DIRECTIONS);
        let products = |g: &[f64; 3]| PAIRS.map(|[i, j]| (g[i] * g[j]) as f32);
        let products = directions.iter().map(products).collect();
        let (mut rows, mut bounds) = (Vec::new(), Vec::new());
        for &g in &directions {
            rows.extend([0.0; N_D].into_iter().chain(quartic_terms(g)));
            bounds.push(MARGIN);
        }
        for &g in &directions {
            rows.extend(quadratic_terms(g).into_iter().chain(quartic_terms(g).map(|w| -slope * w)));
            bounds.push(CONSTRAINED_DIFFUSIVITY + MARGIN);
        }
        let rows = Constraints::new(N_FORMS, &rows, bounds)?;
        Ok(Self { products, slope: slope as f32, rows })
    }
}
