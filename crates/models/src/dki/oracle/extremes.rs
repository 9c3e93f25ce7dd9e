//! The largest and smallest kurtosis of any direction, by GEAP.

use std::sync::OnceLock;

use fimbria_tensors::geap::extremes_over_square;
use fimbria_tensors::layout::Layout;
use fimbria_tensors::tables::Chain;

use crate::dki::form::{N_D, N_W};

/// Starts on the half sphere: enough that every extreme of a quartic form is some start's.
const STARTS: usize = 48;

/// Smallest and largest V n⁴ / (nᵀDn)²; `None` where D is not positive definite.
pub(super) fn extremes(d: &[f64; N_D], v: &[f64; N_W]) -> Option<[f64; 2]> {
    static CHAIN: OnceLock<Option<Chain>> = OnceLock::new();
    let chain = CHAIN.get_or_init(|| Layout::new(4, 3).ok().map(Chain::new)).as_ref()?;
    let found = extremes_over_square(chain, v, d, STARTS)?;
    Some([found.smallest, found.largest])
}
