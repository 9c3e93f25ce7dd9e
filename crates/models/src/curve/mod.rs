//! What the models fitted by Levenberg and Marquardt's method share: what a user chooses, what a
//! protocol must have, and the fits of a tile of voxels.
//!
//! A voxel's samples are divided by the mean of its unweighted ones (by its largest sample where
//! there are none), so that parameters, starts and bounds are those of signals near 1.

mod axes;
mod directional;
mod earlier;
mod error;
mod errors;
mod protocol;
mod tile;
mod turned;
mod whole;

use fimbria_compute::Progress;
pub use fimbria_fitting::lm::{Likelihood, Robust, rules};
use fimbria_image::{GradientTable, Mask, SignalSource};

pub(crate) use self::axes::{of_axis, selected_table};
pub(crate) use self::directional::{DirectionModel, Directional, directional_maps};
pub use self::earlier::Earlier;
pub use self::error::CurveError;
pub(crate) use self::errors::error_spec;
pub(crate) use self::protocol::{B_MAX_SLACK, Protocol};
pub use self::protocol::{Direction, SAME_DIRECTION_DEG, directions};
pub(crate) use self::tile::Floor;
pub(crate) use self::turned::{TURNED, along, squared_cosine, turned_axis};
pub(crate) use self::whole::{VoxelModel, Whole, whole_maps, with_errors};
use crate::dti::Precision;
use crate::noise;

/// What every such fit may be told.
#[derive(Clone, Debug)]
pub struct CurveOptions {
    /// Volumes with b more than 5 % above this (s/mm²) are left out; `None` takes all.
    pub b_max_s_per_mm2: Option<f64>,
    /// How noise enters; all but [`Likelihood::Gaussian`] need the noise level.
    pub likelihood: Likelihood,
    /// Noise level in input units, estimated from repeated unweighted volumes where `None`.
    pub sigma: Option<f64>,
    /// The arithmetic of the fit.
    pub precision: Precision,
    /// Iterations after which a problem is given up.
    pub max_iterations: u32,
    /// Takes outliers their pull; `None` for plain least squares.
    pub robust: Option<Robust>,
    /// Also make maps of standard errors.
    pub errors: bool,
    /// Maps of fewer volumes, to start from.
    pub earlier: Option<Earlier>,
}

impl Default for CurveOptions {
    fn default() -> Self {
        Self {
            b_max_s_per_mm2: None,
            likelihood: Likelihood::Gaussian,
            sigma: None,
            precision: Precision::Single,
            max_iterations: rules::MAX_ITERATIONS,
            robust: None,
            errors: false,
            earlier: None,
        }
    }
}

/// µm²/ms in mm²/s.
pub(crate) const MM2_PER_S: f32 = 1e-3;

/// The noise level that the likelihood of `options` needs, `None` where it needs none.
pub(crate) fn noise_level(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    options: &CurveOptions,
    progress: &dyn Progress,
) -> Result<Option<Floor>, CurveError> {
    let sigma = match (options.likelihood, options.sigma) {
        (Likelihood::Gaussian, _) => return Ok(None),
        (_, Some(0.0)) => return Err(CurveError::NoNoise),
        (_, Some(sigma)) => level("sigma", sigma)?,
        (_, None) => noise::from_unweighted(signals, mask, gradients)?,
    };
    say_level(sigma, progress);
    Ok(Some(Floor::Absolute(sigma)))
}

/// Says what the noise level is.
pub(crate) fn say_level(sigma: f64, progress: &dyn Progress) {
    progress.note(&format!("noise level {sigma:.4} (input units)"));
}

/// A noise level that was given, if it is one.
pub(crate) fn level(what: &'static str, value: f64) -> Result<f64, CurveError> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(CurveError::NoiseLevel { what, value }),
    }
}

/// S0 and D of the line through ln S over b, weighted by S², from the samples at `least_b` and
/// above that are positive; (1, 1) where they do not determine it.
pub(crate) fn log_line(b: &[f32], samples: &[f32], least_b: f32) -> (f32, f32) {
    let mut sums = [0.0_f32; 5];
    for (&b, &s) in b.iter().zip(samples).filter(|&(&b, &s)| b >= least_b && s > 1e-4) {
        let (w, y) = (s * s, s.ln());
        for (sum, term) in sums.iter_mut().zip([w, w * b, w * b * b, w * y, w * b * y]) {
            *sum += term;
        }
    }
    let [w, wb, wbb, wy, wby] = sums;
    let determinant = w * wbb - wb * wb;
    let determined = determinant > 1e-6 * w * wbb;
    if !determined {
        return (1.0, 1.0);
    }
    let slope = (w * wby - wb * wy) / determinant;
    (((wy - slope * wb) / w).exp(), -slope)
}
