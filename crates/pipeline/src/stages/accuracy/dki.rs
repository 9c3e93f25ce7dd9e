//! Kurtosis maps against the truth.

use fimbria_models::Fitted;
use fimbria_phantoms::head::Head;

use super::dti::is_fitted;
use super::{Accuracy, Closeness, PureTissue, voxels_of};

/// Compares MK with that of the signal at b = 0, where the fit succeeded.
pub(super) fn compare(fit: &Fitted, head: &Head, accuracy: &mut Accuracy) {
    let (Some(found), Some(status)) = (fit.map("MK"), fit.map("status")) else { return };
    let Some(truth) = head.truth("MK") else { return };
    for place in [PureTissue::White, PureTissue::Nuclei, PureTissue::Cortex] {
        let voxels = voxels_of(head, place).filter(|v| is_fitted(status, *v));
        let errors = voxels.map(|v| f64::from((found.data[v] - truth.data[v]).abs()));
        let quantity = format!("MK, {}", place.name());
        accuracy.rows.extend(Closeness::new(&quantity, "", errors.collect()));
    }
}
