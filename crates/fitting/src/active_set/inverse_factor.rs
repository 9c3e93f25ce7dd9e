//! The inverse R = L⁻¹ of a Cholesky factor that grows by a row at a time.
//!
//! With R at hand a new row needs only products of R with a vector, whose inner products do not
//! wait for each other; substitution with L would be a chain.

/// Added to every diagonal entry: keeps the factor of dependent constraints finite. A multiplier λ
/// then leaves its constraint violated by this times λ.
pub(super) const REGULARISATION: f64 = 1e-12;

/// R, lower triangular, rows packed.
#[derive(Clone, Debug, Default)]
pub(super) struct InverseFactor {
    rows: Vec<f64>,
    len: usize,
    /// The new row of L.
    row: Vec<f64>,
    /// R b for the right-hand side so far.
    image: Vec<f64>,
}

#[inline(always)]
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// The inner product, in eight columns.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut columns = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            columns[i] += a[i] * b[i];
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        columns[i] += a * b;
    }
    let [a, b, c, d, e, f, g, h] = columns;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

impl InverseFactor {
    /// Keeps the first `len` rows.
    #[inline(always)]
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.rows.truncate(start(self.len));
        self.image.truncate(self.len);
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends the row and column `gram` (its last element is the diagonal) and `b` of the
    /// right-hand side.
    #[inline(always)]
    pub(super) fn push(&mut self, gram: &[f64], b: f64) {
        let n = self.len;
        self.row.resize(n, 0.0);
        let mut pivot = gram[n] + REGULARISATION;
        for i in 0..n {
            let l = dot(&self.rows[start(i)..][..=i], &gram[..=i]);
            self.row[i] = l;
            pivot -= l * l;
        }
        let reciprocal = 1.0 / pivot.max(REGULARISATION).sqrt();
        self.rows.resize(start(n + 1), 0.0);
        let (before, new) = self.rows.split_at_mut(start(n));
        for i in 0..n {
            let l = self.row[i];
            new.iter_mut().zip(&before[start(i)..][..=i]).for_each(|(new, r)| *new += l * r);
        }
        new.iter_mut().for_each(|r| *r *= -reciprocal);
        new[n] = reciprocal;
        self.image.push(reciprocal * (b - dot(&self.row, &self.image)));
        self.len += 1;
    }

    /// The solution RᵀR b.
    #[inline(always)]
    pub(super) fn solve(&self, solution: &mut [f64]) {
        solution.fill(0.0);
        for (i, &image) in self.image.iter().enumerate() {
            let row = &self.rows[start(i)..][..=i];
            solution.iter_mut().zip(row).for_each(|(s, r)| *s += image * r);
        }
    }
}
