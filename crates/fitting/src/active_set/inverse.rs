//! The inverse of K over the active constraints, kept up to date as they come and go.

use super::sums::dot;

/// Added to every diagonal entry of K: keeps the inverse finite where constraints depend on each
/// other. A multiplier λ then leaves its constraint violated by this times λ.
pub const REGULARISATION: f64 = 1e-12;

/// Entries of a row that are worked on together: rows are padded to a multiple, so that no inner
/// loop has an end of its own. What stands behind the last constraint is never read.
const BLOCK: usize = 16;

/// M = (K + ρI)⁻¹, symmetric, stored whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Inverse {
    rows: Vec<f64>,
    stride: usize,
    len: usize,
    /// The vector of the current update, padded with zeros.
    update: Vec<f64>,
}

impl Inverse {
    /// Of no constraints.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for twice as many constraints.
    fn grow(&mut self) {
        let stride = (2 * self.stride).max(4 * BLOCK);
        let mut rows = vec![0.0; stride * stride];
        for (i, row) in rows.chunks_exact_mut(stride).take(self.len).enumerate() {
            row[..self.len].copy_from_slice(&self.rows[i * self.stride..][..self.len]);
        }
        (self.rows, self.stride) = (rows, stride);
    }

    /// u = M a.
    #[inline(always)]
    pub(super) fn apply(&self, a: &[f64], u: &mut Vec<f64>) {
        u.clear();
        u.resize(self.len.next_multiple_of(BLOCK), 0.0);
        for (block, sums) in u.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let mut running = [0.0; BLOCK];
            for (&a, row) in a.iter().zip(self.rows.chunks_exact(self.stride.max(1))) {
                let row = &row[block * BLOCK..][..BLOCK];
                for i in 0..BLOCK {
                    running[i] += a * row[i];
                }
            }
            *sums = running;
        }
        u.truncate(self.len);
    }

    /// One constraint more, whose entries of K beside the others are a: `u` is M a, and `pivot`
    /// its diagonal entry less aᵀu.
    #[inline(always)]
    pub(super) fn push(&mut self, u: &[f64], pivot: f64) {
        if self.len == self.stride {
            self.grow();
        }
        let (n, stride) = (self.len, self.stride);
        let reciprocal = 1.0 / pivot;
        self.update.clear();
        self.update.extend_from_slice(u);
        self.add_outer_product(reciprocal);
        for (i, u) in u.iter().enumerate() {
            self.rows[i * stride + n] = -reciprocal * u;
        }
        let last = &mut self.rows[n * stride..][..=n];
        for (m, u) in last.iter_mut().zip(u) {
            *m = -reciprocal * u;
        }
        last[n] = reciprocal;
        self.len += 1;
    }

    /// Without constraint `gone`; the last one takes its place.
    #[inline(always)]
    pub(super) fn swap_remove(&mut self, gone: usize) {
        let (n, stride) = (self.len, self.stride);
        let last = n - 1;
        self.update.clear();
        self.update.extend_from_slice(&self.rows[gone * stride..][..n]);
        self.add_outer_product(-1.0 / self.update[gone]);
        for row in self.rows.chunks_exact_mut(stride).take(n) {
            row[gone] = row[last];
        }
        let (head, tail) = self.rows.split_at_mut(last * stride);
        if gone < last {
            head[gone * stride..][..last].copy_from_slice(&tail[..last]);
        }
        self.len = last;
    }

    /// M += factor v vᵀ for the vector v in `update`.
    #[inline(always)]
    fn add_outer_product(&mut self, factor: f64) {
        let padded = self.len.next_multiple_of(BLOCK);
        self.update.resize(padded, 0.0);
        for (block, &v) in self.update.as_chunks::<BLOCK>().0.iter().enumerate() {
            let rows = self.rows.chunks_exact_mut(self.stride.max(1)).take(self.len);
            for (row, u) in rows.zip(&self.update) {
                let factor = factor * u;
                let entries = &mut row.as_chunks_mut::<BLOCK>().0[block];
                let mut sums = *entries;
                for i in 0..BLOCK {
                    sums[i] += factor * v[i];
                }
                *entries = sums;
            }
        }
    }

    /// Makes entry `i` of u = M a zero, the other constraints following: what u is without the
    /// constraint. Returns uᵢ²/Mᵢᵢ, by which aᵀu becomes less.
    #[inline(always)]
    pub(super) fn project(&self, i: usize, u: &mut [f64]) -> f64 {
        let row = &self.rows[i * self.stride..][..self.len];
        let factor = u[i] / row[i];
        let less = factor * u[i];
        for (u, m) in u.iter_mut().zip(row) {
            *u -= factor * m;
        }
        less
    }

    /// The diagonal entry, 1, less aᵀu, for [`push`](Self::push).
    #[inline(always)]
    pub(super) fn pivot(a: &[f64], u: &[f64]) -> f64 {
        (1.0 + REGULARISATION - dot(a, u)).max(REGULARISATION)
    }
}
