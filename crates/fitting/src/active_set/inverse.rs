//! The inverse of K over the active constraints, kept up to date as they come and go.

use super::metric::{PADDING, combine};
use super::sums::dot;

/// Added to every diagonal entry of K: keeps the inverse finite where constraints depend on each
/// other. A multiplier λ then leaves its constraint violated by this times λ.
pub const REGULARISATION: f64 = 1e-12;

/// Changes that are kept beside the matrix before they are put into it, all in one pass.
const MOST_CHANGES: usize = 16;

/// M = (K + ρI)⁻¹, symmetric: a matrix stored whole, and beside it the last changes, each a factor times
/// the outer product of a vector with itself. To apply a change costs as much as a product with M, to keep it
/// next to nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Inverse {
    /// What stands behind the last constraint of a row is never read.
    rows: Vec<f64>,
    stride: usize,
    len: usize,
    /// The vectors of the changes, each of the length of a row, zero behind the last constraint.
    vectors: Vec<f64>,
    factors: Vec<f64>,
    /// A row of M.
    row: Vec<f64>,
    /// Multiples of the entries of one row in all changes.
    multiples: Vec<f64>,
}

impl Inverse {
    /// Of no constraints.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.factors.clear();
    }

    /// Makes room for twice as many constraints; of no changes.
    fn grow(&mut self) {
        // An odd number of cache lines: columns do not fall into the same few sets.
        let stride = (2 * self.stride).max(10 * PADDING) - PADDING;
        let mut rows = vec![0.0; stride * stride];
        for (i, row) in rows.chunks_exact_mut(stride).take(self.len).enumerate() {
            row[..self.len].copy_from_slice(&self.rows[i * self.stride..][..self.len]);
        }
        (self.rows, self.stride) = (rows, stride);
        self.vectors = vec![0.0; MOST_CHANGES * stride];
    }

    /// The changes: their vectors and factors.
    #[inline(always)]
    fn changes(&self) -> impl Iterator<Item = (&[f64], &f64)> + Clone {
        self.vectors.chunks_exact(self.stride.max(1)).zip(&self.factors)
    }

    /// u = M a.
    #[inline(always)]
    pub(super) fn apply(&self, a: &[f64], u: &mut Vec<f64>) {
        u.clear();
        u.resize(self.len.next_multiple_of(PADDING), 0.0);
        combine(self.rows.chunks_exact(self.stride.max(1)).zip(a), u);
        for (vector, factor) in self.changes() {
            let factor = factor * dot(&vector[..a.len()], a);
            u.iter_mut().zip(vector).for_each(|(u, v)| *u += factor * v);
        }
        u.truncate(self.len);
    }

    /// One constraint more, whose entries of K beside the others are a: `u` is M a, and `pivot`
    /// its diagonal entry less aᵀu.
    #[inline(always)]
    pub(super) fn push(&mut self, u: &[f64], pivot: f64) {
        if self.factors.len() == MOST_CHANGES || self.len == self.stride {
            self.settle();
        }
        if self.len == self.stride {
            self.grow();
        }
        let (n, stride) = (self.len, self.stride);
        self.rows[n * stride..][..=n].fill(0.0);
        self.rows[n..].iter_mut().step_by(stride).take(n).for_each(|entry| *entry = 0.0);
        self.len += 1;
        let vector = self.begin_change(1.0 / pivot);
        vector[..n].copy_from_slice(u);
        vector[n] = -1.0;
    }

    /// Without constraint `gone`; the last one takes its place.
    #[inline(always)]
    pub(super) fn swap_remove(&mut self, gone: usize) {
        if self.factors.len() == MOST_CHANGES {
            self.settle();
        }
        self.read_row(gone);
        let row = std::mem::take(&mut self.row);
        self.begin_change(-1.0 / row[gone])[..row.len()].copy_from_slice(&row);
        self.row = row;
        let (last, stride) = (self.len - 1, self.stride);
        let (head, tail) = self.rows.split_at_mut(last * stride);
        for row in head.chunks_exact_mut(stride) {
            row[gone] = row[last];
        }
        if gone < last {
            let row = &mut head[gone * stride..][..=last];
            row.copy_from_slice(&tail[..=last]);
            row[gone] = tail[last];
        }
        for vector in self.vectors.chunks_exact_mut(stride).take(self.factors.len()) {
            vector[gone] = vector[last];
            vector[last] = 0.0;
        }
        self.len = last;
    }

    /// Another change with this factor; returns its vector, which is zero.
    #[inline(always)]
    fn begin_change(&mut self, factor: f64) -> &mut [f64] {
        let vector = &mut self.vectors[self.factors.len() * self.stride..][..self.stride];
        vector.fill(0.0);
        self.factors.push(factor);
        vector
    }

    /// Puts all changes into the matrix.
    #[inline(always)]
    fn settle(&mut self) {
        let Self { rows, stride, len, vectors, factors, row: sums, multiples } = self;
        let changes = || vectors.chunks_exact((*stride).max(1));
        for (i, row) in rows.chunks_exact_mut((*stride).max(1)).take(*len).enumerate() {
            multiples.clear();
            multiples.extend(changes().zip(&*factors).map(|(vector, factor)| factor * vector[i]));
            sums.resize(len.next_multiple_of(PADDING), 0.0);
            combine(changes().zip(&*multiples), sums);
            row.iter_mut().zip(&*sums).for_each(|(entry, sum)| *entry += sum);
        }
        factors.clear();
    }

    /// Makes row `i` of M `row`.
    #[inline(always)]
    fn read_row(&mut self, i: usize) {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(&self.rows[i * self.stride..][..self.len]);
        for (vector, factor) in self.changes() {
            let factor = factor * vector[i];
            row.iter_mut().zip(vector).for_each(|(entry, v)| *entry += factor * v);
        }
        self.row = row;
    }

    /// Makes entry `i` of u = M a zero, the other constraints following: what u is without the
    /// constraint. Returns uᵢ²/Mᵢᵢ, by which aᵀu becomes less.
    #[inline(always)]
    pub(super) fn project(&mut self, i: usize, u: &mut [f64]) -> f64 {
        self.read_row(i);
        let factor = u[i] / self.row[i];
        let less = factor * u[i];
        for (u, m) in u.iter_mut().zip(&self.row) {
            *u -= factor * m;
        }
        less
    }

    /// The diagonal entry, 1, less aᵀu, for [`push`](Self::push): below 0 where rounding has spoilt M.
    #[inline(always)]
    pub(super) fn pivot(a: &[f64], u: &[f64]) -> f64 {
        1.0 + REGULARISATION - dot(a, u)
    }
}
