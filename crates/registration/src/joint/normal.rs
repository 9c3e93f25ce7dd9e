//! The matrix of the equations.

use fimbria_compute::{Interrupted, Progress, SimdLevel};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::Joint;
use super::block::{Block, LANES};
use super::factor::dots;

/// Blocks whose columns are held at once.
const BLOCKS: usize = 8;
const SLAB: usize = BLOCKS * LANES;

impl Joint {
    /// Gᵀ C⁻¹ G, row-major; both halves.
    ///
    /// # Errors
    /// Where the user stops it.
    pub(super) fn matrix(&self, progress: &dyn Progress) -> Result<Vec<f64>, Interrupted> {
        let (n, p) = (self.along.len(), self.width());
        let size = n * p;
        let padded = p.next_multiple_of(4);
        let mut matrix = vec![0.0; size * size];
        let mut columns = vec![0.0f32; n * padded * SLAB];
        let level = SimdLevel::best();
        let of_class = self.blocks.chunk_by(|a, b| a.class == b.class);
        for slab in of_class.flat_map(|blocks| blocks.chunks(BLOCKS)) {
            progress.check()?;
            columns.par_chunks_mut(padded * SLAB).enumerate().for_each(|(v, columns)| {
                level.run(Columns { joint: self, slab, v, columns });
            });
            let precision = &self.precisions[slab[0].class];
            matrix.par_chunks_mut(p * size).enumerate().for_each(|(v, rows)| {
                let precision = &precision[v * n..=v * n + v];
                level.run(Products { columns: &columns, precision, p, rows, size });
            });
        }
        for i in 0..size {
            (0..i).for_each(|j| matrix[j * size + i] = matrix[i * size + j]);
        }
        Ok(matrix)
    }
}

/// The columns of a volume over a slab, each by itself; 0 beyond its last block.
struct Columns<'a> {
    joint: &'a Joint,
    slab: &'a [Block],
    v: usize,
    columns: &'a mut [f32],
}

impl WithSimd for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { joint, slab, v, columns } = self;
        for (k, column) in columns.chunks_exact_mut(SLAB).take(joint.width()).enumerate() {
            let (own, rest) = column.split_at_mut(slab.len() * LANES);
            for (block, out) in slab.iter().zip(own.chunks_exact_mut(LANES)) {
                joint.column(block, v, k, out);
            }
            rest.fill(0.0);
        }
    }
}

/// Adds the products of the columns of a volume and of all before it.
struct Products<'a> {
    columns: &'a [f32],
    /// With each volume up to this one.
    precision: &'a [f32],
    p: usize,
    rows: &'a mut [f64],
    size: usize,
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { columns, precision, p, rows, size } = self;
        let padded = p.next_multiple_of(4);
        let v = precision.len() - 1;
        let column = |v: usize, k: usize| &columns[(v * padded + k) * SLAB..][..SLAB];
        for (w, &c) in precision.iter().enumerate() {
            for i in (0..padded).step_by(4) {
                let own = [0, 1, 2, 3].map(|k| column(v, i + k));
                for j in (0..padded).step_by(2) {
                    let tile = dots::<f32, 4, 2, 8>(own, [column(w, j), column(w, j + 1)]);
                    for (i, tile) in (i..p).zip(tile) {
                        for (j, value) in (j..p).zip(tile) {
                            rows[i * size + w * p + j] += f64::from(c * value);
                        }
                    }
                }
            }
        }
    }
}
