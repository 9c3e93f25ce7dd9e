//! What a design is made of.

/// Covariates of a sample that a column may depend on.
pub(super) const N_COVARIATES: usize = 4;

/// One column of a design: `scale · u₀^p₀ u₁^p₁ u₂^p₂ u₃^p₃`, a monomial of a sample's covariates
/// u.
///
/// With the covariates (b, gx, gy, gz) the element Dxy of the diffusion tensor has the column
/// -2 b gx gy:
///
/// ```
/// use fimbria_fitting::linear::Column;
///
/// let dxy = Column { scale: -2.0, powers: [1, 1, 1, 0] };
/// assert_eq!(dxy.at(&[0.5, 0.6, 0.8, 0.0]), -0.48);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The factor before the monomial: finite, not 0.
    pub scale: f64,
    /// The power of each covariate.
    pub powers: [u8; 4],
}

impl Column {
    /// The column of the unknown ln A: all ones.
    pub(crate) const ONES: Self = Self { scale: 1.0, powers: [0; N_COVARIATES] };

    /// Its element for a sample with these covariates.
    pub fn at(&self, covariates: &[f64; 4]) -> f64 {
        self.scale * power_product(covariates, self.powers.map(u16::from))
    }
}

/// u₀^p₀ u₁^p₁ u₂^p₂ u₃^p₃, with 0⁰ = 1.
pub(super) fn power_product(covariates: &[f64; N_COVARIATES], powers: [u16; N_COVARIATES]) -> f64 {
    covariates.iter().zip(powers).map(|(u, p)| u.powi(i32::from(p))).product()
}
