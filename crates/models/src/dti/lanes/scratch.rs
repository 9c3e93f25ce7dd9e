//! Working memory of one batch of voxels.

use bytemuck::{Pod, Zeroable};

/// One cache line, which no vector register exceeds.
#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// `f32`s that begin at a cache line, so that no aligned group of lanes straddles two.
struct Aligned(Vec<Line>);

impl Aligned {
    fn zeros(len: usize) -> Self {
        Self(vec![Line::zeroed(); len.div_ceil(16)])
    }

    fn as_mut_slice(&mut self, len: usize) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.0)[..len]
    }
}

/// Arrays `[volume][lane]` of one batch.
pub(super) struct Scratch {
    memory: [Aligned; 6],
    len: usize,
}

/// The arrays, borrowed.
pub(super) struct Arrays<'a> {
    /// Samples over the voxel's mean.
    pub(super) samples: &'a mut [f32],
    /// Their logarithms.
    pub(super) logs: &'a mut [f32],
    /// Weights of the normal matrix.
    pub(super) weights: &'a mut [f32],
    /// Weighted residuals, the right-hand side of the normal equations.
    pub(super) residuals: &'a mut [f32],
    /// Weights of the samples in a robust fit.
    pub(super) omega: &'a mut [f32],
    /// Samples minus prediction in a robust fit.
    pub(super) errors: &'a mut [f32],
}

impl Scratch {
    pub(super) fn new(n_volumes: usize, lanes: usize) -> Self {
        let len = n_volumes * lanes;
        Self { memory: std::array::from_fn(|_| Aligned::zeros(len)), len }
    }

    pub(super) fn arrays(&mut self) -> Arrays<'_> {
        let len = self.len;
        let [samples, logs, weights, residuals, omega, errors] =
            self.memory.each_mut().map(|m| m.as_mut_slice(len));
        Arrays { samples, logs, weights, residuals, omega, errors }
    }
}
