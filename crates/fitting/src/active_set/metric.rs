//! The metric that H defines: the space z = Lᵀx in which H is the identity.

use super::ActiveSetError;

/// A pivot below this fraction of its diagonal is rounding.
const LEAST_PIVOT: f64 = 1e-14;
/// Rows are padded to a multiple, so that no inner loop has an end of its own.
const PADDING: usize = 8;
/// Entries of a row of H and L⁻¹ that are eliminated together.
const BLOCK: usize = 2 * PADDING;

/// L⁻¹ of H = LLᵀ.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    n: usize,
    /// Length of a padded row.
    pub(super) stride: usize,
    /// H while it is eliminated, then unused; L⁻¹ behind it: `[row][2 × stride]`.
    rows: Vec<f64>,
    /// L⁻¹ by columns, `[column][stride]`.
    columns: Vec<f64>,
}

impl Metric {
    pub(super) fn new(n: usize) -> Self {
        let stride = n.next_multiple_of(PADDING);
        Self { n, stride, rows: vec![0.0; 2 * n * stride], columns: vec![0.0; n * stride] }
    }

    /// Takes the metric of `hessian` (row-major, only its lower triangle is read).
    #[inline(always)]
    pub(super) fn set(&mut self, hessian: &[f64]) -> Result<(), ActiveSetError> {
        let (n, stride, width) = (self.n, self.stride, 2 * self.stride);
        if hessian.len() != n * n {
            let found = hessian.len();
            return Err(ActiveSetError::Shape { what: "H", found, expected: n * n });
        }
        self.rows.fill(0.0);
        for i in 0..n {
            for j in 0..=i {
                self.rows[j * width + i] = hessian[i * n + j];
            }
            self.rows[i * width + stride + i] = 1.0;
        }
        // Gauss's elimination on H and, beside it, on the identity: scaled by the roots of their
        // pivots the rows become those of Lᵀ and L⁻¹.
        for i in 0..n {
            let (above, row) = self.rows.split_at_mut(i * width);
            let row = &mut row[..width];
            for (block, sums) in row.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                let mut running = *sums;
                for eliminated in above.chunks_exact(width) {
                    let factor = eliminated[i];
                    let eliminated = &eliminated.as_chunks::<BLOCK>().0[block];
                    for k in 0..BLOCK {
                        running[k] -= factor * eliminated[k];
                    }
                }
                *sums = running;
            }
            let pivot = row[i];
            if !(pivot > LEAST_PIVOT * hessian[i * n + i] && pivot.is_finite()) {
                return Err(ActiveSetError::NotPositiveDefinite { pivot: i, value: pivot });
            }
            let scale = 1.0 / pivot.sqrt();
            row.iter_mut().for_each(|x| *x *= scale);
        }
        for i in 0..n {
            for j in 0..=i {
                self.columns[j * stride + i] = self.rows[i * width + stride + j];
            }
        }
        Ok(())
    }

    /// z = L⁻¹f, padded with zeros.
    #[inline(always)]
    pub(super) fn whiten(&self, f: &[f64], z: &mut [f64]) {
        combine(self.columns.chunks_exact(self.stride).zip(f), z);
    }

    /// x = L⁻ᵀz, padded with zeros.
    #[inline(always)]
    pub(super) fn unwhiten(&self, z: &[f64], x: &mut [f64]) {
        let inverse = self.rows.chunks_exact(2 * self.stride).map(|row| &row[self.stride..]);
        combine(inverse.zip(z), x);
    }
}

/// The sum of padded rows, each times its factor.
#[inline(always)]
pub(super) fn combine<'a>(
    terms: impl Iterator<Item = (&'a [f64], &'a f64)> + Clone,
    sum: &mut [f64],
) {
    // Three vectors at a time, so that sums do not wait for one another.
    const WIDE: usize = 3 * PADDING;
    let (wide, narrow) = sum.as_chunks_mut::<WIDE>();
    let first_narrow = wide.len() * WIDE;
    for (block, sum) in wide.iter_mut().enumerate() {
        *sum = combine_block(terms.clone(), block * WIDE);
    }
    for (block, sum) in narrow.as_chunks_mut::<PADDING>().0.iter_mut().enumerate() {
        *sum = combine_block(terms.clone(), first_narrow + block * PADDING);
    }
}

#[inline(always)]
fn combine_block<'a, const N: usize>(
    terms: impl Iterator<Item = (&'a [f64], &'a f64)>,
    at: usize,
) -> [f64; N] {
    let mut running = [0.0; N];
    for (row, factor) in terms {
        let row = &row[at..at + N];
        for i in 0..N {
            running[i] += factor * row[i];
        }
    }
    running
}
