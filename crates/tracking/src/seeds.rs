//! Where samples start.

use crate::region::Region;
use crate::space::Space;

/// A place to start from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seed {
    /// What its random numbers depend on: the radiological index of its voxel, or the row of a
    /// point in its list.
    pub key: u32,
    /// Which of the seed regions it belongs to.
    pub region: u32,
    /// Radiological voxel coordinates of the seed space.
    pub pos: [f32; 3],
}

/// The centres of the voxels of a region, z slowest, x fastest.
pub fn seeds_of_region(space: &Space, region: &Region, number: u32) -> Vec<Seed> {
    let seed = |key: u32| {
        let pos = space.grid().voxel(key as usize).map(|x| x as f32);
        Seed { key, region: number, pos }
    };
    region.voxels().map(seed).collect()
}
