//! Kurtosis maps against the truth.

use fimbria_image::Status;
use fimbria_models::Fitted;
use fimbria_phantoms::Truth;

use super::{Accuracy, Closeness};

/// Compares MK with the mean kurtosis of the mixture in voxels of the mask, where the fit
/// succeeded: pure tissue, where it is 0 at any b, and mixtures, where a fit at finite b has a bias
/// besides its noise.
pub(super) fn compare(fit: &Fitted, truth: &Truth, accuracy: &mut Accuracy) {
    /// Kurtosis that only a mixture has.
    const MIXED: f32 = 1e-3;
    let (Some(found), Some(status)) = (fit.map("MK"), fit.map("status")) else { return };
    let Some(true_mk) = truth.map("MK") else { return };
    for (where_, mixed) in [("pure tissue", false), ("mixtures", true)] {
        let errors = (0..true_mk.grid.len())
            .filter(|&v| {
                let status = Status::from_code(status.data[v]);
                matches!(status, Status::Fitted | Status::Constrained)
                    && (true_mk.data[v] > MIXED) == mixed
            })
            .map(|v| f64::from((found.data[v] - true_mk.data[v]).abs()));
        accuracy.rows.extend(Closeness::new(&format!("MK, {where_}"), "", errors.collect()));
    }
}
