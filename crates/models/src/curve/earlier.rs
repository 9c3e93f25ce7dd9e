//! Where a fit starts that was done before with fewer volumes.

use std::sync::Arc;

use fimbria_image::SignalSource;

use super::Direction;
use crate::Fitted;

/// The maps of a fit of the same voxels with fewer volumes, from which a fit starts.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The maps.
    pub fitted: Arc<Fitted>,
    /// The directions of a fit by direction, in the order of its maps, scanner RAS; empty for
    /// others.
    pub dirs_ras: Vec<[f64; 3]>,
}

/// The maps of these names, as inputs beside the series; `None` where one is missing.
pub(super) fn inputs<'a>(
    earlier: Option<&'a Earlier>,
    names: &[&str],
) -> Option<Vec<&'a dyn SignalSource>> {
    let fitted = &earlier?.fitted;
    names.iter().map(|name| fitted.map(name).map(|map| map as &dyn SignalSource)).collect()
}

impl Earlier {
    /// Which of its directions is the same as `direction`.
    pub(super) fn place_of(&self, direction: &Direction) -> Option<usize> {
        /// Directions come from texts of six digits.
        const SAME: f64 = 1e-5;
        let near =
            |dir: &[f64; 3]| dir.iter().zip(direction.dir_ras).all(|(a, b)| (a - b).abs() < SAME);
        self.dirs_ras.iter().position(near)
    }
}
