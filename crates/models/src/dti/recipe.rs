//! What a method and a compatibility choice mean in numbers: one table for every backend.

pub(crate) use fimbria_fitting::linear::robust::{
    MAX_ROBUST_FITS, OUTLIER_SIGMAS, ROBUST_CHANGE, SIGMA_OF_MAD,
};

use super::{Compat, DtiOptions, Method};

/// How samples are raised so that they have a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Floor {
    /// Samples <= 0 become the voxel's smallest positive sample.
    SmallestPositive,
    /// Samples are at least this, in input units.
    Absolute(f64),
    /// Samples are at least this fraction of the voxel's largest.
    OfLargest(f64),
    /// ln S = 0 where S <= 0; then samples are at least this fraction of max(S0, mean), with S0
    /// from an ordinary fit.
    OfS0(f64),
}

/// The weights of the first linear pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstWeights {
    /// All one.
    Unit,
    /// The squared measured signal, not raised; 1 where it is not positive.
    MeasuredRaw,
    /// The squared measured signal, raised by the floor.
    Measured,
}

/// What follows the linear passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refinement {
    /// Nothing.
    None,
    /// Non-linear least squares.
    Nonlinear,
    /// RESTORE.
    Robust {
        /// The noise level of the outlier test, in input units.
        sigma: Option<f64>,
        /// Use the residuals' own scale in the weights even where sigma is given.
        own_scale_in_weights: bool,
    },
}

/// The order of eigenvalues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EigenOrder {
    /// Largest first.
    Value,
    /// Largest magnitude first.
    Magnitude,
}

/// A method in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) floor: Floor,
    pub(crate) first: FirstWeights,
    /// Passes weighted by the squared predicted signal after the first.
    pub(crate) reweighted_passes: usize,
    pub(crate) refinement: Refinement,
    /// Non-linear fits see the raised samples instead of the measured ones.
    pub(crate) floor_nonlinear: bool,
    /// S0 is at least the voxel's mean signal.
    pub(crate) s0_at_least_mean: bool,
    /// Eigenvalues are at least this, µm²/ms.
    pub(crate) min_eigenvalue: Option<f64>,
    pub(crate) order: EigenOrder,
}

/// A residual scale is never taken below this fraction of the voxel's mean signal: beneath it
/// residuals of noise-free data are rounding and would all be outliers of each other.
pub(crate) const MIN_RELATIVE_SCALE: f64 = 1e-5;
/// Unknowns of the tensor model: ln S0 and the tensor.
pub(crate) const N_PARAMS: usize = 7;

impl Recipe {
    /// The numbers of these options for a series whose largest b is `b_max` ms/µm².
    pub(crate) fn new(options: &DtiOptions, b_max: f64) -> Self {
        let DtiOptions { method, compat, sigma, .. } = *options;
        let peer_wls_uses_measured = matches!(compat, Some(Compat::Fsl | Compat::Mrtrix));
        let measured = match compat {
            Some(Compat::Fsl) => FirstWeights::MeasuredRaw,
            _ => FirstWeights::Measured,
        };
        let (first, reweighted_passes) = match method {
            Method::Ols => (FirstWeights::Unit, 0),
            Method::Iwls => (measured, 2),
            Method::Wls if peer_wls_uses_measured => (measured, 0),
            Method::Wls | Method::Nlls | Method::Restore => (FirstWeights::Unit, 1),
        };
        let refinement = match method {
            Method::Ols | Method::Wls | Method::Iwls => Refinement::None,
            Method::Nlls => Refinement::Nonlinear,
            Method::Restore => {
                Refinement::Robust { sigma, own_scale_in_weights: compat == Some(Compat::Dipy) }
            }
        };
        Self {
            floor: match compat {
                None => Floor::SmallestPositive,
                Some(Compat::Fsl) => Floor::OfS0(0.01),
                Some(Compat::Dipy) => Floor::Absolute(1e-4),
                Some(Compat::Mrtrix) => Floor::OfLargest(1e-6),
            },
            first,
            reweighted_passes,
            refinement,
            floor_nonlinear: compat == Some(Compat::Dipy),
            s0_at_least_mean: compat == Some(Compat::Fsl),
            min_eigenvalue: match (compat, method) {
                (Some(Compat::Dipy), Method::Restore) => Some(0.0),
                // A pure number over b: its unit is that of 1/b.
                (Some(Compat::Dipy), _) => Some(1e-6 / b_max),
                _ => None,
            },
            order: match compat {
                Some(Compat::Mrtrix) => EigenOrder::Magnitude,
                _ => EigenOrder::Value,
            },
        }
    }
}
