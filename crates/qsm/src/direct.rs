//! Convolution with the spherical kernel as a sum over all pairs, the kernel taken from a table of
//! displacements as the published program has it.

use fimbria_compute::fft::Float;
use fimbria_compute::{Lanes, Real, Workers};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::kernel::sphere_field;
use crate::{FieldModel, Geometry};

/// Receivers of a block: as many along a row, in as many neighbouring rows.
const ALONG: usize = 16;
const ROWS: usize = 4;
const BLOCK: usize = ALONG * ROWS;
/// Sources between two roundings of a block's sums to f64.
const CHUNK: usize = 512;

/// The sum over all pairs of two lists of voxels; being even, the kernel is the same both ways.
pub(crate) struct Direct<T: Float> {
    /// The kernel at every displacement, x fastest, of blocks from voxels.
    table: Vec<T>,
    shape: [usize; 3],
    dims: [usize; 3],
    sources: Vec<[u32; 3]>,
    receivers: Vec<[u32; 3]>,
}

impl<T: Float> Direct<T> {
    /// From the voxels `sources` of the box of `model` to its receivers.
    pub(crate) fn new(model: &FieldModel, sources: &[u32], workers: &Workers) -> Self {
        let geometry: &Geometry = &model.geometry;
        let dims = geometry.dims;
        let blocks = [dims[0].next_multiple_of(ALONG), dims[1].next_multiple_of(ROWS), dims[2]];
        // From -(dims - 1) to blocks - 1.
        let shape: [usize; 3] = std::array::from_fn(|a| dims[a] + blocks[a] - 1);
        let mut table = vec![T::zero(); shape.iter().product()];
        let step = |i: usize, a: usize| {
            let step = i as i64 - (dims[a] as i64 - 1);
            let is_reached = model.support.is_none_or(|support| step.abs() <= support.into());
            is_reached.then_some(step)
        };
        workers.install(|| {
            table.par_chunks_mut(shape[0]).enumerate().for_each(|(row, table)| {
                let (Some(y), Some(z)) = (step(row % shape[1], 1), step(row / shape[1], 2)) else {
                    return;
                };
                for (i, kernel) in table.iter_mut().enumerate() {
                    if let Some(x) = step(i, 0) {
                        *kernel = T::rounded(sphere_field(geometry, [x, y, z]));
                    }
                }
            });
        });
        let voxel = |&voxel: &u32| geometry.voxel(voxel as usize).map(|i| i as u32);
        let sources = sources.iter().map(voxel).collect();
        let receivers = model.receivers.iter().map(voxel).collect();
        Self { table, shape, dims, sources, receivers }
    }

    /// Where the kernel is that `to` has from `from`: the difference of two places, one of each.
    fn place_from(&self, at: [u32; 3]) -> usize {
        self.place(std::array::from_fn(|a| self.dims[a] - 1 - at[a] as usize))
    }

    fn place(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.shape[0] * (y + self.shape[1] * z)
    }
}

impl Direct<f32> {
    /// The field at the receivers of susceptibilities at the sources.
    pub(crate) fn field(&self, workers: &Workers, x: &[f32]) -> Vec<f32> {
        self.sum(workers, (&self.sources, x), &self.receivers)
    }

    /// The adjoint of [`field`](Self::field).
    pub(crate) fn gather(&self, workers: &Workers, field: &[f32]) -> Vec<f32> {
        self.sum(workers, (&self.receivers, field), &self.sources)
    }

    fn sum(
        &self,
        workers: &Workers,
        (from, values): (&[[u32; 3]], &[f32]),
        to: &[[u32; 3]],
    ) -> Vec<f32> {
        let [across, down] =
            [self.dims[0].div_ceil(ALONG), self.dims[1].div_ceil(ROWS)].map(|n| n as u32);
        let block_of = |&[x, y, z]: &[u32; 3]| {
            (x / ALONG as u32 + across * (y / ROWS as u32 + down * z)) as usize
        };
        let mut wanted = vec![false; across as usize * down as usize * self.dims[2]];
        to.iter().for_each(|at| wanted[block_of(at)] = true);
        let sources: Vec<(u32, f32)> = from
            .iter()
            .zip(values)
            .map(|(&at, &value)| (self.place_from(at) as u32, value))
            .collect();
        let mut volume = vec![0.0; wanted.len() * BLOCK];
        let blocks = volume.par_chunks_mut(BLOCK).zip(&wanted).enumerate();
        workers.install(|| {
            blocks.filter(|(_, (_, wanted))| **wanted).for_each(|(block, (sums, _))| {
                let block = block as u32;
                let at = [block % across * ALONG as u32, block / across % down * ROWS as u32];
                let z = block / (across * down);
                let first = self.place([at[0] as usize, at[1] as usize, z as usize]);
                let (table, row) = (&self.table[first..], self.shape[0]);
                workers.simd().run(SumOfBlock { table, row, sources: &sources, sums });
            });
        });
        let element = |at: &[u32; 3]| {
            let [x, y] = [at[0] as usize % ALONG, at[1] as usize % ROWS];
            volume[block_of(at) * BLOCK + y * ALONG + x]
        };
        to.iter().map(element).collect()
    }
}

/// The sums of one block: `table` begins at the kernel of its first voxel from the last.
struct SumOfBlock<'a> {
    table: &'a [f32],
    row: usize,
    sources: &'a [(u32, f32)],
    sums: &'a mut [f32],
}

impl WithSimd for SumOfBlock<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { table, row, sources, sums } = self;
        let n = Lanes::<S>::LANES;
        let zero = Lanes::new(simd, 0.0);
        let mut totals = [0.0_f64; BLOCK];
        for sources in sources.chunks(CHUNK) {
            let mut first = 0;
            while first < ALONG {
                let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
                for &(place, value) in sources {
                    let value = Lanes::new(simd, value);
                    let table = &table[place as usize + first..];
                    a = Lanes::load(simd, table).mul_add(value, a);
                    b = Lanes::load(simd, &table[row..]).mul_add(value, b);
                    c = Lanes::load(simd, &table[2 * row..]).mul_add(value, c);
                    d = Lanes::load(simd, &table[3 * row..]).mul_add(value, d);
                }
                a.store(&mut sums[first..]);
                b.store(&mut sums[ALONG + first..]);
                c.store(&mut sums[2 * ALONG + first..]);
                d.store(&mut sums[3 * ALONG + first..]);
                first += n;
            }
            for (total, sum) in totals.iter_mut().zip(&*sums) {
                *total += f64::from(*sum);
            }
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum = total as f32;
        }
    }
}

impl Direct<f64> {
    /// The field at the receivers of susceptibilities at the sources.
    pub(crate) fn field(&self, x: &[f64]) -> Vec<f64> {
        self.plain_sum((&self.sources, x), &self.receivers)
    }

    /// The adjoint of [`field`](Self::field).
    pub(crate) fn gather(&self, field: &[f64]) -> Vec<f64> {
        self.plain_sum((&self.receivers, field), &self.sources)
    }

    fn plain_sum(&self, (from, values): (&[[u32; 3]], &[f64]), to: &[[u32; 3]]) -> Vec<f64> {
        let sum = |to: &[u32; 3]| {
            let to = self.place(to.map(|i| i as usize));
            let pairs = from.iter().zip(values);
            pairs.map(|(&from, value)| self.table[to + self.place_from(from)] * value).sum()
        };
        to.iter().map(sum).collect()
    }
}
