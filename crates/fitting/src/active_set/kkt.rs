//! The optimality conditions of Karush, Kuhn and Tucker.

use super::Constraints;

/// How far a point and multipliers are from the conditions for a minimum; all are zero there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KktResidual {
    /// Largest |Hx - f - Cᵀλ|.
    pub stationarity: f64,
    /// Largest violation dᵢ - cᵢᵀx, or 0.
    pub violation: f64,
    /// Largest -λᵢ, or 0.
    pub negativity: f64,
    /// Largest |λᵢ (cᵢᵀx - dᵢ)|.
    pub complementarity: f64,
}

/// The residual of `x` with multipliers of the `active` constraints (the others are zero), from the
/// definition and independent of how they were found. `hessian` is row-major and symmetric.
pub fn kkt(
    hessian: &[f64],
    linear: &[f64],
    constraints: &Constraints,
    x: &[f64],
    active: &[usize],
    multipliers: &[f64],
) -> KktResidual {
    let (n, m) = (constraints.n_unknowns(), constraints.len());
    let stationarity = (0..n).map(|k| {
        let hx: f64 = hessian[k * n..][..n].iter().zip(x).map(|(h, x)| h * x).sum();
        let pulls = active.iter().zip(multipliers).map(|(&j, l)| constraints.row(j)[k] * l);
        let pull: f64 = pulls.sum();
        (hx - linear[k] - pull).abs()
    });
    let products =
        active.iter().zip(multipliers).map(|(&j, l)| (l * constraints.slack(j, x)).abs());
    KktResidual {
        stationarity: stationarity.fold(0.0, f64::max),
        violation: (0..m).map(|j| -constraints.slack(j, x)).fold(0.0, f64::max),
        negativity: multipliers.iter().map(|l| -l).fold(0.0, f64::max),
        complementarity: products.fold(0.0, f64::max),
    }
}
