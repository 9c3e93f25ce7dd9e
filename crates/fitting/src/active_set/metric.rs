//! The inverse of H: how minima move with f.

use pulp::{Scalar, Simd};

use super::ActiveSetError;
use super::sums::dot;

/// A pivot below this fraction of its diagonal is rounding.
const LEAST_PIVOT: f64 = 1e-14;
/// Rows are padded to a multiple, so that no inner loop has an end of its own.
pub(super) const PADDING: usize = 8;

/// Inverts symmetric matrices of `n` rows, as many at a time as vectors have lanes, in place: of
/// each matrix the lower triangle by rows. The result is 1 for those that are positive definite to
/// rounding and 0 for the others, whose entries then mean nothing.
///
/// # Panics
/// Where there are not n (n + 1) / 2 entries.
#[inline(always)]
pub fn invert<S: Simd>(simd: S, n: usize, matrices: &mut [S::f64s]) -> S::f64s {
    assert_eq!(matrices.len(), n * (n + 1) / 2, "the lower triangle");
    let at = |i: usize, j: usize| if j <= i { i * (i + 1) / 2 + j } else { j * (j + 1) / 2 + i };
    let [zero, one, infinite] = [0.0, 1.0, f64::INFINITY].map(|x| simd.splat_f64s(x));
    let least: Vec<S::f64s> =
        (0..n).map(|i| simd.mul_f64s(matrices[at(i, i)], simd.splat_f64s(LEAST_PIVOT))).collect();
    let mut definite = one;
    let mut of_pivot = vec![zero; n];
    // Unknown after unknown is swept from the right to the left side of y = Hx. All rows change at
    // a time, none waits for another, and a positive definite matrix needs no pivoting. What is
    // left in the end is -H⁻¹.
    for k in 0..n {
        for (i, entry) in of_pivot.iter_mut().enumerate() {
            *entry = matrices[at(i, k)];
        }
        let pivot = of_pivot[k];
        for good in [simd.greater_than_f64s(pivot, least[k]), simd.less_than_f64s(pivot, infinite)]
        {
            definite = simd.select_f64s(good, definite, zero);
        }
        let scale = simd.div_f64s(one, pivot);
        for i in 0..n {
            let factor = simd.neg_f64s(simd.mul_f64s(of_pivot[i], scale));
            let row = &mut matrices[at(i, 0)..=at(i, i)];
            for (entry, &other) in row.iter_mut().zip(&of_pivot) {
                *entry = simd.add_f64s(*entry, simd.mul_f64s(factor, other));
            }
        }
        for (i, &entry) in of_pivot.iter().enumerate() {
            matrices[at(i, k)] = simd.mul_f64s(entry, scale);
        }
        matrices[at(k, k)] = simd.neg_f64s(scale);
    }
    for entry in matrices {
        *entry = simd.neg_f64s(*entry);
    }
    definite
}

/// H⁻¹ as its products need it.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    n: usize,
    /// Length of a padded row.
    pub(super) stride: usize,
    /// `[row][stride]`.
    rows: Vec<f64>,
}

impl Metric {
    pub(super) fn new(n: usize) -> Self {
        let stride = n.next_multiple_of(PADDING);
        Self { n, stride, rows: vec![0.0; n * stride] }
    }

    /// Inverts `hessian` (row-major, only its lower triangle is read).
    #[inline(always)]
    pub(super) fn set(&mut self, hessian: &[f64]) -> Result<(), ActiveSetError> {
        let n = self.n;
        if hessian.len() != n * n {
            let found = hessian.len();
            return Err(ActiveSetError::Shape { what: "H", found, expected: n * n });
        }
        let rows = hessian.chunks_exact(n).enumerate();
        let mut matrix: Vec<f64> = rows.flat_map(|(i, row)| &row[..=i]).copied().collect();
        if invert(Scalar::new(), n, &mut matrix) != 1.0 {
            return Err(ActiveSetError::NotPositiveDefinite);
        }
        self.take(&matrix, 1, 0);
        Ok(())
    }

    /// Takes one of `lanes` inverses as [`invert`] leaves them; what follows its entries is ignored.
    #[inline(always)]
    pub(super) fn take(&mut self, inverses: &[f64], lanes: usize, one: usize) {
        let mut entries = inverses.iter().skip(one).step_by(lanes);
        for i in 0..self.n {
            for (j, &entry) in entries.by_ref().take(i + 1).enumerate() {
                self.rows[i * self.stride + j] = entry;
                self.rows[j * self.stride + i] = entry;
            }
        }
    }

    /// The square root of the sum of all squares in H⁻¹.
    pub(super) fn norm(&self) -> f64 {
        dot(&self.rows, &self.rows).sqrt()
    }

    /// H⁻¹f, padded with zeros.
    #[inline(always)]
    pub(super) fn minimum(&self, f: &[f64], x: &mut [f64]) {
        combine(self.rows.chunks_exact(self.stride).zip(f), x);
    }
}

/// The sum of padded rows, each times its factor.
#[inline(always)]
pub(super) fn combine<'a>(
    terms: impl Iterator<Item = (&'a [f64], &'a f64)> + Clone,
    sum: &mut [f64],
) {
    // Several vectors at a time, so that sums do not wait for one another.
    const WIDE: usize = 6 * PADDING;
    const LESS: usize = 3 * PADDING;
    let (wide, rest) = sum.as_chunks_mut::<WIDE>();
    let mut at = 0;
    for sum in wide {
        *sum = combine_block(terms.clone(), at);
        at += WIDE;
    }
    let (less, rest) = rest.as_chunks_mut::<LESS>();
    for sum in less {
        *sum = combine_block(terms.clone(), at);
        at += LESS;
    }
    for sum in rest.as_chunks_mut::<PADDING>().0 {
        *sum = combine_block(terms.clone(), at);
        at += PADDING;
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
