//! What a method and a compatibility choice mean in numbers: one table for every backend.

use fimbria_fitting::linear::{self, Floor, Passes};

use super::{Compat, DkiMap, DkiOptions, Method};

/// Diffusivities below this, µm²/ms, count as none: kurtosis divides by their square.
pub(crate) const LEAST_DIFFUSIVITY: f32 = 1e-7;
/// A signal that loses less than this part of its logarithm up to the largest b, the mean over all
/// directions, does not tell how it bends: in tissue it loses ten times as much.
const LEAST_TELLING_LOSS: f64 = 0.03;
/// What constrained diffusivities are at least, µm²/ms: 1e-6 mm²/s, a thousandth of water's.
pub(crate) const CONSTRAINED_DIFFUSIVITY: f64 = 1e-3;

/// A method in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recipe {
    /// The linear passes.
    pub(crate) linear: linear::Recipe,
    /// Outliers are left out of them.
    pub(crate) robust: bool,
    /// Non-linear least squares follow.
    pub(crate) nonlinear: bool,
    pub(crate) constrained: bool,
    /// Eigenvalues below this, µm²/ms, are raised to it.
    pub(crate) min_diffusivity: Option<f32>,
    /// With mean diffusivities below this, µm²/ms, kurtosis is undefined.
    pub(crate) least_mean: f32,
}

impl Recipe {
    /// `b_max` in ms/µm².
    pub(crate) fn new(options: &DkiOptions, b_max: f64) -> Self {
        let constrained = options.constrained && options.compat.is_none();
        let passes = match (options.method, options.compat) {
            (Method::Ols, _) => Passes::OLS,
            (Method::Wls, Some(Compat::Mrtrix)) => Passes::MEASURED_WLS,
            (Method::Wls | Method::Nlls | Method::Restore, _) => Passes::WLS,
            (Method::Iwls, _) => Passes::IWLS,
        };
        let (floor, min_diffusivity) = match options.compat {
            None => {
                let least = constrained.then_some(CONSTRAINED_DIFFUSIVITY as f32);
                (Floor::SmallestPositive, least)
            }
            // 1e-6 over b in s/mm² is mm²/s, and 1000 µm²/ms make one mm²/s.
            Some(Compat::Dipy) => (Floor::Absolute(1e-4), Some((1e-6 / b_max) as f32)),
            Some(Compat::Mrtrix) => (Floor::OfLargest(1e-6), None),
        };
        let residual = options.maps.contains(&DkiMap::Residual);
        Self {
            linear: linear::Recipe { passes, floor, residual },
            robust: options.method == Method::Restore,
            nonlinear: options.method == Method::Nlls,
            constrained,
            min_diffusivity,
            least_mean: match options.compat {
                None => (LEAST_TELLING_LOSS / b_max) as f32,
                Some(_) => LEAST_DIFFUSIVITY,
            },
        }
    }
}
