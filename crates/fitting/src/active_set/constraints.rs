//! The constraints Cx ≥ d.

use super::ActiveSetError;

/// How many neighbours a constraint is compared with; directions on a sphere have about six.
pub(super) const NEIGHBOURS: usize = 6;
/// A neighbour's row has at least this cosine with the constraint's own.
const NEIGHBOUR_COS: f64 = 0.3;

/// C and d of Cx ≥ d, for any number of programmes.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    n_unknowns: usize,
    /// C by columns: `[unknown][constraint]`.
    pub(super) columns: Vec<f64>,
    pub(super) bounds: Vec<f64>,
    /// The constraints most alike to each one, itself where it has fewer.
    pub(super) neighbours: Vec<[u32; NEIGHBOURS]>,
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
        let mut units = rows.to_vec();
        let mut columns = vec![0.0; n_unknowns * n];
        for (i, unit) in units.chunks_exact_mut(n_unknowns).enumerate() {
            for (k, &c) in unit.iter().enumerate() {
                columns[k * n + i] = c;
            }
            let norm = unit.iter().map(|c| c * c).sum::<f64>().sqrt();
            if !(norm > 0.0 && norm.is_finite() && bounds[i].is_finite()) {
                return Err(ActiveSetError::EmptyConstraint(i));
            }
            unit.iter_mut().for_each(|c| *c /= norm);
        }
        let neighbours = (0..n).map(|i| most_alike(&units, n_unknowns, i)).collect();
        Ok(Self { n_unknowns, columns, bounds, neighbours })
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

    /// cᵢᵀx - dᵢ.
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        let n = self.len();
        x.iter().enumerate().map(|(k, x)| self.columns[k * n + i] * x).sum::<f64>() - self.bounds[i]
    }
}

/// The rows of largest cosine with row `i`.
fn most_alike(units: &[f64], n_unknowns: usize, i: usize) -> [u32; NEIGHBOURS] {
    let own = &units[i * n_unknowns..][..n_unknowns];
    let mut found = [i as u32; NEIGHBOURS];
    let mut cosines = [NEIGHBOUR_COS; NEIGHBOURS];
    for (j, other) in units.chunks_exact(n_unknowns).enumerate().filter(|(j, _)| *j != i) {
        let cosine: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
        let Some(place) = cosines.iter().position(|&c| cosine > c) else { continue };
        cosines.copy_within(place..NEIGHBOURS - 1, place + 1);
        found.copy_within(place..NEIGHBOURS - 1, place + 1);
        (cosines[place], found[place]) = (cosine, j as u32);
    }
    found
}
