//! Susceptibility against the truth.

use fimbria_phantoms::GreSubject;

use super::{Accuracy, Closeness};
use crate::stages::qsm::ChiMap;

/// Compares the mapped voxels, each map less its mean: susceptibility is known up to a constant.
pub(super) fn compare(map: &ChiMap, made: &GreSubject, accuracy: &mut Accuracy) {
    let Some(truth) = made.truth("chi") else { return };
    let mapped = map.chi.data.iter().zip(&truth.data).filter(|(chi, _)| **chi != 0.0);
    let pairs: Vec<[f64; 2]> = mapped.map(|(a, b)| [f64::from(*a), f64::from(*b)]).collect();
    let mean = |of: usize| pairs.iter().map(|pair| pair[of]).sum::<f64>() / pairs.len() as f64;
    let offset = mean(0) - mean(1);
    let errors = pairs.iter().map(|[chi, truth]| 1e3 * (chi - truth - offset).abs()).collect();
    accuracy.rows.extend(Closeness::new("susceptibility", "ppb", errors));
}
