//! The voxels that a series is compared at.

use fimbria_image::Mask;

/// A mask and the voxels around it, and which of them have all six neighbours.
pub(crate) struct Region {
    /// Linear indices in the grid, ascending.
    pub voxels: Vec<u32>,
    /// Places in `voxels` of those that have neighbours along each axis, and of these, low and high.
    pub inner: Vec<Inner>,
}

/// A voxel of a region with its neighbours, as places in the region.
#[derive(Clone, Copy)]
pub(crate) struct Inner {
    pub at: u32,
    pub low: [u32; 3],
    pub high: [u32; 3],
}

/// The edge of the head says most about where it is: so many voxels around it count.
const AROUND: usize = 2;

impl Region {
    pub(crate) fn around(mask: &Mask) -> Self {
        let dims = mask.grid.dims;
        let strides = [1, dims[0], dims[0] * dims[1]];
        let position = |v: usize, axis: usize| v / strides[axis] % dims[axis];
        let mut inside = vec![false; mask.grid.len()];
        mask.voxels.iter().for_each(|&v| inside[v as usize] = true);
        for _ in 0..AROUND + 1 {
            let before = inside.clone();
            for v in 0..inside.len() {
                inside[v] = before[v]
                    || (0..3).any(|a| {
                        (position(v, a) > 0 && before[v - strides[a]])
                            || (position(v, a) + 1 < dims[a] && before[v + strides[a]])
                    });
            }
        }
        let mut place = vec![u32::MAX; inside.len()];
        let mut voxels = Vec::new();
        for v in (0..inside.len()).filter(|&v| inside[v]) {
            place[v] = voxels.len() as u32;
            voxels.push(v as u32);
        }
        let neighbours = |(at, &v): (usize, &u32)| {
            let v = v as usize;
            let mut found = Inner { at: at as u32, low: [0; 3], high: [0; 3] };
            for a in 0..3 {
                if position(v, a) == 0 || position(v, a) + 1 == dims[a] {
                    return None;
                }
                found.low[a] = place[v - strides[a]];
                found.high[a] = place[v + strides[a]];
            }
            found.low.iter().chain(&found.high).all(|p| *p != u32::MAX).then_some(found)
        };
        let inner = voxels.iter().enumerate().filter_map(neighbours).collect();
        Self { voxels, inner }
    }
}
