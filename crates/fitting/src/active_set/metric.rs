//! The metric that H defines: the constraints as unit vectors in the space where H is the identity.

use super::sums::dot;
use super::{ActiveSetError, Constraints};

/// A pivot below this fraction of its diagonal is rounding.
const LEAST_PIVOT: f64 = 1e-14;

/// H = LLᵀ, and G = C L⁻ᵀ with rows of length 1.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    n: usize,
    /// L by rows, the diagonal as reciprocals; above it nothing is read.
    factor: Vec<f64>,
    /// G by columns: `[unknown][constraint]`.
    pub(super) columns: Vec<f64>,
    /// One over the lengths that the rows of C L⁻ᵀ had.
    pub(super) scales: Vec<f64>,
}

impl Metric {
    pub(super) fn new(constraints: &Constraints) -> Self {
        let n = constraints.n_unknowns();
        Self {
            n,
            factor: vec![0.0; n * n],
            columns: constraints.columns.clone(),
            scales: vec![1.0; constraints.len()],
        }
    }

    /// Takes the metric of `hessian` (row-major, only its lower triangle is read).
    #[inline(always)]
    pub(super) fn set(
        &mut self,
        hessian: &[f64],
        constraints: &Constraints,
    ) -> Result<(), ActiveSetError> {
        let (n, m) = (self.n, constraints.len());
        if hessian.len() != n * n {
            let found = hessian.len();
            return Err(ActiveSetError::Shape { what: "H", found, expected: n * n });
        }
        for i in 0..n {
            let (above, row) = self.factor.split_at_mut(i * n);
            for j in 0..=i {
                let other = if j == i { &row[..j] } else { &above[j * n..][..j] };
                let sum = hessian[i * n + j] - dot(&row[..j], other);
                if j < i {
                    row[j] = sum * above[j * n + j];
                } else if sum > LEAST_PIVOT * hessian[i * n + i] && sum.is_finite() {
                    row[j] = 1.0 / sum.sqrt();
                } else {
                    return Err(ActiveSetError::NotPositiveDefinite { pivot: i, value: sum });
                }
            }
        }
        // L Gᵀ = Cᵀ by forward substitution, a vector of all constraints at a time.
        self.columns.copy_from_slice(&constraints.columns);
        self.scales.fill(0.0);
        for k in 0..n {
            let (before, column) = self.columns.split_at_mut(k * m);
            let column = &mut column[..m];
            for l in 0..k {
                let factor = self.factor[k * n + l];
                for (c, g) in column.iter_mut().zip(&before[l * m..][..m]) {
                    *c -= factor * g;
                }
            }
            let reciprocal = self.factor[k * n + k];
            for (c, sum) in column.iter_mut().zip(&mut self.scales) {
                *c *= reciprocal;
                *sum += *c * *c;
            }
        }
        self.scales.iter_mut().for_each(|s| *s = 1.0 / s.sqrt());
        for column in self.columns.chunks_exact_mut(m.max(1)) {
            column.iter_mut().zip(&self.scales).for_each(|(c, s)| *c *= s);
        }
        Ok(())
    }

    /// z = L⁻¹f in place.
    #[inline(always)]
    pub(super) fn whiten(&self, f: &mut [f64]) {
        for i in 0..self.n {
            let row = &self.factor[i * self.n..][..=i];
            f[i] = (f[i] - dot(&row[..i], &f[..i])) * row[i];
        }
    }

    /// x = L⁻ᵀz in place.
    #[inline(always)]
    pub(super) fn unwhiten(&self, z: &mut [f64]) {
        for i in (0..self.n).rev() {
            let row = &self.factor[i * self.n..][..=i];
            let x = z[i] * row[i];
            z[i] = x;
            for (z, l) in z.iter_mut().zip(&row[..i]) {
                *z -= x * l;
            }
        }
    }

    /// Row j of K = GGᵀ.
    #[inline(always)]
    pub(super) fn gram_row(&self, j: usize, row: &mut [f64]) {
        row.fill(0.0);
        for column in self.columns.chunks_exact(row.len()) {
            let g = column[j];
            row.iter_mut().zip(column).for_each(|(k, c)| *k += g * c);
        }
    }
}
