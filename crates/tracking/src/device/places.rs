//! Which voxels have places, as bits that the device looks up.

use fimbria_memory::try_zeros;

use crate::locations::Locations;
use crate::needs::Countable;

/// Voxels with places, and another grid that some are on.
pub(crate) struct Places {
    /// A bit of each voxel of the seed space, then of the other grid, by radiological index.
    pub(crate) marks: [Vec<u32>; 2],
    /// A sample meets the voxel of its seed once more after the seed itself.
    pub(crate) returns: bool,
    /// The other grid.
    pub(crate) elsewhere: Option<Elsewhere>,
}

/// A grid that is not that of the seeds.
pub(crate) struct Elsewhere {
    /// From voxels of the seed space; `None` where both are one.
    pub(crate) rows: Option<[[f32; 4]; 3]>,
    pub(crate) dims: [usize; 3],
}

/// A voxel's number plus 1 and a bit share a word.
const MOST_VOXELS: usize = (1 << 31) - 1;

impl Places {
    /// Of what is wanted in a seed space of `n_voxels`; `None` where a device cannot tell, or there is no memory.
    pub(crate) fn new(wanted: &Countable<'_>, n_voxels: usize) -> Option<Self> {
        let here: Vec<&Locations> = wanted.places.into_iter().flatten().collect();
        let mut places = Self {
            marks: [marks(&here, n_voxels)?, Vec::new()],
            returns: wanted.returns,
            elsewhere: None,
        };
        if let Some((space, columns)) = wanted.elsewhere {
            let rows = space.affines().map(|[_, back]| back);
            if rows.is_none() && !space.is_that_of_samples() {
                return None;
            }
            places.marks[1] = marks(&[columns], space.grid().len())?;
            places.elsewhere = Some(Elsewhere { rows, dims: space.grid().dims });
        }
        Some(places)
    }
}

/// A bit of every voxel: whether there is a place in it.
fn marks(locations: &[&Locations], n_voxels: usize) -> Option<Vec<u32>> {
    if n_voxels >= MOST_VOXELS || locations.iter().any(|locations| !locations.are_voxels()) {
        return None;
    }
    let mut marks = try_zeros(n_voxels.div_ceil(32)).ok()?;
    for voxel in 0..n_voxels {
        if locations.iter().any(|locations| locations.are_in(voxel)) {
            marks[voxel / 32] |= 1_u32 << (voxel % 32);
        }
    }
    Some(marks)
}
