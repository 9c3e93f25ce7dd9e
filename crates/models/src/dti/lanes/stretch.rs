//! Where a batch of voxels lies in rows `[row][voxel]`.

use fimbria_compute::Lanes;
use pulp::Simd;

/// `n` neighbouring voxels, at most as many as there are lanes, from `offset` on.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    /// Voxels of a row.
    pub(crate) stride: usize,
    pub(crate) offset: usize,
    pub(crate) n: usize,
}

impl Stretch {
    /// The values of these voxels in a row; zero in lanes without a voxel.
    #[inline(always)]
    pub(crate) fn load<S: Simd>(self, simd: S, rows: &[f32], row: usize) -> Lanes<S> {
        let from = &rows[row * self.stride + self.offset..][..self.n];
        if self.n == Lanes::<S>::LANES {
            Lanes::load(simd, from)
        } else {
            Lanes::load_partial(simd, from)
        }
    }

    /// Sets the values of these voxels in a row.
    #[inline(always)]
    pub(crate) fn store<S: Simd>(self, rows: &mut [f32], row: usize, value: Lanes<S>) {
        let to = &mut rows[row * self.stride + self.offset..][..self.n];
        if self.n == Lanes::<S>::LANES {
            value.store(to);
        } else {
            value.store_partial(to);
        }
    }
}
