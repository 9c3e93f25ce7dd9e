//! From a tensor to the numbers of its maps.

use crate::dti::recipe::{EigenOrder, Recipe};
use fimbria_compute::dense::jacobi::eigen3;

/// Squared anisotropy below this fraction of the squared tensor is rounding and has no mode.
const ROUNDING: f64 = 1e-30;

/// What the maps show of one tensor; diffusivities in the unit of the tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TensorMaps {
    /// Fractional anisotropy.
    pub(crate) fa: f64,
    /// Mean diffusivity.
    pub(crate) md: f64,
    /// Largest eigenvalue.
    pub(crate) ad: f64,
    /// Mean of the other two.
    pub(crate) rd: f64,
    /// Mode: 3√6 det(A / |A|), A the deviatoric part of the tensor (Ennis 2006).
    pub(crate) mo: f64,
    /// Eigenvalues in their order.
    pub(crate) eigenvalues: [f64; 3],
    /// Unit eigenvectors in the same order.
    pub(crate) eigenvectors: [[f64; 3]; 3],
    /// The tensor after clipping.
    pub(crate) tensor: [f64; 6],
    /// An eigenvalue was raised to the least value.
    pub(crate) clipped: bool,
    /// An eigenvalue is negative.
    pub(crate) is_negative: bool,
}

impl TensorMaps {
    /// The maps of the tensor xx xy xz yy yz zz.
    pub(crate) fn new(tensor: [f64; 6], recipe: &Recipe) -> Self {
        let (found, v) = eigen3(tensor);
        let least = recipe.min_eigenvalue.unwrap_or(f64::NEG_INFINITY);
        let l = found.map(|l| l.max(least));
        let clipped = l != found;
        let tensor = if clipped { rebuild(l, v) } else { tensor };
        let md = (l[0] + l[1] + l[2]) / 3.0;
        let a = l.map(|l| l - md);
        let anisotropic: f64 = a.iter().map(|a| a * a).sum();
        let total: f64 = l.iter().map(|l| l * l).sum();
        let isotropic = anisotropic <= ROUNDING * total;
        let mut order = [0, 1, 2];
        if recipe.order == EigenOrder::Magnitude {
            order.sort_by(|&i, &j| l[j].abs().total_cmp(&l[i].abs()));
        }
        Self {
            fa: if total == 0.0 { 0.0 } else { (1.5 * anisotropic / total).sqrt() },
            md,
            ad: l[0],
            rd: 0.5 * (l[1] + l[2]),
            mo: if isotropic {
                0.0
            } else {
                (3.0 * 6f64.sqrt() * a[0] * a[1] * a[2] / anisotropic.powf(1.5)).clamp(-1.0, 1.0)
            },
            eigenvalues: order.map(|k| l[k]),
            eigenvectors: order.map(|k| v[k]),
            tensor,
            clipped,
            is_negative: l.iter().any(|l| *l < 0.0),
        }
    }
}

/// Σ λ v vᵀ.
fn rebuild(l: [f64; 3], v: [[f64; 3]; 3]) -> [f64; 6] {
    let entry = |i: usize, j: usize| (0..3).map(|k| l[k] * v[k][i] * v[k][j]).sum();
    [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]
}
