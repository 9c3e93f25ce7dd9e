//! The numbers of the published program, which works in tesla.

/// Parameters of the original dQSM program's Landweber iteration,
/// x ← x - τ (α A'(A x - b) + β D'D x) with A and b in tesla.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// α, the data's share.
    pub alpha: f64,
    /// τ, the step.
    pub tau: f64,
}

/// Voxels along each axis that the published program sees.
pub const PUBLISHED_SUPPORT: u32 = 50;

impl Default for Published {
    fn default() -> Self {
        Self { alpha: 0.75, tau: 0.15 }
    }
}

impl Published {
    /// The κ and the step that make the same iteration in units of B0, β being 1 - α: with
    /// A and b divided by B0 the data term loses a factor B0².
    pub fn in_units_of_b0(self, b0_tesla: f64) -> (f64, f64) {
        let data = self.alpha * b0_tesla * b0_tesla;
        let whole = data + (1.0 - self.alpha);
        (data / whole, self.tau * whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tesla_changes_nothing() {
        assert_eq!(Published::default().in_units_of_b0(1.0), (0.75, 0.15));
    }

    #[test]
    fn both_terms_keep_their_steps() {
        let (kappa, step) = Published::default().in_units_of_b0(4.7);
        assert!((kappa * step - 0.75 * 0.15 * 4.7 * 4.7).abs() < 1e-12);
        assert!(((1.0 - kappa) * step - 0.25 * 0.15).abs() < 1e-12);
    }
}
