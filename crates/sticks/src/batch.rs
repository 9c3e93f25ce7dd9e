//! Voxels that are sampled in one call, whoever does it, and where their samples go.

use crate::slots::MOST;

/// Voxels side by side: element (row, voxel) of an array is at `row * stride + voxel`. Rows are
/// padded to `stride`, a multiple of [`PADDING`], with copies of a voxel.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// Number of voxels.
    pub(crate) n: usize,
    pub(crate) stride: usize,
    /// Linear index of each voxel in its grid, for the random numbers.
    pub(crate) items: &'a [u32],
    /// Measured signals over the voxel's scale, `[measurement][stride]`.
    pub(crate) y: &'a [f32],
    /// First value of every slot, `[slot][stride]`.
    pub(crate) starts: &'a [f32],
    /// I + L of the gradients in scanner axes, `[3 * row + column][stride]`.
    pub(crate) bend: Option<&'a [f32]>,
}

/// The most lanes of any instruction set.
pub(crate) const PADDING: usize = 16;

/// Samples of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) stride: usize,
    /// `[sample][sampled slot][stride]`.
    pub(crate) samples: Vec<f32>,
    /// Share of the proposals after burn-in that were taken.
    pub(crate) acceptance: Vec<f32>,
}

impl Recorded {
    pub(crate) fn new(n_samples: usize, n_sampled: usize, stride: usize) -> Self {
        Self {
            stride,
            samples: vec![0.0; n_samples * n_sampled * stride],
            acceptance: vec![0.0; stride],
        }
    }
}

impl Recorded {
    /// The samples of `n` voxels from `first` on.
    pub(crate) fn part(&self, first: usize, n: usize) -> Self {
        let rows = self.samples.chunks_exact(self.stride);
        Self {
            stride: n,
            samples: rows.flat_map(|row| &row[first..first + n]).copied().collect(),
            acceptance: self.acceptance[first..first + n].to_vec(),
        }
    }
}

/// Arrays of a batch that own their rows.
pub(crate) struct BatchRows {
    pub(crate) n: usize,
    pub(crate) stride: usize,
    pub(crate) items: Vec<u32>,
    pub(crate) y: Vec<f32>,
    pub(crate) starts: Vec<f32>,
    pub(crate) bend: Option<Vec<f32>>,
}

impl BatchRows {
    /// Rows for `n` voxels, padded; everything 0 yet.
    pub(crate) fn new(n: usize, n_measurements: usize, is_bent: bool) -> Self {
        let stride = n.next_multiple_of(PADDING);
        Self {
            n,
            stride,
            items: vec![0; stride],
            y: vec![0.0; n_measurements * stride],
            starts: vec![0.0; MOST * stride],
            bend: is_bent.then(|| vec![0.0; 9 * stride]),
        }
    }

    /// Copies the voxels of `part` to the lanes from `first` on.
    pub(crate) fn place(&mut self, first: usize, part: &Self) {
        self.items[first..first + part.n].copy_from_slice(&part.items[..part.n]);
        let copy = |to: &mut [f32], from: &[f32], stride: usize| {
            for (to, from) in to.chunks_exact_mut(stride).zip(from.chunks_exact(part.stride)) {
                to[first..first + part.n].copy_from_slice(&from[..part.n]);
            }
        };
        copy(&mut self.y, &part.y, self.stride);
        copy(&mut self.starts, &part.starts, self.stride);
        if let (Some(to), Some(from)) = (&mut self.bend, &part.bend) {
            copy(to, from, self.stride);
        }
    }

    /// Fills the padding with copies of the first voxel.
    pub(crate) fn pad(&mut self) {
        let (n, stride) = (self.n, self.stride);
        let first = self.items[0];
        self.items[n..].fill(first);
        let bend = self.bend.as_mut().into_iter();
        for rows in [&mut self.y, &mut self.starts].into_iter().chain(bend) {
            for row in rows.chunks_exact_mut(stride) {
                let first = row[0];
                row[n..].fill(first);
            }
        }
    }

    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            n: self.n,
            stride: self.stride,
            items: &self.items,
            y: &self.y,
            starts: &self.starts,
            bend: self.bend.as_deref(),
        }
    }
}
