//! The constraints Cx ≥ d.

use super::ActiveSetError;

/// C and d of Cx ≥ d, for any number of programmes.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    n_unknowns: usize,
    /// C by columns: `[unknown][constraint]`.
    pub(super) columns: Vec<f64>,
    pub(super) bounds: Vec<f64>,
}

impl Constraints {
    /// The constraints with the given rows `[constraint][unknown]` and bounds d.
    ///
    /// # Errors
    /// Where lengths disagree or a row is zero.
    pub fn new(n_unknowns: usize, rows: &[f64], bounds: Vec<f64>) -> Result<Self, ActiveSetError> {
        let n = bounds.len();
        if rows.len() != n * n_unknowns || n_unknowns == 0 {
            let (found, expected) = (rows.len(), n * n_unknowns.max(1));
            return Err(ActiveSetError::Shape { what: "the constraint matrix", found, expected });
        }
        let mut columns = vec![0.0; n_unknowns * n];
        for (i, row) in rows.chunks_exact(n_unknowns).enumerate() {
            for (k, &c) in row.iter().enumerate() {
                columns[k * n + i] = c;
            }
            let size = row.iter().map(|c| c * c).sum::<f64>();
            if !(size > 0.0 && size.is_finite() && bounds[i].is_finite()) {
                return Err(ActiveSetError::EmptyConstraint(i));
            }
        }
        Ok(Self { n_unknowns, columns, bounds })
    }

    /// The constraints Cx ≥ 0.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn non_negative(n_unknowns: usize, rows: &[f64]) -> Result<Self, ActiveSetError> {
        Self::new(n_unknowns, rows, vec![0.0; rows.len() / n_unknowns.max(1)])
    }

    /// Number of constraints.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    /// True where nothing is constrained.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Number of unknowns.
    pub fn n_unknowns(&self) -> usize {
        self.n_unknowns
    }

    /// cᵢ.
    pub fn row(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        self.columns.iter().skip(i).step_by(self.len()).copied()
    }

    /// cᵢᵀx - dᵢ.
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        let n = self.len();
        x.iter().enumerate().map(|(k, x)| self.columns[k * n + i] * x).sum::<f64>() - self.bounds[i]
    }
}
